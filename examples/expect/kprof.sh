# What kprof counts: with the sampling clock on hold, only the samples made here.
# machines: 1 4
# show: /dev/kpctl
# show: /dev/kpdata 8
pc=$(grep ' sys_read$' /boot/symbols | cut -d ' ' -f 1)
echo hold >/dev/profclock
echo startclr >/dev/kpctl
echo "sample kernel 0 1 0 $pc 30" >/dev/profclock
echo 'sample user 0 1 0 0x10000 12' >/dev/profclock
echo stop >/dev/kpctl
kprof
