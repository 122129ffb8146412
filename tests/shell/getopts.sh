# getopts: options of words and of the script, together and apart, with
# arguments, and what is wrong with them.
show() {
	OPTIND=1
	while getopts "$@"; do
		printf '%s[%s] ' "$o" "${OPTARG-unset}"
	done
	echo "$? $o $OPTIND"
}
show ab o -a -b
show ab o -ab
show ab: o -ab value -a word
show ab: o -bvalue -ab value -bav
show ab: o -b '' x
show ab o -a -- -b
show ab o -a - -b
show ab o word -a
show ab o
show ab o -ac 2>&1
show ab: o -b 2>&1
show :ab: o -c -b
show : o -: 2>&1
set -- -x -y arg rest
OPTIND=1
while getopts xy: o; do
	echo "$o ${OPTARG-unset} $OPTIND"
done
shift $((OPTIND - 1))
echo "$#: $1"
f() {
	OPTIND=1
	getopts z o && echo "function: $o"
}
f -z
readonly r
getopts a r -a
echo not reached
