# What the devices refuse, which changes nothing. The last command decides the status.
# show: /dev/kpctl
echo begin >/dev/kpctl
echo jitter perhaps >/dev/profclock
printf '\0\020\0\0\0\0\0\0' >/dev/prf
