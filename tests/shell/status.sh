# Exit statuses: 127 not found, 126 not executable, 128 + signal, and $?.
nosuchcommand 2>/dev/null
echo $?
./nosuchfile 2>/dev/null
echo $?
mkdir dir
./dir 2>/dev/null
echo $?
: >plain
chmod 644 plain 2>/dev/null
rmdir dir
sh -c 'kill -9 $$' 2>/dev/null
echo $?
sh -c 'kill -TERM $$' 2>/dev/null
echo $?
sh -c 'exit 42'
echo $?
true
echo $?
false
echo $? $?
(exit 9)
x=$?
echo $x
f() { return 11; }
f
echo $?
sh -c 'false'
echo $?
sh -c ''
echo $?
sh -c 'exit' && echo yes
false
(exit)
echo $?
: ${x}
echo $?
rm plain
