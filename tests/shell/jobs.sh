# How background jobs ended, which is said once.
ended() {
	while jobs >out; grep -q Running out; do :; done
	while read -r number what; do
		echo "$number $what"
	done <out
}
true &
ended
sh -c 'exit 3' &
ended
sleep 100000 &
[ "$(jobs -p)" = $! ] && echo same
kill -9 $!
ended
sleep 100000 &
kill $!
ended
jobs
jobs -x; echo $?
true &
wait $((4294967296 + $!)); echo $?
wait $!; echo $?
rm out
