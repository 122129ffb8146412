# ulimit says what there is; times what was used; test compares files' ages.
ulimit -a
ulimit -n; ulimit -s; ulimit; ulimit -Hn; ulimit -t
ulimit -n 1024; echo $?
ulimit -t unlimited; echo $?
ulimit -n 32; echo $?
ulimit -x; echo $?
times | grep -c '^[0-9]*m[0-9]*\.[0-9][0-9] [0-9]*m[0-9]*\.[0-9][0-9]$'
t() {
	"$@"
	printf '%s ' $?
}
: >a
until : >b && test b -nt a; do :; done
t test b -nt a
t test a -nt b
t test a -ot b
t test b -ot a
t test a -nt none
t test none -nt a
t test none -ot a
t test a -ot none
t test none -nt none
echo
t test a -ef a
t test a -ef ./a
t test a -ef b
t test none -ef none
t test ! a -ef b
t test a -ef ./a -a b -nt a
echo
rm a b
