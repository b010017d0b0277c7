#!/usr/bin/env bash
# Runs the tests in random order, and fails when one fails: none is run again.
#
#   run.sh ordinary   every test that an ordinary change can break
#   run.sh rest       those marked with test/rest, and all packages with the race detector
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
# Packages that test the built program or Kubernetes, in other processes: the race
# detector sees nothing there.
elsewhere='/(cmd/det-deploy|test/(booter|chart|elastic|experiment|hostile|image|install|k8s|kubetest|userdata)(/.*)?)$'

# marked lists the directories and the names of the tests that call rest.Only or rest.Choose.
marked() {
	# shellcheck disable=SC2016 # the variables are those of awk
	grep -rlE --include='*_test.go' 'rest\.(Only|Choose)\(' . | xargs awk '
		/^func / { name = "" }
		/^func Test/ { name = $2; sub(/\(.*/, "", name) }
		/rest\.(Only|Choose)\(/ && name { dir = FILENAME; sub(/\/[^\/]*$/, "", dir); print dir, name }'
}

ordinary() {
	# Many packages wait for an emulator: one more than there are cores keeps these busy.
	run ordinary -p $(($(nproc) + 1)) "${@:-${slow[@]/#/./}}" "${@:-./...}"
}

rest() {
	export DET_TEST_REST=1
	command -v gcc >/dev/null || { echo "the race detector needs gcc; run: make setup" >&2; return 1; }
	local names dirs failed=0
	names=$(marked | awk '{ print $2 }' | sort -u | paste -sd'|')
	dirs=$(marked | awk '{ print $1 }' | sort -u | grep -E "$elsewhere")
	# shellcheck disable=SC2086 # a list of directories
	run marked -p "$(nproc)" -run "^($names)\$" $dirs || failed=1
	# A program with the detector sleeps a second before it ends, for what other
	# threads may still find. There are thousands of such ends.
	# shellcheck disable=SC2046 # a list of packages
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=50 \
		run race -race -p $(($(nproc) + 1)) $(go list ./... | grep -Ev "$elsewhere") || failed=1
	return $failed
}

claim_cluster
"$what" "$@"
