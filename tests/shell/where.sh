# An error says where it is: the script and the line, also in a file that is
# read with "." and in a function that was defined there. What -c was given
# has no file: its errors start with its name, or sh.
exec 2>&1
sh -c 'nosuch'
sh -c 'nosuch' called
sh -c 'true
fi' called

nosuch
true && nosuch || ! nosuch
(nosuch) | cat
cat "of two
lines" <nofile
for i in 1 2; do
	nosuch >/dev/null
done
if true; then
	(
		true
	) | sh -c 'kill -KILL $$'
fi
echo $LINENO
cat <nofile <<END
text
END
cd nodir; eval 'true
nosuch
true'
eval nosuch
cat >lib <<'END'
f() {
	nosuch in f
}
nosuch in lib
f
fi
END
echo '. ./lib' >script
sh script
head -n 5 lib >lib.good
. ./lib.good
f
g() {
	cat <nofile
}
g
printf 'true\nnosuch\n' | sh
printf 'true\nfi\n' | sh
printf 'trap "nosuch" EXIT\n\n\ntrue\n' >script
sh script
printf '\n\ntrap "nosuch" USR1; kill -USR1 $$\n' >script
sh script
sh nofile
rm lib lib.good script
