#!/usr/bin/env bash
# Gets the scripts of others that web pages use from their npm packages. For another version, change it here and
# write SHA256SUMS again, after reading what has changed.
set -euo pipefail
dist=$(cd "$(dirname "$0")/../../master/pages/ui/dist" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# get PACKAGE FILE AS... copies files of a package.
get() {
	mkdir "$dir/package"
	npm pack --silent --pack-destination "$dir/package" "$1" >/dev/null
	tar -xzf "$dir"/package/*.tgz -C "$dir/package" --strip-components=1
	shift
	while [ $# -gt 0 ]; do
		install -m 644 "$dir/package/$1" "$dist/$2"
		shift 2
	done
	rm -r "$dir/package"
}

get htmx.org@2.0.11 dist/htmx.min.js htmx.min.js LICENSE htmx.LICENSE
get uplot@1.6.32 dist/uPlot.iife.min.js uPlot.iife.min.js dist/uPlot.min.css uPlot.min.css LICENSE uPlot.LICENSE
cd "$dist" && sha256sum --check --quiet SHA256SUMS
