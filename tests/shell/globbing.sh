# * ? and [ ] match files, in order; a pattern without a match stays.
mkdir /tmp/globbing
cd /tmp/globbing
mkdir d d/e
: >a.c
: >b.c
: >abc
: >.hidden
: >d/x.h
: >d/e/y.h
: >'a*'
echo *.c
echo ?.c [ab].c [!a].c [a-b].c
echo *
echo .h*
echo nothing* [z]
echo '*.c' "*.c" \*.c
echo a'*' "a*"
echo */ */*.h */*/*
echo d/*
echo ./*.c
p='*.c'
echo $p "$p"
for f in *.c; do echo "<$f>"; done
set -f
echo *.c
set +f
x=*.c
echo "$x"
case abc in a*) echo star ;; esac
echo a\*
rm a.c b.c abc .hidden d/x.h d/e/y.h 'a*'
rmdir d/e d
cd /
rmdir /tmp/globbing
