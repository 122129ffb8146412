# ${ }: defaults, alternatives, assignment, lengths and trimmed ends.
unset u
e=
s=set
echo "1 ${u-d} ${u:-d} ${e-d} ${e:-d} ${s-d} ${s:-d}"
echo "2 ${u+a} ${u:+a} ${e+a} ${e:+a} ${s+a} ${s:+a}"
echo "3 ${u=v} $u ${e=v} ${e:=w} $e"
echo "4 ${#s} ${#u} ${#}"
p=/usr/lib/foo.tar.gz
echo "5 ${p#*/} ${p##*/} ${p%.*} ${p%%.*}"
echo "6 ${p#nothing} ${p%nothing} ${p##*} ${p#'*'}"
star='*'
q='*x*'
echo "7 ${q#$star} ${q#"$star"} ${q%\*}"
echo "8 ${s}y ${u:-${s}z} ${n:-$(echo sub)}"
for w in ${nothing:-a b "c d"}; do echo "9 <$w>"; done
for w in "${nothing:-a b}"; do echo "10 <$w>"; done
echo "11 ${e:-"quoted"} ${nothing:-it's}"
(echo "${nothing?message}") 2>/dev/null
echo "12 $?"
(echo "${e:?}") 2>/dev/null
echo "13 $?"
set -- a b c d e f g h i j k
echo "14 $1 ${10} $10 ${11} $#"
