# case: the first pattern that matches; quoted characters match themselves.
t() {
	case $1 in
	a) echo letter a ;;
	b | c) echo b or c ;;
	[0-9]) echo digit ;;
	[!a-z]*) echo not lower ;;
	'*') echo no: '*' matched above ;;
	x?z) echo x.z ;;
	*.c) echo C file ;;
	"") echo empty ;;
	*) echo other ;;
	esac
}
for w in a b c 7 A12 xyz foo.c '' word '*'; do t "$w"; done
case x in (x) echo paren ;; esac
case a in b) echo no ;; esac
echo $?
case 'a b' in a*b) echo blank ;; esac
p='a*'
case abc in $p) echo pattern from a variable ;; esac
case abc in "$p") echo no ;; *) echo quoted pattern ;; esac
case 'a*' in "$p") echo literal ;; esac
case x in x) false ;; esac
echo $?
case x in
x) ;;
esac
echo $?
case $(echo sub) in sub) echo substituted ;; esac
case / in /) echo slash ;; esac
case a/b in a*) echo star crosses slashes ;; esac
case ] in []]) echo bracket ;; esac
case - in [a-]) echo dash ;; esac
# Stars that might share out a text in too many ways.
a=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
case $a in
*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b*) echo no ;;
*[!a]*) echo no ;;
*a*?*a[[:alpha:]]) echo many stars ;;
esac
