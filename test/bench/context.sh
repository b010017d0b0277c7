#!/usr/bin/env bash
# Sends a directory of 1 GB in 10,000 files to a master twice, and prints what each submission sent and took. It fails if
# the second one sends 1 MB or more. It counts the bytes of the loopback device, so nothing else should use that.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$PWD/bin/det-deploy
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/context.XXXXXX")
port=${PORT:-18978}
export XDG_CONFIG_HOME=$dir/config XDG_STATE_HOME=$dir/state XDG_DATA_HOME=$dir/data
trap 'kill "$master" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT

for part in $(seq 0 99); do
	mkdir -p "$dir/files/$part"
	head -c 10737400 /dev/urandom | split -b 107374 - "$dir/files/$part/"
done
"$bin" master run --data-dir "$dir/master" --port "$port" --allow-blank-password --allow-plain-http >"$dir/log" 2>&1 &
master=$!
until "$bin" master info --master "http://127.0.0.1:$port" >/dev/null 2>&1; do sleep 0.1; done
"$bin" login admin --master "http://127.0.0.1:$port" --name context --password-stdin </dev/null 2>/dev/null

printf 'entrypoint: "true"\nname: context\nsearcher: {name: single, metric: loss}\nresources: {slots_per_trial: 1}\ncheckpoint_storage: {type: shared_fs, host_path: /tmp}\n' >"$dir/x.yaml"
sent() { cat /sys/class/net/lo/statistics/tx_bytes; }
for run in first second; do
	before=$(sent)
	began=$(date +%s%N)
	"$bin" experiment create "$dir/x.yaml" --paused --context "$dir/files" >/dev/null
	bytes=$(($(sent) - before))
	printf '%-46s %d.%03d MB, %d ms\n' "1 GB in 10,000 files, $run submission" $((bytes / 1000000)) $((bytes / 1000 % 1000)) $((($(date +%s%N) - began) / 1000000))
done
[ "$bytes" -lt 1000000 ]
