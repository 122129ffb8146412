# Errors are one line, with the script's name and the line's number; the status
# is 2 for one that ends the script, and nothing after it runs.
try() {
	printf '%s\n' "$1" >script
	sh script
	echo "= $?"
}
exec 2>&1
try 'echo ok
if true; fi
echo no'
try 'echo "unterminated'
try 'for x in a b
echo no'
try ')'
try 'a b ( c'
try 'case x in
x) echo a'
try '{ echo a'
try 'echo ${x!y}'
try 'cat <<END
text'
try 'echo a &&'
try '| b'
try 'echo $(if'
try 'done'
try 'echo a >'
try 'f() echo'
nosuchcommand
echo = $?
try 'cd /nosuchdir
echo = $?'
try 'echo ${x?is needed}
echo no'
try 'set -u
echo $nothing
echo no'
try 'readonly r=1
r=2
echo no'
try 'echo $((1/0))
echo no'
try 'echo x >/nosuchdir/x
echo = $?'
try 'shift 9
echo no'
try '. /nosuchfile
echo no'
# A message is as long as what it is about.
long=$(head -c 3000 /dev/zero | tr '\0' x)
(
	$long
	type $long
	alias $long=it
	type $long
	eval "for $long-y in"
) 2>&1 | tr -d x
rm script
