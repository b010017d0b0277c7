#!/usr/bin/env bash
# Writes dist/det-deploy-VERSION-SYSTEM-ARCH.tar.gz for Linux and macOS on amd64 and arm64, and
# SHA256SUMS of them. Two runs on the same commit write the same bytes. PLATFORMS chooses some.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 tags=$2 ldflags=$3 dist=${DIST:-dist}
time=$(git log -1 --format=%ct)
archives=()
for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
	name=det-deploy-$version-${platform/\//-}
	rm -rf "${dist:?}/$name" && mkdir -p "$dist/$name"
	GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0 go build -trimpath -tags "$tags" -buildvcs=false -ldflags "$ldflags" \
		-o "$dist/$name/det-deploy" ./cmd/det-deploy
	cp README.md "$dist/$name/"
	tar --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' -C "$dist" -c "$name" |
		gzip -n >"$dist/$name.tar.gz"
	rm -r "${dist:?}/$name"
	archives+=("$name.tar.gz")
done
(cd "$dist" && sha256sum "${archives[@]}" >SHA256SUMS && cat SHA256SUMS)
