# NAME=value: for the shell, or for one command; export, readonly, unset.
a=1 b=2
echo $a$b
a='x y'
b=$a
echo "$b"
X=env sh -c 'echo "<$X>"'
echo "<${X-}>"
export X=exported
sh -c 'echo "<$X>"'
Y=plain
sh -c 'echo "<${Y-unset}>"'
export Y
sh -c 'echo "<$Y>"'
unset X
sh -c 'echo "<${X-unset}>"'
v=before
v=during true
echo $v
IFS=: read p q <<END
1:2
END
echo "$p $q"
e="two words"
export E=$e
echo "$E"
readonly R=fixed
(R=other) 2>/dev/null
echo $? $R
(unset R) 2>/dev/null
echo $? $R
unset nothing
echo $?
c=$a$b; echo "$c"
h=~
[ "$h" = "$HOME" ] && echo tilde
h=x:~/y
[ "$h" = "x:$HOME/y" ] && echo tilde after colon
a=b=c
echo $a
1a=x 2>/dev/null
echo $?
