# What was not quoted is split at IFS: runs of blanks are one delimiter,
# other characters each delimit a field.
show() {
	printf '%d:' $#
	for p; do printf '<%s>' "$p"; done
	echo
}
v='  a  b   c '
show $v
show "$v"
show x$v
show $v"x"
IFS=:
v=a:b::c:
show $v
show "$v"
show :$v
IFS=' :'
v=' a : b  c::d '
show $v
IFS=
show $v
unset IFS
show $(printf 'a\nb c\n\n')
v='a b'
w=$v
show "$w"
n=
show $n
show $n "" $n
show a$n
IFS=x
v=axb
show $v axb
