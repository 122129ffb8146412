#!/bin/sh
# Runs a command in another root directory as if that were a machine of its own.
# scripts/test-on starts it in new mount and PID namespaces: no process outside sees
# the mounts, which end with the last process inside.
#
#	in_root.sh ROOT DEBS COMMAND...
#
# The folder DEBS becomes apt's archive of packages there.
set -eu
root=$1
debs=$2
shift 2

mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t tmpfs -o mode=755 tmpfs dev
for node in null zero full random urandom tty; do
	: >"dev/$node"
	mount --bind "/dev/$node" "dev/$node"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for at in 0:stdin 1:stdout 2:stderr; do
	ln -s "fd/${at%:*}" "dev/${at#*:}"
done
mount --bind "$debs" var/cache/apt/archives

# pivot_root and not chroot, which would forbid user namespaces. The shell stays as
# process 1 and adopts orphans. This runs in the background, where SIGINT and SIGQUIT
# are ignored: their default is restored, as for a typed command.
pivot_root . mnt
exec env -i --default-signal=INT,QUIT \
    HOME=/root LOGNAME=root USER=root TERM="${TERM:-dumb}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${http_proxy:+"http_proxy=$http_proxy"} \
    ${https_proxy:+"https_proxy=$https_proxy"} \
    sh -c 'umount -l /mnt && cd && "$@"; exit $?' - "$@"
