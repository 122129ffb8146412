# set -o and the options that have names, as set, and as sh is called.
set -o
set -fo nounset
set +o | grep -e '-o'
echo "$-"
set +f +o nounset
set -o nonsense 2>&1
echo not reached
