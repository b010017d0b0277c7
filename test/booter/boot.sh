#!/bin/sh
# Starts one machine, in three steps that replace each other:
#
#   enter  joins the machine's control groups and opens its namespaces
#   mount  lays its own disk over this machine's root, in a mount namespace
#   exec   systemd, which finds itself alone
#
# ROOT DISK TOOLS NETNS CONSOLE MACHINE SERIAL VENDOR PRODUCT GROUPS_OF_MACHINE are in the environment.
set -eu

enter() {
	for group in $GROUPS_OF_MACHINE; do
		echo $$ >"$group/cgroup.procs"
	done
	exec nsenter --net="/run/netns/$NETNS" \
		unshare --mount --uts --ipc --pid --cgroup --fork --kill-child=KILL "$0" mount
}

# device FILE... shows devices of this machine.
device() {
	for name; do
		: >"$ROOT/dev/$name"
		mount --bind "/dev/$name" "$ROOT/dev/$name"
	done
}

# show DIR makes a directory of the host visible, read-only, where the machine's own
# /tmp or /run hides it.
show() {
	case $1 in
	/tmp/* | /run/*)
		mkdir -p "$ROOT$1"
		mount --bind "$1" "$ROOT$1"
		mount -o remount,bind,ro "$ROOT$1"
		;;
	esac
}

mount_all() {
	mount --make-rprivate /
	mount -t overlay overlay -o "lowerdir=/,upperdir=$DISK/upper,workdir=$DISK/work" "$ROOT"
	mount -t proc proc "$ROOT/proc"
	# What the kernel has only once is not the machine's to set; its network is.
	mount --bind "$ROOT/proc/sys" "$ROOT/proc/sys"
	mount --bind "$ROOT/proc/sys/net" "$ROOT/proc/sys/net"
	mount -o remount,bind,ro "$ROOT/proc/sys"
	mount -t sysfs -o ro sysfs "$ROOT/sys"
	if [ -d "$ROOT/sys/class/dmi/id/" ]; then
		mount -t tmpfs -o mode=755 tmpfs "$ROOT/sys/class/dmi/id/"
		echo "$VENDOR" >"$ROOT/sys/class/dmi/id/sys_vendor"
		if [ "$PRODUCT" ]; then echo "$PRODUCT" >"$ROOT/sys/class/dmi/id/product_name"; fi
		echo "$SERIAL" | tee "$ROOT/sys/class/dmi/id/product_uuid" >"$ROOT/sys/class/dmi/id/product_serial"
	fi
	# The machine's disks are those that are attached to it, later.
	mount -t tmpfs -o mode=755 tmpfs "$ROOT/sys/block"
	mount -t tmpfs -o mode=755 tmpfs "$ROOT/run"
	# By this and by nothing in its environment systemd knows that devices and
	# clocks are not its own; cloud-init takes it for a machine.
	mkdir "$ROOT/run/host"
	echo det-deploy-test >"$ROOT/run/host/container-manager"
	mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp"
	show "$TOOLS"
	mount -t tmpfs -o mode=755 tmpfs "$ROOT/dev"
	mkdir "$ROOT/dev/pts" "$ROOT/dev/shm"
	device null zero full random urandom tty
	: >"$ROOT/dev/console"
	mount --bind "$CONSOLE" "$ROOT/dev/console"
	mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$ROOT/dev/pts"
	mount -t tmpfs -o mode=1777 tmpfs "$ROOT/dev/shm"
	ln -s pts/ptmx "$ROOT/dev/ptmx"
	ln -s /proc/self/fd "$ROOT/dev/fd"
	# systemd mounts the hierarchies that it finds; the namespace shows it only
	# the machine's own part of each.
	mount -t tmpfs -o mode=755 cgroup "$ROOT/sys/fs/cgroup"
	hostname "$MACHINE"
	exec env -i TERM=dumb \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		chroot "$ROOT" /lib/systemd/systemd --system --show-status=1 --unit=multi-user.target
}

case $1 in
enter) enter ;;
mount) mount_all ;;
esac
