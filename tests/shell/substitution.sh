# $( ) and backquotes: output without its last newlines; status; nesting.
echo "$(echo a; echo b)"
echo `echo c \`echo d\``
x=$(printf 'one\n\n\n')
echo "<$x>"
echo "<$(printf '\n\nx\n\n')>"
y=$(exit 3)
echo $?
y=$(exit 3) z=4
echo $?
echo $(echo a) $?
echo "$(case a in a) echo paren;; esac)"
echo "$(
	# a comment with ) in it
	cat <<'E'
text )
E
)"
echo $(echo "a)b" 'c)d' \))
f() { echo "f $1"; }
echo "$(f "$(f x)")"
v=outer
echo $(v=inner; echo $v) $v
echo "`echo \"dq\"`" `echo '\\a'`
$(echo echo made of words)
echo "<$()>"
