#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME (10s unless told), one after the other: each
# new one is found by its name. FUZZ is a pattern for packages ("./k8s/..."), so that
# a part can be run alone. What a target finds is kept as a seed in testdata/fuzz of
# its package, and fails the ordinary tests until it is mended.
set -euo pipefail
cd "$(dirname "$0")/.."
root=${FUZZ:-./...}

targets() {
	go list -f '{{.Dir}}' "$root" | while read -r dir; do
		for name in $(grep -hoPs '^func \KFuzz\w+(?=\(f \*testing\.F\))' "$dir"/*_test.go | sort); do
			echo "$dir" "$name"
		done
	done
}

list=$(targets)
[ -n "$list" ] || { echo "no fuzz target in $root" >&2; exit 1; }
failed=()
while read -r dir name; do
	echo "== ${dir#"$PWD"/} $name"
	go test -vet=off -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-10s}" -fuzzminimizetime 20x ${FUZZPARALLEL:+-parallel "$FUZZPARALLEL"} "$dir" </dev/null ||
		failed+=("${dir#"$PWD"/} $name")
done <<<"$list"
echo "$(wc -l <<<"$list") targets, ${#failed[@]} failed"
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}" >&2; exit 1; }
