#!/usr/bin/env bash
# Types lines on a machine of its own: processes, a network and directories that no other program
# uses. It runs in namespaces of unshare(1).
#
#   machine.sh DIR root|user docker|process
#
# DIR/lines are typed in DIR/clone, by a shell that has just been opened. It becomes /mnt, so that
# an ordinary user reaches it wherever it is.
set -euo pipefail
dir=$1 who=$2 runtime=$3 id=12345

ip link set lo up
mount -t tmpfs -o mode=755 none /opt
mkdir /opt/determined
mount --bind "$HARNESS" /opt/determined
chmod 755 "$dir"
mount --bind "$dir" /mnt
mount -t tmpfs -o mode=755 none /run
cd /mnt

# A clone in which `make build` has run, and an environment with the det client.
mkdir -p clone/bin clone/docs home/det/bin
touch clone/bin/det-deploy clone/Makefile
mount --bind "$PROGRAM" clone/bin/det-deploy
mount --bind "$PROJECT/Makefile" clone/Makefile
mount --bind "$PROJECT/docs" clone/docs
printf '#!/bin/sh\nexec /opt/determined/bin/python3 -m determined.cli "$@"\n' >home/det/bin/det
chmod +x home/det/bin/det

# An engine with the image that tasks have by default. It contains busybox: nothing is downloaded.
start_docker() {
	mkdir -p image/bin image/tmp image/etc image/run
	cp "$(command -v busybox)" image/bin/busybox
	for name in sh echo sleep cat id; do ln -s busybox "image/bin/$name"; done
	printf '#!/bin/sh\necho Python 3.11\n' >image/bin/python3
	chmod +x image/bin/python3
	dockerd --data-root /mnt/docker --exec-root /run/docker --pidfile /run/docker.pid --storage-driver vfs --group "$id" \
		--iptables=false --ip6tables=false &>dockerd.log &
	until docker version &>/dev/null; do
		kill -0 $! || { cat dockerd.log; return 1; }
		sleep 0.1
	done
	tar -C image -c . | docker import - docker.io/library/python:3.11-slim >/dev/null
	# The settings of the page, and this machine's Python.
	cp "$PROJECT/docs/examples/local-docker-master.yaml" clone/docker.yaml
	cat mounts.yaml >>clone/docker.yaml
}
[ "$runtime" = process ] || start_docker

type_lines() {
	cd clone
	env -i HOME=/mnt/home USER="$who" PATH="$1" TERM=dumb NO_COLOR=1 "${@:2}" bash -e ../lines
}
if [ "$who" = root ]; then
	type_lines /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
else
	chown -R "$id:$id" home
	chown "$id:$id" clone clone/bin
	type_lines /usr/local/bin:/usr/bin:/bin setpriv --reuid "$id" --regid "$id" --clear-groups
fi
