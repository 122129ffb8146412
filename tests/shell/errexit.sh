# set -e: the first command that fails ends the shell, unless its status is
# asked for.
try() {
	sh -c "set -e
$1
echo reached"
	echo "= $?"
}
try 'false'
try 'true'
try 'false || true'
try 'false && true'
try '! true'
try 'if false; then :; fi'
try 'while false; do :; done'
try '(exit 3)'
try 'x=$(exit 4)'
try 'true | false'
try 'false | true'
try 'f() { false; echo in f; }; f'
try 'f() { false; echo in f; }; f || echo failed'
try 'f() { false; echo in f; }; if f; then echo yes; fi'
try '{ false; echo no; }'
try 'for i in 1; do false; done'
try 'echo $(false; echo sub)'
try 'set +e; false'
try 'case x in x) false;; esac'
try 'eval false'
try 'nosuchcommand 2>/dev/null'
