#!/usr/bin/env bash
# Every test, with the race detector where a C compiler is at hand, in random
# order, with a line for each test that was skipped. A build failure fails it
# even when the report saw no failed test.
set -euo pipefail
cd "$(dirname "$0")/.."

# A module of its own, which the tests of this one build on.
./test/kube/kube.sh check

race=()
if command -v gcc >/dev/null; then
	export CGO_ENABLED=1
	race=(-race)
	# A program with the detector sleeps a second before it ends, for what other
	# threads may still find. There are thousands of such ends.
	export GORACE=atexit_sleep_ms=50
else
	echo "no gcc here: the race detector is off"
fi
# What go vet knows, the linter has said; vet would read every dependency again.
# Many packages wait for machines that boot, or for one emulator: with one package
# more than there are cores, the cores are not idle meanwhile.
go test "${race[@]}" -vet=off -p $(($(nproc) + 1)) -shuffle=on -timeout 35m -json ./... | go run ./test/report
