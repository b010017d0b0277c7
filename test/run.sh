#!/usr/bin/env bash
# Runs the tests in random order, and fails when one fails: none is run again.
#
#   run.sh ordinary   every test that an ordinary change can break, and in short, with the race
#                     detector, the packages that start goroutines
#   run.sh rest       those marked with test/rest, and with the race detector the packages that
#                     share memory and, in short, the flows
#
# Arguments after the first go to go test, as packages do: run.sh ordinary ./k8s/...
# TIMES names a directory for the seconds of every package and test.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS=${GOFLAGS--trimpath -tags=grpcnotrace} CGO_ENABLED=0 # as make has it
what=${1:?ordinary or rest}
shift

[ -z "${TIMES:-}" ] || mkdir -p "$TIMES"
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
go build -o "$built/report" ./test/report
# The program is linked once for all packages that run it. Only this script sets the
# variable, so that the program is never older than its sources.
export BUILT_DET_DEPLOY=$built/bin/det-deploy
go build -ldflags '-s -w' -o "$BUILT_DET_DEPLOY" ./cmd/det-deploy

# One control plane of Kubernetes is for all packages of the run; the first that asks starts
# it. Its number and state are those of test/kubetest/claim.go, the lock on it is this
# script's: what a killed run has left is removed by the next that gets the number.
claims=${TMPDIR:-/tmp}/kubetest-$(id -u)

claim_cluster() {
	mkdir -p "$claims" && chmod 700 "$claims"
	for KUBETEST_RUN in {64..119}; do
		exec 8>>"$claims/$KUBETEST_RUN.lock"
		if flock -n 8; then
			export KUBETEST_RUN
			trap 'end_cluster; rm -rf "$built"' EXIT
			end_cluster
			return
		fi
	done
	echo "all clusters of tests are in use; see $claims" >&2
	return 1
}

end_cluster() {
	[ -e "$claims/${KUBETEST_RUN:-none}" ] || return 0
	KUBE_LAB_ID=$KUBETEST_RUN KUBE_LAB_STATE=$claims/$KUBETEST_RUN ./test/kube/kube.sh down 8>&-
}

# run NAME ARGUMENTS... runs go test. The linters did what go vet would do, and would read every
# dependency again for. Without debugging information linking takes three fifths of
# the time.
run() {
	local name=$1
	shift
	go test -vet=off "-ldflags=-s -w" -shuffle=on -timeout 35m -json "$@" 8>&- |
		"$built/report" ${TIMES:+-times "$TIMES/$name"}
}

# What takes longest starts first, so that none of it runs last and alone.
slow=(
	cmd/det-deploy installer/target/k8s k8s/pods test/experiment test/userdata test/hostile k8s/helm installer/target/gcp
	installer/target/aws agent test/elastic master/elastic master/server test/image master/task cloud/gcp/infra cloud/aws/infra installer/target/local
	test/chart k8s/gang
)
# Packages that test the built program, Kubernetes or a cloud's emulator: the race detector
# sees nothing of other processes.
elsewhere='/(cmd/det-deploy|test/(booter|chart|elastic|experiment|hostile|image|install|into|k8s|kubetest|mistakes|monitoring|pages|readme|screens|userdata)(/.*)?)$'
# Flows that apply many steps at once through installer/apply, without goroutines of their own.
flows=(cloud/aws/infra cloud/gcp/infra installer/target/aws installer/target/gcp installer/target/k8s)

# concurrent lists the packages with tests whose product code matches one of the patterns:
# it starts goroutines, or shares memory under locks.
concurrent() {
	git grep -lE "$1" -- '*.go' ':!*_test.go' ':!test' | xargs -n1 dirname | sort -u | while read -r dir; do
		! compgen -G "$dir/*_test.go" >/dev/null || echo "./$dir"
	done | grep -Ev "$elsewhere"
}
starts='(^|\s)go (func|[a-zA-Z_.]+\()|\.Go\('
shares=$starts'|\bsync\.|"sync/atomic"'

# marked lists the directories and the names of the tests that call rest.Only or rest.Choose.
marked() {
	# shellcheck disable=SC2016 # the variables are those of awk
	grep -rlE --include='*_test.go' 'rest\.(Only|Choose)\(' . | xargs awk '
		/^func / { name = "" }
		/^func Test/ { name = $2; sub(/\(.*/, "", name) }
		/rest\.(Only|Choose)\(/ && name { dir = FILENAME; sub(/\/[^\/]*$/, "", dir); print dir, name }'
}

# race runs packages with the race detector. A program with the detector sleeps a second
# before it ends, for what other threads may still find, and there are thousands of such ends.
race() {
	command -v gcc >/dev/null || { echo "the race detector needs gcc; run: make setup" >&2; return 1; }
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=50 run "$1" -race -p $(($(nproc) + 1)) "${@:2}"
}

ordinary() {
	local failed=0 started=()
	# Many packages wait for an emulator: one more than there are cores keeps these busy.
	run ordinary -p $(($(nproc) + 1)) "${@:-${slow[@]/#/./}}" "${@:-./...}" || failed=1
	[ $# -gt 0 ] || mapfile -t started < <(concurrent "$starts")
	[ ${#started[@]} -eq 0 ] || race race -short "${started[@]}" || failed=1
	return $failed
}

rest() {
	export DET_TEST_REST=1
	local names shared others failed=0
	mapfile -t shared < <(concurrent "$shares" | grep -vxFf <(printf './%s\n' "${flows[@]}"))
	names=$(marked | awk '{ print $2 }' | sort -u | paste -sd'|')
	mapfile -t others < <(marked | awk '{ print $1 }' | sort -u | grep -vxFf <(printf '%s\n' "${shared[@]}"))
	run marked -p "$(nproc)" -run "^($names)\$" "${others[@]}" || failed=1
	race race "${shared[@]}" || failed=1
	race flows -short "${flows[@]/#/./}" || failed=1
	return $failed
}

claim_cluster
"$what" "$@"
