# a | b: the status is that of the last; ! inverts; every part is a child.
echo a b c | wc -w
seq 1 5 | tail -n 2 | head -n 1
true | false
echo $?
false | true
echo $?
! false
echo $?
! true
echo $?
! true | false
echo $?
echo x | { read v; echo "got $v"; }
v=outer
echo inner | read v
echo $v
echo a | (cat; echo b) | cat
for i in 3 1 2; do echo $i; done | sort
seq 1 100000 | head -n 1
echo a |
	cat |

	cat
(exit 7) | (exit 8)
echo $?
seq 1 2000 | cat | cat | wc -l
