# trap: EXIT once on the way out; signals between commands; reset by -.
sh -c 'trap "echo bye" EXIT; echo hi; exit 3'
echo $?
sh -c 'trap "echo bye" EXIT; true'
sh -c 'trap "echo bye" EXIT; trap - EXIT; echo no trap'
sh -c 'trap "echo caught" TERM; kill -TERM $$; echo after'
sh -c 'trap "" TERM; kill -TERM $$; echo ignored'
sh -c 'trap "echo \$?" EXIT; (exit 5)'
sh -c 'trap "echo outer" EXIT; (echo in subshell); echo done'
sh -c 'trap "exit 9" INT; kill -INT $$; echo no'
echo $?
sh -c 'trap "echo a; exit 4" EXIT; exit 1'
echo $?
sh -c '(trap "echo sub bye" EXIT; echo in sub); echo out'
trap 'echo "x y"' USR1
trap
kill -USR1 $$
trap - USR1
trap
sh -c 'trap "echo w" USR1; { sleep 0; kill -USR1 $$; } & wait; wait; echo end' >/dev/null
echo $?
