# shellcheck shell=sh disable=SC2154
# Functions that the scripts share. A script, for any POSIX shell, sets `root` to the
# checkout and `me` to its own name, and sources this file.

# Set-up installs packages for the system's Python. Another Python may come first in
# PATH.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

# If a standard descriptor is closed, the next file that is opened would get its number.
# So open /dev/null in its place: for input, which is then empty; for errors, which are
# lost; for output, but only for reading, so that writing fails.
true 3>&2 2>/dev/null || exec 2>/dev/null
true 2>/dev/null 3<&0 || exec </dev/null
true 2>/dev/null 3>&1 || exec 1</dev/null

# die STATUS TEXT: print TEXT as an error, in one line, and exit with STATUS.
die() {
	status=$1
	shift
	echo "$me: $*" >&2
	exit "$status"
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# as_root COMMAND: run it as root, with sudo if need be.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

# have_all GOAL...: check that nothing is missing for these; die if something is.
have_all() {
	missing=$("$root/scripts/setup" -c "$@" 2>&1) || die 126 "${missing#setup: }"
}

# have_or_report GOALS OPTION...: the same, but if --report is among the options, write
# the report first: without Python nothing else can.
have_or_report() {
	# shellcheck disable=SC2086 # a list of words
	missing=$("$root/scripts/setup" -c $1 2>&1) && return
	shift
	file=
	# Read the options up to the command, as options.py does.
	while [ $# -gt 0 ]; do
		case $1 in
		--) break ;;
		--report=*) file=${1#*=} ;;
		--exact | --sampled | --waits | --free | --*=* | -v | -[or]?*) ;;
		-?*)
			[ "$1" != --report ] || file=${2:-}
			[ $# -lt 2 ] || shift
			;;
		*) break ;;
		esac
		shift
	done
	[ -z "$file" ] || echo '{"status": 126, "reason": "setup"}' >"$file" || :
	die 126 "${missing#setup: }"
}

# enter MODULE WORD...: run a command of the package tally with these words.
enter() {
	exec "$python" "$root/scripts/lib/enter.py" "$@"
}
