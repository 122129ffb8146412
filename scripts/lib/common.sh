# shellcheck shell=sh disable=SC2154
# What the scripts share; to be sourced, from any POSIX shell, with `root`
# set to the checkout. Each script sets `me` to its own name.

# The system's Python has the packages that set-up installs; another one may
# come first in PATH.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

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
