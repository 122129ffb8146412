# < > >> 2> 2>> <> n>&m n<&m n>&-, on commands of every kind.
echo one >f
echo two >>f
cat f
cat <f
wc -l <f
{ echo out; echo err >&2; } >o 2>e
cat o e
{ echo out; echo err >&2; } >>o 2>>e
cat o e | wc -l
{ echo both; echo err >&2; } >f 2>&1
cat f
{ echo swapped >&2; } 2>&1 >/dev/null
for i in 1 2 3; do echo $i; done >f
while read x; do echo "r $x"; done <f
if true; then echo in if; fi >f
cat f
echo three 3>f >&3
cat f
exec 4>f
echo four >&4
echo five >&4
exec 4>&-
cat f
exec 5<f
read a <&5
read b <&5
echo "$a $b"
exec 5<&-
>empty
wc -c <empty
echo x > "a file"
cat 'a file'
echo late <f | cat
f() { echo from f; }
f >f
cat f
echo not closed 1>&- 2>/dev/null || echo closed
echo 2>/dev/null to
cat nofile 2>/dev/null || echo failed $?
cat <nofile 2>/dev/null || echo failed $?
echo still here
rm f o e empty 'a file'
