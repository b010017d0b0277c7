#!/usr/bin/env bash
# Looks for known vulnerabilities in the code that the program can reach, hence in one that
# still has its symbols. Their list is on the network: without it this warns and passes.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(mktemp)
trap 'rm -f "$program"' EXIT
go build -o "$program" ./cmd/det-deploy
rc=0
said=$(./bin/govulncheck -mode=binary "$program" 2>&1) || rc=$?
printf '%s\n' "$said"
case "$said" in
*"fetching vulnerabilities:"*)
	echo "warning: nothing was looked for: the list of vulnerabilities cannot be read" >&2
	exit 0
	;;
esac
exit "$rc"
