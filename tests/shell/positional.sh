# "$@" is one field for each parameter, "$*" one for all; set and shift.
show() {
	printf '%d:' $#
	for p; do printf '<%s>' "$p"; done
	echo
}
set -- a 'b c' ''
show $@
show $*
show "$@"
show "$*"
show "x$@y"
show x"$@"
IFS=-
show "$*"
IFS=
show "$*"
unset IFS
set --
show "$@"
show "$*"
show "$@" "$@"
show ""$@
set -- 1 2 3 4
shift
show "$@"
shift 2
show "$@"
set -- -x
show "$@"
