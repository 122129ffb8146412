# test and [: strings, integers, files, and how they combine.
t() {
	"$@"
	printf '%s ' $?
}
t test
t test ''
t test x
t test -n x
t test -n ''
t test -z ''
t test a = a
t test a = b
t test a != b
echo
t test 1 -eq 1
t test 1 -ne 1
t test 2 -gt 1
t test 2 -ge 2
t test 1 -lt 1
t test 1 -le 1
t test -1 -lt 0
t test 010 -eq 10
t test ' 5 ' -eq +5
t test 4294967301 -eq 5
echo
echo x >file
: >empty
mkdir dir
t test -e file
t test -f file
t test -d file
t test -d dir
t test -s file
t test -s empty
t test -e nofile
t test -r file
t test -c /dev/null
echo
t test ! x
t test ! ''
t test x -a ''
t test '' -o x
t test '(' x ')'
t test '(' '' -o x ')' -a y
t test ! '(' x ')'
t test ! x = y
echo
t test = = =
t test -n = x
t test ! = !
t test -f
t test !
t test '('
t test -a
echo
t [ a = a ]
t [ a = b ]
t [ ]
t [ ! -f nofile ]
echo
t test 1 -eq x 2>/dev/null
t test 1 -eq '' 2>/dev/null
t test 1 -eq +-1 2>/dev/null
t test 1 -lt 9223372036854775808 2>/dev/null
t [ a 2>/dev/null
t test a b 2>/dev/null
t test a b c d 2>/dev/null
echo
rm file empty
rmdir dir
