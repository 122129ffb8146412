# As an archiver, a calculator, a shell, and with signals.
b=/usr/bin/busybox
$b seq 300 >/tmp/n
$b tar -C /tmp -cf - n | $b gzip >/tmp/n.tgz
$b gunzip -c /tmp/n.tgz | $b tar -xOf - n | $b cmp - /tmp/n && echo the same
$b printf abc | $b sha256sum
echo '2^100' | $b bc
$b sh -c 'for i in 1 2 3; do (sleep 0.01; echo $i) & wait; done; exit 5'
echo $?
$b sh -c '$0 timeout 1 $0 sleep 9; echo $?' $b 2>/dev/null
$b find /dev -name 'n*l' -type c
$b ls -ld /tmp/n | $b awk '{ print $1, $5 }'
$b xargs -P 3 -n 1 echo <<'words' | $b sort
b
c
a
words
