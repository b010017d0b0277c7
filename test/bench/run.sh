#!/usr/bin/env bash
# Measures the promises that have a number and prints one line each. It is for reading, side
# by side, in one run: a bad figure fails nothing, but one that grows faster than its work,
# or a start with much history that takes too much, fails the whole at its end.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=bin/det-deploy
grew=0

echo "== the binary"
printf '%-46s %s\n' "size" "$(du -m "$bin" | cut -f1) MB"

echo "== parts"
parts=$(go test -run '^$' -bench . -benchtime 1s \
	./master/pool ./master/queue ./master/store ./master/log ./master/metric ./master/experiment ./agent/container ./master/auth ./master/server ./master/agentrm ./master/task ./master/elastic ./master/launcher \
	./cmd/internal/wire/parts ./test/fake/gcp ./test/bench/metrics 2>&1) || { grew=1; echo "$parts" >&2; }
grep -E '^Benchmark|^pkg' <<<"$parts" || true

echo "== what a short task costs an agent besides its process"
beside=$(go test -run '^$' -bench BesideTheRuntime -benchtime 2000x ./agent 2>&1) || { grew=1; echo "$beside" >&2; }
grep -E '^Benchmark' <<<"$beside" || true

echo "== a directory of 1 GB, sent twice"
test/bench/context.sh || grew=1

echo "== a master with 1,000 and 10,000 ended experiments"
history=$(go test -run '^$' -bench . -benchtime 1s -timeout 30m ./test/bench/history 2>&1) || { grew=1; echo "$history" >&2; }
grep -E '^Benchmark|grows|want at most' <<<"$history" || true

echo "== what a task costs the master with 10, 100 and 1,000 connected agents, and in arrays"
tasks=$(go test -run '^$' -bench Tasks -benchtime 5x ./test/bench/tasks 2>&1 && go test -run '^$' -bench Array -benchtime 1x ./test/bench/tasks 2>&1) || { grew=1; echo "$tasks" >&2; }
grep -E '^Benchmark|costs the master' <<<"$tasks" || true

echo "== a cluster on this machine (process runtime, embedded database)"
go run ./test/bench/cluster -bin "$bin" || grew=1

echo "== peers on the same machine, in the same run (test/bench/peers/install.sh)"
if command -v slurmctld >/dev/null; then ./test/bench/peers/slurm.sh; fi
if [ -x .cache/ray/bin/python ]; then .cache/ray/bin/python test/bench/peers/ray_jobs.py; fi

echo "== an idle master, and one with 100, 1,000 and 10,000 agents"
go run ./test/bench/agents -bin "$bin" || grew=1

echo "== streams into a task beside ssh and a direct connection (sshd needs the directory /run/sshd)"
go run ./test/bench/streams -bin "$bin"

echo "== streams into a pod of a real node beside kubectl exec and kubectl port-forward"
test/bench/streams/pod.sh || grew=1

echo "== floods of requests (private memory of the master above idle: peak and remainder)"
go run ./test/bench/flood -bin "$bin"

echo "== a first up on AWS and Google Cloud, if every call takes 200 ms and machines take no time"
./test/bench/up

echo "== launched machines (agents as processes of this machine)"
go run ./test/bench/elastic -bin "$bin"

echo "== the same pods as plain Indexed Jobs and as gangs, in turn, on 100 fake nodes (test/kube in api mode)"
export KUBE_LAB_ID=63
trap './test/kube/kube.sh down' EXIT
config=$(./test/kube/kube.sh up --mode api --fake-nodes 100 --fake-gpus 8 2>/dev/null)
go run ./test/bench/kube -kubeconfig "${config#*=}" -plain -gangs 200 -pods 4 -slots 1 || grew=1

echo "== gangs of pods on the same nodes"
go run ./test/bench/kube -kubeconfig "${config#*=}" -gangs 125
exit "$grew"
