#!/usr/bin/env bash
# Every test, with the race detector where a C compiler is at hand, in random
# order, with a line for each test that was skipped. A build failure fails it
# even when the report saw no failed test.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS=${GOFLAGS--trimpath -tags=grpcnotrace} # as make has it

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
# Without what only a debugger reads, linking takes three fifths of the time.
test_flags=("${race[@]}" -vet=off "-ldflags=-s -w" -shuffle=on -timeout 35m -json)
report=$(mktemp -d)
trap 'rm -rf "$report"' EXIT
go build -o "$report/report" ./test/report
# Linked once for all packages that run it. Only this script says where it is: it is never stale.
export BUILT_DET_DEPLOY=$report/bin/det-deploy
CGO_ENABLED=0 go build -tags grpcnotrace -ldflags '-s -w' -o "$BUILT_DET_DEPLOY" ./cmd/det-deploy

# What takes minutes, the longest first: none of it then runs last and alone.
slow=(
	cmd/det-deploy installer/target/k8s k8s/pods installer/target/gcp installer/target/aws
	test/k8s test/elastic test/experiment test/hostile test/install master/elastic k8s/helm
	master/server test/image master/task cloud/gcp/infra cloud/aws/infra installer/target/local test/chart k8s/gang
)
# Many packages wait for machines that boot, or for one emulator: with one package
# more than there are cores, the cores are not idle meanwhile.
set +e
go test "${test_flags[@]}" -p $(($(nproc) + 1)) "${slow[@]/#/./}" ./... | "$report/report" -again "$report/again"
codes=("${PIPESTATUS[@]}")
set -e
[[ ${codes[*]} == "0 0" ]] && exit 0
# A few failures of a busy machine are told from a fault by a second run alone. A data
# race, a package that does not build or died, and a run cut off are never run again.
# go test exits with 1 when a test failed, and with another code when it was ended.
[[ ${codes[0]} == 1 && -s "$report/again" ]] || exit 1
while read -r package tests; do
	echo "again, with nothing beside it: $package $tests"
	go test "${test_flags[@]}" -run "$tests" "$package" </dev/null | "$report/report"
done <"$report/again"
echo "each test that failed above passed when it ran alone"
