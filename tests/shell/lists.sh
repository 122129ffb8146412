# ; && || newline: left to right, with equal weight; { } and ( ).
true && echo 1
false && echo no
false || echo 2
true || echo no
false && echo no || echo 3
true || echo no && echo 4
echo 5; echo 6
true &&
	echo 7
{ echo 8; echo 9; }
{ false; } || echo 10
x=1
(x=2; echo $x)
echo $x
{ x=3; }
echo $x
(exit 5)
echo $?
(cd / && pwd)
( (echo nested) )
{ echo a; } && { echo b; }
(echo c; exit 3) || echo "d $?"
if { true; }; then echo 11; fi
echo 12 ; # a comment
: && : ; echo $?
