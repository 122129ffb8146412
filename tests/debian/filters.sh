# Each program by itself, and in pipes.
seq 20000 >/tmp/n
for zip in "zstd -q" bzip2; do
	/usr/bin/$zip -c </tmp/n >/tmp/n.zip
	/usr/bin/${zip% -q} -dc </tmp/n.zip | cmp - /tmp/n && echo "$zip: the same"
done
echo '{"a": [1, {"b": "x\u00e9"}, 2.5e3]}' | /usr/bin/jq -c '.a[1], (.a | length), .a[2] + 1'
/usr/bin/mawk 'BEGIN { for (i = 0; i < 5; i++) printf "%.3f ", exp(i); print "" }'
/usr/bin/gawk 'BEGIN { "echo from a command" | getline l; print toupper(l), 2^53
	while (("ls /" | getline f) > 0) n++
	print (n > 5 ? "many" : "few") }'
seq 20 | /usr/bin/sed -n 's/^1\(.\)/<\1>/p;18q' | tr '\n' ' '
echo
seq 20 | /usr/bin/sed 's/^1\(.\)$/<\1>/' | /usr/bin/grep -cP '<[3-6]>(?!x)'
