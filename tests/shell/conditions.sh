# if, elif, else; the status of one whose branches don't run is 0.
if true; then echo a; fi
if false; then echo no; else echo b; fi
if false; then echo no; elif true; then echo c; else echo no; fi
if false; then :; elif false; then :; else echo d; fi
if false; then :; fi
echo $?
if (exit 3); then :; else echo $?; fi
if true
then
	if false
	then echo no
	else echo e
	fi
fi
if false; true; then echo f; fi
if ! false; then echo g; fi
if true; then false; fi
echo $?
if false || true; then echo h; fi
if true; then echo i; fi | cat
if=1
echo $if then fi
