# Comments, joined lines, reserved words as arguments, odd layouts.
# a comment
echo a # another
echo if then else fi do done { } ! case
echo b;echo c
if true;then echo d;fi
for x in 1 2;do echo $x;done
{ echo e;}
(echo f)
f()
{
	echo g
}
f
g() { echo h; }; g
h () (echo i)
h
while true; do echo j; break; done
ec\
ho k
echo l |
# a comment in a pipe
cat
true &&

echo m
case x in x) echo n;; esac
case x in
	# comment
	x)
		echo o
		;;
esac
echo p >f; cat <f; rm f
>f echo q; cat f; rm f
x=1 y=2 >f; echo $x$y; rm f
! :
echo $?
if true; then
	{
		(
			echo r
		)
	}
fi
echo "a
b"
echo 1>f; cat f; rm f
echo a2>f; cat f; rm f
echo $#$? ${#}
