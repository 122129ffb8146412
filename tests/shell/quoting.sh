# Quotes: '' keeps everything, "" expands but keeps one field, \ keeps one
# character and joins lines.
echo 'a  $x `b` \n "q"'
echo "a  'q' \$x \`b\` \\ \n \"q\""
x='1  2'
echo $x "$x" '$x' \$x
echo a\ b   c\	d
echo one\
two
echo "three \
four"
echo 'five \
six'
echo ''"" | wc -c
set -- '' "" a''b
echo $# "$3"
echo "it's" 'say "hi"' "a"'b'"c"
echo \# not a comment # but this is
echo a#b
echo "$(echo "a  $(echo "b  c")")"
