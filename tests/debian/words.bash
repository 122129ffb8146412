# Arrays, matches, substituted processes, here-documents, recursion, traps.
a=(one two three)
echo ${#a[@]} "${a[@]:1}"
[[ v2026 =~ v([0-9]+) ]] && echo $((BASH_REMATCH[1] << 32))
while read -r word; do echo "<$word>"; done < <(printf 'x\ny\n')
(trap 'echo bye' EXIT; cat) <<here
$((6 * 7))
here
f() { local n=$1; if ((n < 2)); then echo 1; else echo $((n * $(f $((n - 1))))); fi; }
f 10
coproc cat
echo through >&"${COPROC[1]}"
read -r line <&"${COPROC[0]}"
echo "$line"
sleep 100 &
kill %1
wait %1
echo $?
