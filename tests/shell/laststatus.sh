# Where $? lasts: into functions, subshells and substitutions, and around traps.
m() { echo "m $?"; }
(exit 4)
m
m
(exit 4) || m
x=1 m $(exit 7)
f() for i in $(exit 6) a; do echo "for $i $?"; done
(exit 4)
f
f() case $?$(exit 6) in 4) echo "case $?" ;; esac
(exit 4)
f
f() { local x=$?; echo "local $x"; }
(exit 4)
f
f() { return; }
(exit 4)
f
echo "return $?"
(f() { exit; }; (exit 4); f)
echo "exit $?"

(exit 4)
echo "word $(echo $?)" "$(exit 6)$?"
(exit 4)
x=$(echo $?)$(exit 6) y=$?
echo "assign $x $y $?"
(exit 4)
x=$(exit)
echo "exit in a substitution $?"
(exit 4)
x=$()
echo "nothing $?"
(exit 4)
cat <<X
here $(exit 6)$?
X
(exit 4)
(echo "subshell $?"; exit 3) | (echo "pipe $?"; cat)

sh -c 'm() { echo "trap $?"; }; trap m EXIT; exit 4'
echo $?
sh -c 'm() { false; exit; }; trap m EXIT; exit 4'
echo $?
sh -c 'trap "(false; exit); exit" EXIT; exit 4'
echo $?
sh -c 'trap "(false; exit); echo subshell \$?" EXIT; exit 4'
echo $?
sh -c 'trap "(exit 7); exit" USR1; kill -USR1 $$; echo no'
echo $?
f() { kill -USR1 $$; echo no; }
trap '(exit 7); return 6' USR1
f
echo "return from a trap $?"
trap '(exit 7); return' USR1
f
echo "return without a status $?"
r() { (exit 7); return; }
trap 'r; echo "return in a function of a trap $?"' USR1
kill -USR1 $$
echo "after it $?"
