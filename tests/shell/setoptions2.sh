# What the options do.
echo pipefail
false | true; echo $?
set -o pipefail
false | true; echo $?
(exit 3) | (exit 4) | true; echo $?
true | true; echo $?
(exit 5) | true & wait $!; echo $?
if false | true; then echo no; else echo yes; fi
set +o pipefail
false | true; echo $?
echo noclobber
echo old >f
set -C
echo new >f; echo $?
cat f
echo new >|f; cat f
echo more >>f; cat f
echo x >/dev/null; echo $?
echo x >g; cat g
set +C
echo last >f; cat f
rm f g
echo allexport
set -a
exported=1
set +a
other=2
sh -c 'echo $exported${other-unset}'
echo noexec
sh -n -c 'echo no'; echo $?
echo 'if' >f
sh -n f; echo $?
rm f
echo verbose
sh -v -c 'echo a
echo b' 2>&1
echo options of sh
sh -o pipefail -c 'false | true; echo $? $-'
sh -eo nounset -c 'echo $unset'; echo $?
sh +o xtrace -c 'echo $-x'
