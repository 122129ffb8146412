# while, until, for; break and continue, with a number of loops.
i=0
while [ $i -lt 3 ]; do
	echo $i
	i=$((i + 1))
done
until [ $i -eq 0 ]; do i=$((i - 1)); done
echo $i
for x in a 'b c' d; do echo "<$x>"; done
for x in; do echo no; done
echo "x is $x"
set -- p q
for x; do echo $x; done
for x
do echo $x
done
for i in 1 2 3 4 5; do
	[ $i = 2 ] && continue
	[ $i = 4 ] && break
	echo $i
done
for i in 1 2; do
	for j in 1 2 3; do
		[ $j = 2 ] && continue 2
		echo $i $j
	done
done
for i in 1 2; do
	for j in 1 2; do
		break 2
	done
done
echo $i $j
while true; do break; done
echo $?
while false; do :; done
echo $?
for i in 1; do false; done
echo $?
i=0
while :; do
	i=$((i + 1))
	case $i in
	1) continue ;;
	3) break ;;
	esac
	echo "i $i"
done
for i in 1 2 3; do echo $i; done | while read n; do echo "n $n"; done
while read a b; do echo "$b $a"; done <<END
1 2
3 4
END
for i in 1 2; do
	(break) 2>/dev/null
	echo kept $i
done
