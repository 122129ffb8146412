# &, wait and $!: a background command doesn't hold up the shell.
(exit 7) &
wait $!
echo $?
echo in background >f &
wait
cat f
echo $?
sleep 100 &
kill $!
wait $! 2>/dev/null
echo $?
{ sleep 0; echo slow; } &
p=$!
wait $p
echo first
wait
false &
wait $!
echo $?
wait 99999
echo $?
for i in 1 2 3; do (exit $i) & pids="$pids $!"; done
for p in $pids; do
	wait $p
	echo $?
done
cat & wait
true & true && echo and
wait
rm f
