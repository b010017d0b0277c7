#!/usr/bin/env bash
# Installs what the tests need beside Go: Docker Engine and PostgreSQL from
# Debian, the det client from a Python index. On a machine where this may not
# install anything (not root, not Debian) it says what is missing and goes on;
# under CI=true a missing part is an error. Only "no Python index answers" may
# be missing there: the marker .cache/det/no-index makes the tests say so.
set -euo pipefail
cd "$(dirname "$0")/../.."

DET_VERSION=0.38.1
DET_HOME=.cache/det
missing=()

have_docker() { command -v dockerd >/dev/null; }
have_busybox() { [ -x /bin/busybox ] || [ -x /usr/bin/busybox ]; }
have_postgres() { compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null; }
have_shellcheck() { command -v shellcheck >/dev/null; }
have_venv() { python3 -c 'import venv, ensurepip' 2>/dev/null; }

debian_packages() {
	local packages=()
	have_docker || packages+=(docker.io iptables)
	have_busybox || packages+=(busybox-static)
	have_postgres || packages+=(postgresql)
	have_shellcheck || packages+=(shellcheck)
	have_venv || packages+=(python3-venv)
	[ ${#packages[@]} -eq 0 ] && return 0
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		missing+=("${packages[*]} (install with: sudo apt-get install -y ${packages[*]})")
		return 0
	fi
	echo "setup: installing ${packages[*]}"
	export DEBIAN_FRONTEND=noninteractive
	# A service that starts by itself is not wanted: the tests run their own.
	local policy=/usr/sbin/policy-rc.d made=
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && made=1
	fi
	apt-get update -q >/dev/null || true
	apt-get install -y -q --no-install-recommends "${packages[@]}" >/dev/null ||
		missing+=("${packages[*]} (apt-get install failed)")
	[ -z "$made" ] || rm -f "$policy"
}

det_client() {
	rm -f "$DET_HOME/no-index"
	if [ -x "$DET_HOME/bin/det" ] && "$DET_HOME/bin/python" -c \
		"import determined, sys; sys.exit(determined.__version__ != '$DET_VERSION')" 2>/dev/null; then
		return 0
	fi
	have_venv || { missing+=("python3 with venv"); return 0; }
	echo "setup: installing the det client $DET_VERSION"
	mkdir -p .cache
	python3 -m venv "$DET_HOME"
	if "$DET_HOME/bin/pip" install -q "determined==$DET_VERSION" "setuptools<81"; then
		return 0
	fi
	if "$DET_HOME/bin/pip" download -q --no-deps -d "$(mktemp -d)" pip >/dev/null 2>&1; then
		missing+=("the det client (an index answers, but determined==$DET_VERSION does not install)")
	else
		echo "setup: no Python index answers; the tests with the det client are skipped"
		touch "$DET_HOME/no-index"
	fi
}

debian_packages
det_client
for m in "${missing[@]}"; do echo "setup: missing: $m" >&2; done
if [ ${#missing[@]} -gt 0 ] && [ "${CI:-}" = true ]; then
	exit 1
fi
