#!/bin/sh
# Builds Kubernetes once from its Go modules and runs a small cluster of it for
# tests, without a registry. Usage: kube.sh COMMAND; README.md says more.
#
#   build      build the programs, and print where they are
#   built      print where they are, or fail when they have to be built first
#   check      go test, unless it has passed with these programs here
#   deps       install the Debian packages that the real node needs
#   missing    print which of them are not there
#   COMMAND    any command of kubelab: up, down, status, env, kubectl, ...
#
#   KUBE_LAB_CACHE  the programs, and the state of clusters (~/.cache/kubelab)
#   KUBE_LAB_ID     0 to 127 tells clusters side by side apart (0)
#   KUBE_LAB_STATE  the state of this one cluster ($KUBE_LAB_CACHE/run$ID)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
KUBE_LAB_CACHE=${KUBE_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubelab}
export KUBE_LAB_CACHE

# key names the programs after everything they are built from.
key() {
	{ go version; cd "$here" && find . -name '*.go' -o -name '*.tmpl' -o -name 'go.*' -o -name kube.sh | sort | xargs cat; } |
		sha256sum | cut -c1-16
}

# build leaves all programs in $bin, whole or not at all.
build() {
	bin=$KUBE_LAB_CACHE/bin/$(key)
	[ ! -e "$bin/complete" ] || return 0
	mkdir -p "$KUBE_LAB_CACHE/bin"
	exec 9>"$KUBE_LAB_CACHE/bin/.lock"
	flock 9
	[ -e "$bin/complete" ] || compile
	exec 9>&-
}

compile() {
	echo "kube.sh: building Kubernetes; the first time takes 8 to 15 minutes on two cores" >&2
	rm -rf "$bin.part"
	mkdir -p "$bin.part"
	(
		cd "$here"
		export CGO_ENABLED=0 GOFLAGS='-buildvcs=false -trimpath'
		# Without its version a server calls itself v0.0.0, and charts refuse it.
		v=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
		minor=${v#v1.} minor=${minor%%.*}
		ld='-s -w'
		for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
			ld="$ld -X $p.gitVersion=$v -X $p.gitMajor=1 -X $p.gitMinor=$minor -X $p.gitTreeState=clean -X $p.gitCommit=unknown"
		done
		nice -n 10 go build -ldflags "$ld" -o "$bin.part/" ./components ./kubelab ./pause ./testapp
		cd ../.. && go build -o "$bin.part/image" ./test/image
	)
	for n in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl kwok coredns; do
		ln -s components "$bin.part/$n"
	done
	"$bin.part/image" --tag kubelab.local/pause:1 --out "$bin.part/pause.tar" --file "$bin.part/pause:/pause" --entrypoint /pause
	"$bin.part/image" --tag example/testapp:1 --out "$bin.part/testapp.tar" --file "$bin.part/testapp:/testapp" --entrypoint /testapp
	: >"$bin.part/complete"
	mv "$bin.part" "$bin"
	# What was built from older sources and not within the last days.
	find "$KUBE_LAB_CACHE/bin" -mindepth 1 -maxdepth 1 -type d -mtime +3 ! -path "$bin" -exec rm -rf {} +
}

missing() {
	need=
	for f in containerd:containerd ctr:containerd runc:runc ip:iproute2 nft:nftables iptables:iptables mount:mount \
		/usr/lib/cni/ptp:containernetworking-plugins; do
		command -v "${f%%:*}" >/dev/null 2>&1 || need="$need ${f#*:}"
	done
	echo "${need# }"
}

deps() {
	need=$(missing)
	[ -n "$need" ] || return 0
	echo "kube.sh: installing $need" >&2
	apt-get -o DPkg::Lock::Timeout=300 update -qq
	# shellcheck disable=SC2086 # a list of words
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $need >&2
}

case ${1:-help} in
build)
	build
	echo "$bin"
	;;
built)
	bin=$KUBE_LAB_CACHE/bin/$(key)
	[ -e "$bin/complete" ] || exit 1
	echo "$bin"
	;;
check)
	build
	[ ! -e "$bin/checked" ] || exit 0
	cd "$here" && go test -count=1 . && touch "$bin/checked"
	;;
deps) deps ;;
missing) missing ;;
-h | --help | help) sed -n '2,15s/^# \{0,1\}//p' "$0" ;;
*)
	build
	exec "$bin/kubelab" "$@"
	;;
esac
