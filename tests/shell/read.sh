# read: fields of a line, the rest to the last name; -r; end of input.
t() {
	printf '<%s>' "$@"
	echo
}
read a b c <<END
one two three four
END
t "$a" "$b" "$c"
read a b c <<END
one
END
t "$a" "$b" "$c"
read a <<END
  spaces   inside  
END
t "$a"
IFS= read -r a <<END
  kept  
END
t "$a"
IFS=: read a b c <<END
x::z:w
END
t "$a" "$b" "$c"
read a <<'END'
back\slash joined \
line
END
t "$a"
read -r a <<'END'
back\slash
END
t "$a"
read a b <<'END'
a\ b c
END
t "$a" "$b"
printf 'no newline' | {
	read a
	t $? "$a"
}
read a </dev/null
t $? "$a"
printf 'l1\nl2\n' | {
	read a
	cat
	t "$a"
}
IFS='         	' read a b <<END
one		two
END
t "$a" "$b"
