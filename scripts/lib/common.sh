# shellcheck shell=sh disable=SC2154
# What the scripts share; to be sourced, from any POSIX shell, with `root`
# set to the checkout. Each script sets `me` to its own name.

# The system's Python has the packages that set-up installs; another one may
# come first in PATH.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

# A standard descriptor that is closed would be the next file's that is opened. So
# there is no input, and no one hears complaints; but what is printed can't be.
true 3>&2 2>/dev/null || exec 2>/dev/null
true 2>/dev/null 3<&0 || exec </dev/null
true 2>/dev/null 3>&1 || exec 1</dev/null

# die STATUS TEXT: one line that says what is wrong.
die() {
	status=$1
	shift
	echo "$me: $*" >&2
	exit "$status"
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# as_root COMMAND: by way of sudo for a user.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

# have_all GOAL...: what these need, or die with what is missing.
have_all() {
	missing=$("$root/scripts/setup" -c "$@" 2>&1) || die 126 "${missing#setup: }"
}

# have_or_report GOALS OPTION...: the same, but --report is owed even where there is
# no Python to write it.
have_or_report() {
	# shellcheck disable=SC2086 # a list of words
	missing=$("$root/scripts/setup" -c $1 2>&1) && return
	shift
	file=
	# Up to the command; options.py reads words likewise.
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

# enter MODULE WORD...: a command of the package tally.
enter() {
	exec "$python" "$root/scripts/lib/enter.py" "$@"
}
