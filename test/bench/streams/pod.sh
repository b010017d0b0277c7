#!/usr/bin/env bash
# Installs a cluster on a real node of test/kube, and measures streams into a pod beside kubectl's. It needs root.
set -euo pipefail
cd "$(dirname "$0")/../../.."
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/streams.XXXXXX")
export KUBE_LAB_ID=62 KUBE_LAB_STATE=$dir/kube DET_PASS=Correct-Horse-7
export XDG_CONFIG_HOME=$dir/config XDG_STATE_HOME=$dir/state XDG_DATA_HOME=$dir/data
trap './test/kube/kube.sh down; rm -rf "$dir"' EXIT

./test/kube/kube.sh up --mode node >/dev/null 2>&1
programs=$(./test/kube/kube.sh built)
export KUBECONFIG=$KUBE_LAB_STATE/kubeconfig PATH=$programs:$PATH
mkdir -p "$dir/root/bin"
cp /bin/busybox "$dir/root/bin/"
for name in sh cat true; do ln -s busybox "$dir/root/bin/$name"; done
image --tag kubelab.local/task:1 --env PATH=/bin --file "$dir/root:/" --out "$dir/task.tar" >/dev/null
make -s image DIST="$dir/dist" VERSION=v1.0.0
./test/kube/kube.sh load-image "$dir/task.tar" "$dir"/dist/*.tar >/dev/null
bin=$(echo "$dir"/dist/linux-*/det-deploy)
set -- --set imageRegistry= --set defaultImages.cpuImage=kubelab.local/task:1 --set defaultImages.gpuImage=kubelab.local/task:1 \
	--set db.type=embedded --set slotType=cpu --set slotResourceRequests.cpu=0.2 --set maxSlotsPerPod=1 --set useNodePortForMaster=true
DET_MASTER=$("$bin" k8s install --yes --cluster-id lab "$@" --set initialUserPassword="$DET_PASS" 2>"$dir/log" | sed -n 's/.*export DET_MASTER=//p')
export DET_MASTER
go run ./test/bench/streams -bin "$bin" -namespace default-lab-tasks
