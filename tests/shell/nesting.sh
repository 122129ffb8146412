# What is nested too deeply for the shell's stack is an error, with status 2.
many() { # a text, doubled so many times
	many=$1 n=$2
	while [ $n -gt 0 ]; do many=$many$many n=$((n - 1)); done
}
try() { # before, nested, how often, behind
	many "$2" $3
	echo "$1$many$4" >script
	sh script >out 2>&1
	echo "= $?"
	cut -c 1-60 out
}
many ')' 16
try 'echo $((' '(' 16 "1$many))"
try '' '{ ' 15 ''
try '' 'if ' 15 ''
try 'echo ' '${x:-' 15 ''
try 'echo ' '$(' 14 ''
try '. ' ./script 0 ''
# A chain isn't nested.
try '' ':||' 16 'echo no && echo chain'
try 'if :; then echo if; ' 'elif :; then :; ' 10 'fi'
rm script out
