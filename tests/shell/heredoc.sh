# Here-documents: expanded unless the delimiter is quoted; <<- strips tabs.
x=value
cat <<END
plain $x ${x#v} $(echo sub) `echo bq` $((1 + 1))
\$x \\ \` "quoted" 'quoted' \n
joined \
line
END
cat <<'END'
literal $x $(echo) \$x
END
cat <<\END
literal $x
END
cat <<-END
	a tab gone
		two
	END
cat <<A; cat <<B
first
A
second
B
cat <<A - <<B
replaced
A
wins
B
while read line; do
	echo "got $line"
done <<END
l1
l2
END
f() {
	cat <<END
in f: $1
END
}
f a
f b
cat <<END | wc -l
1
2
END
echo "$(cat <<END
inside
END
)"
cat <<END
END
cat <<"E F"
spaced
E F
seq 1 3000 >big
cat <<END | cmp - big && echo same
$(cat big)
END
rm big
