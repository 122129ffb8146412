# cd, pwd, eval, ., command, type, umask, exec, colon.
mkdir dir
top=$(pwd)
cd dir
[ "$(pwd)" = "$top/dir" ] && echo cd
[ "$PWD" = "$top/dir" ] && echo PWD
cd ..
cd - >/dev/null
[ "$OLDPWD" = "$top" ] && echo OLDPWD
cd "$top"
HOME=$top/dir
cd
[ "$(pwd)" = "$HOME" ] && echo home
cd ..
rmdir dir
eval 'x=1; echo "eval $x"'
eval echo '$x'
eval
echo $?
y='a|b'
eval "echo piped | cat"
echo 'v=dotted; echo "in dot $#"; return 5; echo no' >file
. ./file
echo $? $v
rm file
type cd
command -v cd
command -v nosuchcommand
echo $?
umask 027
umask
umask 22
(exec echo replaced; echo no)
(exec nosuchcommand) 2>/dev/null
echo $?
: anything at all
echo $?
true x && ! false x && echo ok
echo -n no newline
echo
command echo via command
printf '%s %d %x %c|%5s|%-5s|%05d\n' str 42 255 char r l 7
printf 'a\tb\\n\101\n'
printf '%s,' 1 2 3
printf '\n%b%%\n' 'x\ty'
printf '%d %s\n' 1
printf plain
printf '\n'
