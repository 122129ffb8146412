# Functions: parameters of their own, return, recursion, redirections.
f() { echo "f $# $1"; }
f
f a b
g() {
	return 3
	echo no
}
g
echo $?
h() { false; }
h
echo $?
set -- outer
f inner
echo $1
fact() {
	if [ $1 -le 1 ]; then
		echo 1
	else
		echo $(($1 * $(fact $(($1 - 1)))))
	fi
}
fact 6
count() {
	[ $1 -eq 0 ] && return
	echo $1
	count $(($1 - 1))
}
count 3
v=global
change() { v=changed; }
change
echo $v
loc() {
	local v=local w
	w=1
	echo $v
}
loc
echo "$v ${w-unset}"
k() (v=sub; echo $v)
k
echo $v
r() { echo to file; } >out
r
cat out
rm out
f() { f() { echo second; }; echo first; }
f
f
if f; then echo ok; fi
f | cat
x=1 f
unset -f f
f 2>/dev/null || echo gone $?
echo() { printf 'mine: %s\n' "$*"; }
echo a b
unset -f echo
command echo builtin
shifts() {
	while [ $# -gt 0 ]; do
		printf '%s ' "$1"
		shift
	done
	printf '\n'
}
shifts 1 2 3
brk() { for i in 1 2; do return 4; done; }
brk
echo $?
