#!/usr/bin/env bash
# Installs what the tests need beside Go, and prints each step with its reason; a second
# run finds everything installed and takes some seconds. Debian's packages come from apt,
# Python's programs go into environments in .cache, two helpers are built from the Go
# proxy, and Kubernetes is built into KUBE_LAB_CACHE (8 to 15 minutes, once a machine).
# Where this may not install anything (not root, not Debian) it prints what is missing
# and continues; under CI=true a missing part is an error. Only a missing Python index is
# accepted there: the marker no-index in .cache/{det,harness,notebook,moto,google} makes the tests
# report it.
set -euo pipefail
cd "$(dirname "$0")/../.."

DET_VERSION=0.38.1
DET_HOME=.cache/det
HARNESS_HOME=.cache/harness
TENSORBOARD_VERSION=2.21.0
JUPYTERLAB_VERSION=4.6.6
JUPYTERLAB_HOME=.cache/notebook
MOTO_VERSION=5.2.1
MOTO_HOME=.cache/moto
GCR_HELPER_VERSION=2.2.1
GCR_HELPER=.cache/gcr/docker-credential-gcr
GOOGLE_VERSION=1.57.0 # of google-cloud-compute
GOOGLE_HOME=.cache/google
GOOGLE_LIBRARIES=("google-cloud-compute==$GOOGLE_VERSION" google-api-python-client==2.202.0 google-auth==2.62.0 "requests<3" "pyjwt<3")
FAKE_GCS_VERSION=v1.56.1
FAKE_GCS_HOME=.cache/fake-gcs
AXE_VERSION=4.14.1
AXE_SHA256=29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c # of axe.min.js
AXE=.cache/axe-core/axe.min.js
missing=()

have_gcc() { command -v gcc >/dev/null && [ -e /usr/include/stdlib.h ]; }
have_docker() { command -v dockerd >/dev/null; }
have_busybox() { [ -x /bin/busybox ] || [ -x /usr/bin/busybox ]; }
have_postgres() { compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null; }
have_cloud_init() { command -v cloud-init >/dev/null; }
have_google_guest_agent() { [ -x /usr/bin/google_metadata_script_runner ]; }
have_shellcheck() { command -v shellcheck >/dev/null; }
have_torch() { [ -d /usr/lib/python3/dist-packages/torch ]; } # 131 MB, without CUDA's gigabytes
have_promtool() { command -v promtool >/dev/null; }
have_shells() { command -v zsh >/dev/null && command -v fish >/dev/null; }
have_runc() { command -v runc >/dev/null; }
have_sshd() { [ -x /usr/sbin/sshd ]; }
have_browser() { command -v chromium >/dev/null; }
have_venv() { python3 -c 'import venv, ensurepip' && /usr/bin/python3 -c 'import venv, ensurepip'; } 2>/dev/null

# want PART REASON PACKAGE... adds the packages of a missing part to the list of its caller.
want() {
	local part=$1 reason=$2
	shift 2
	"have_$part" && return 0
	echo "setup: $* for $reason"
	packages+=("$@")
}

debian_packages() {
	local packages=()
	want gcc "the race detector" gcc libc6-dev
	want docker "containers of agents" docker.io iptables
	want busybox "images built from nothing" busybox-static
	want postgres "the store on PostgreSQL" postgresql
	want cloud_init "machines that boot as on AWS" cloud-init
	want google_guest_agent "machines that boot as on Google Cloud" google-guest-agent
	want shellcheck "scripts that are written onto machines" shellcheck
	want venv "the Python environments" python3-venv
	want runc "isolated tasks without Docker" runc
	want sshd "launchers that start ranks by ssh" openssh-server
	want promtool "the examples of monitoring" prometheus
	want shells "completion in shells" zsh fish
	want browser "web pages in a browser" chromium fonts-dejavu-core
	want torch "training on two machines, without CUDA" python3-torch
	[ ${#packages[@]} -eq 0 ] && return 0
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		missing+=("${packages[*]} (install with: sudo apt-get install -y ${packages[*]})")
		return 0
	fi
	echo "setup: installing these ${#packages[@]} packages of Debian's (1 to 4 minutes)"
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

# kubernetes builds the programs and images of test/kube. They are in
# $KUBE_LAB_CACHE, and rebuilt when its sources change.
kubernetes() {
	local packages
	packages=$(./test/kube/kube.sh missing)
	if [ -n "$packages" ] && { [ "$(id -u)" != 0 ] || ! ./test/kube/kube.sh deps >/dev/null; }; then
		missing+=("$packages (install with: sudo apt-get install -y $packages)")
	fi
	./test/kube/kube.sh build >/dev/null || missing+=("Kubernetes (test/kube/kube.sh build failed)")
}

# gcr_helper builds the program that Docker asks for credentials of Google's
# registries.
gcr_helper() {
	local module=github.com/GoogleCloudPlatform/docker-credential-gcr/v2@v$GCR_HELPER_VERSION
	[ "$(go version -m "$GCR_HELPER" 2>/dev/null | awk '$1 == "mod" { print $3 }')" = "v$GCR_HELPER_VERSION" ] && return 0
	echo "setup: building docker-credential-gcr $GCR_HELPER_VERSION, for pulls from Google's registries"
	mkdir -p "$(dirname "$GCR_HELPER")"
	GOBIN=$(cd "$(dirname "$GCR_HELPER")" && pwd) CGO_ENABLED=0 go install "$module" ||
		missing+=("docker-credential-gcr (go install $module failed)")
}

# environment NAME HOME MODULE VERSION REQUIREMENT... makes one Python
# environment, unless it has the module in that version already.
environment() {
	local name=$1 home=$2 module=$3 version=$4 make=${venv:-python3 -m venv}
	shift 4
	rm -f "$home/no-index"
	if [ -x "$home/bin/python" ] && "$home/bin/python" -c \
		"import $module, sys; sys.exit($module.__version__ != '$version')" 2>/dev/null; then
		return 0
	fi
	have_venv || { missing+=("python3 with venv"); return 0; }
	echo "setup: installing $name $version into $home"
	mkdir -p .cache
	$make "$home"
	if "$home/bin/pip" install -q "$@"; then
		return 0
	fi
	if "$home/bin/pip" download -q --no-deps -d "$(mktemp -d)" pip >/dev/null 2>&1; then
		missing+=("$name (an index answers, but it does not install: $*)")
	else
		echo "setup: no Python index answers; the tests with $name are skipped"
		touch "$home/no-index"
	fi
}

# harness is what the image of a training program has: Debian's Python, which every user
# may read, with torch, and what trials need of Determined.
harness() {
	venv="/usr/bin/python3 -m venv --system-site-packages" environment "the harness" "$HARNESS_HOME" determined "$DET_VERSION" \
		"determined==$DET_VERSION" "setuptools<81" "tensorboard==$TENSORBOARD_VERSION"
}

# jupyterlab is what the image of a notebook has: Debian's Python, which every user may read.
jupyterlab() {
	venv="/usr/bin/python3 -m venv" environment JupyterLab "$JUPYTERLAB_HOME" jupyterlab "$JUPYTERLAB_VERSION" "jupyterlab==$JUPYTERLAB_VERSION"
}

# google_libraries keeps, of the 110 MB of documents that come with them, the one that the
# tests use.
google_libraries() {
	environment "Google's libraries" "$GOOGLE_HOME" google.cloud.compute "$GOOGLE_VERSION" "${GOOGLE_LIBRARIES[@]}"
	[ ! -d "$GOOGLE_HOME" ] || find "$GOOGLE_HOME" -path '*/discovery_cache/documents/*' ! -name compute.v1.json -delete
}

# fake_gcs_server builds an emulator of Cloud Storage from the Go proxy.
fake_gcs_server() {
	go version -m "$FAKE_GCS_HOME/fake-gcs-server" 2>/dev/null | grep -q "$FAKE_GCS_VERSION" && return 0
	echo "setup: building fake-gcs-server $FAKE_GCS_VERSION, an emulator of Cloud Storage"
	GOBIN="$PWD/$FAKE_GCS_HOME" CGO_ENABLED=0 go install -trimpath -ldflags '-s -w' "github.com/fsouza/fake-gcs-server@$FAKE_GCS_VERSION" 2>/dev/null ||
		missing+=("fake-gcs-server (go install github.com/fsouza/fake-gcs-server@$FAKE_GCS_VERSION failed)")
}

# axe_core gets the program that finds what in a page is not accessible, from its npm package.
axe_core() {
	echo "$AXE_SHA256  $AXE" | sha256sum --check --status 2>/dev/null && return 0
	command -v npm >/dev/null || { missing+=("axe-core (needs npm, of the package npm)"); return 0; }
	echo "setup: downloading axe-core $AXE_VERSION, which tests web pages"
	local dir
	dir=$(mktemp -d)
	if npm pack --silent --pack-destination "$dir" "axe-core@$AXE_VERSION" >/dev/null 2>&1 && tar -xzf "$dir"/axe-core-*.tgz -C "$dir" package/axe.min.js &&
		echo "$AXE_SHA256  $dir/package/axe.min.js" | sha256sum --check --status; then
		mkdir -p "$(dirname "$AXE")"
		mv "$dir/package/axe.min.js" "$AXE"
	else
		missing+=("axe-core (npm pack axe-core@$AXE_VERSION failed, or the file has another checksum)")
	fi
	rm -rf "$dir"
}

debian_packages
axe_core
environment "the det client" "$DET_HOME" determined "$DET_VERSION" "determined==$DET_VERSION" "setuptools<81"
harness
jupyterlab
gcr_helper
environment moto "$MOTO_HOME" moto "$MOTO_VERSION" "moto[server]==$MOTO_VERSION"
google_libraries
fake_gcs_server
kubernetes
for m in "${missing[@]}"; do echo "setup: missing: $m" >&2; done
if [ ${#missing[@]} -gt 0 ] && [ "${CI:-}" = true ]; then
	exit 1
fi
