# Aliases: at the beginning of commands, not of other words; again after one
# whose text ends in a blank; never inside of themselves.
alias greet='echo hello'
greet world
echo greet
'greet' 2>/dev/null || echo quoted: $?
alias echo='echo +'
echo one; echo two | cat; ! echo three
if echo four; then echo five; fi
A=1 echo six
unalias echo
alias run='command ' twice='echo a;echo b'
run greet
run twice x
run echo twice
twice && twice
alias loop='for i in 1 2; do' end='done'
loop echo $i
end
alias a=b b=a
a 2>/dev/null || echo $?
alias here='cat <<END'
here
text
END
alias two='echo x
echo y'
two z
alias none=
none echo empty
alias greet twice
alias nothing && echo not this
alias 'a b=c' || echo bad
eval 'alias late="echo late"; late' 2>/dev/null || echo $?
late
f() { greet f; }
alias greet='echo changed'
f
greet
sh -c 'alias ls="echo ls"
ls'
type greet
command -v greet
unalias greet nothing
greet 2>/dev/null || echo gone
unalias -a
alias
