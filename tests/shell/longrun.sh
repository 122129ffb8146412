# A long loop: thousands of commands, in reasonable time and bounded memory.
i=0
sum=0
while [ $i -lt 3000 ]; do
	i=$((i + 1))
	sum=$((sum + i))
	case $i in
	*000) echo "$i $sum ${#sum}" ;;
	esac
	v="text $i with ${i%0} inside"
done
echo "$v"
f() { n=$((n + 1)); }
n=0
for a in 0 1 2 3 4 5 6 7 8 9; do
	for b in 0 1 2 3 4 5 6 7 8 9; do
		for c in 0 1 2 3 4 5 6 7 8 9; do
			f $a $b $c
		done
	done
done
echo $n
x=
i=0
while [ $i -lt 500 ]; do
	x=${x}0123456789
	i=$((i + 1))
done
echo ${#x}
