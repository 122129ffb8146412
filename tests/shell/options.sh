# -e -u -x -f, on the command line and with set; -c and its operands; $0.
sh -c 'echo "$0 $1 $2 $#"' name one two
sh -ec 'false; echo no'
echo $?
sh -uc 'echo $nothing' 2>/dev/null
echo $?
sh -uc 'echo ${nothing-fine} "$@"'
sh -xc 'echo traced "a b"; x=1' 2>&1
sh -fc 'echo /*' | cat
echo 'echo "$0 <$1> $#"; exit 6' >script
sh script 'a b'
echo $?
sh ./script
sh -s x y <<END
echo stdin \$1 \$2
END
echo 'echo from stdin; read line; echo "got $line"
this line is read' | sh
sh nosuchfile 2>/dev/null
echo $?
sh -c 'exit 300'
echo $?
sh -c 'set -- a b; echo $-$#' | grep -c 2
sh -q 2>/dev/null
echo $?
sh -c '
echo two
echo lines'
rm script
