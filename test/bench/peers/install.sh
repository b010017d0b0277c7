#!/usr/bin/env bash
# Installs the peers that stand beside det-deploy in test/bench/run.sh: Slurm from Debian, Ray from a
# Python index in an environment of its own. Tests need none of it; a peer that is missing has no lines.
set -euo pipefail
cd "$(dirname "$0")/../../.."
RAY_VERSION=2.60.0
RAY_HOME=.cache/ray

if ! command -v slurmctld >/dev/null; then
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then # a service that starts by itself is not wanted
		printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy"
		trap 'rm -f "$policy"' EXIT
	fi
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends slurmctld slurmd slurm-client munge
fi
if [ ! -x "$RAY_HOME/bin/ray" ]; then
	/usr/bin/python3 -m venv "$RAY_HOME"
	"$RAY_HOME/bin/pip" install --quiet "ray[default]==$RAY_VERSION"
fi
