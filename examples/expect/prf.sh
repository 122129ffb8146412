# What prf counts, for all harts and for hart 0, between three addresses made here.
# A file of it has no end: 64 bytes are the addresses, a counter for each, one for
# user mode and one for idle harts, of 8 bytes each, the least significant first.
# machines: 2 4
# show: /dev/prf 64
# show: /dev/prf0 64
echo hold >/dev/profclock
for device in /dev/prf /dev/prf0; do
	printf '\0\020\0\0\0\0\0\0\0\040\0\0\0\0\0\0\0\060\0\0\0\0\0\0' >$device
	prfstat -f $device on
done
for sample in 'kernel 0 1 0 0x1fff 5' 'kernel 1 1 0 0x2000 7' \
    'intr 0 0 5 0x9000 9' 'user 0 1 0 0x2000 11' 'idle 1 0 0 0x2000 13'; do
	echo sample $sample >/dev/profclock
done
for device in /dev/prf /dev/prf0; do
	prfstat -f $device off
done
