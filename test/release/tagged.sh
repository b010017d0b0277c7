#!/usr/bin/env bash
# Fails unless the working directory is the checkout of a version: VERSION, which git describe has
# told, is a tag of the form v0.1.0, and docs/changelog.md begins with its section.
set -euo pipefail
version=$1
if ! [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
	echo "cannot release $version: a release needs a clean checkout of a tag such as v0.1.0; set one: git tag -a v0.1.0 -m v0.1.0 (make archives works for any commit)" >&2
	exit 1
fi
if [ "$(git rev-parse --quiet --verify "$version^{commit}")" != "$(git rev-parse HEAD)" ] || [ -n "$(git status --porcelain --untracked-files=no)" ]; then
	echo "cannot release $version: this is not a clean checkout of the tag $version" >&2
	exit 1
fi
section=$(grep -m1 '^# [^C]' docs/changelog.md || true)
if ! [[ $section =~ ^"# ${version#v} ("[0-9]{4}-[0-9]{2}-[0-9]{2}")"$ ]]; then
	echo "cannot release $version: the first section of docs/changelog.md is \"$section\"; name it \"# ${version#v} ($(date +%F))\", commit it and set the tag on that commit" >&2
	exit 1
fi
