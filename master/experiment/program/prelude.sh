# Prepares a container of an experiment, then becomes python3 with the arguments that it got.
run=/run/determined
python=${DET_PYTHON_EXECUTABLE:-python3}
PATH=$PYTHONUSERBASE/bin:$PATH
export PATH

# Launchers that start ranks by ssh find the key and the hosts of this trial.
if [ -d "$run/ssh" ]; then
	PATH=$run/ssh/bin:$PATH
	[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
fi

fail() {
	echo "ERROR: $1" >&2
	exit 1
}

command -v "$python" >/dev/null || fail "the image has no $python, which trials of experiments need; use an image with Python 3.9 or later, or name the program in DET_PYTHON_EXECUTABLE"

# The library reads its own version; to import it here would take half a second.
find_library() {
	"$python" -c 'import sys, importlib.util; sys.exit(importlib.util.find_spec("determined") is None)'
}

# Nothing is downloaded but what the cluster was given; pip asks an index only where the
# task's own variables name one.
install_library() {
	[ -n "$DET_HARNESS_WHEEL" ] || fail "the image has no determined library, and the cluster has no wheel of it to install; use an image with determined==0.38.1, or give the cluster a wheel: task_container_defaults.harness_wheel in master.yaml"
	echo "INFO: the image has no determined library; installing ${DET_HARNESS_WHEEL##*/}, which the cluster was given"
	wheel=$("$python" -c "$fetch_wheel" "$run/wheels") || fail "cannot fetch the cluster's wheel, see above; use an image with determined==0.38.1, or correct task_container_defaults.harness_wheel in master.yaml"
	set -- --quiet --disable-pip-version-check --no-warn-script-location
	[ -n "$PIP_INDEX_URL$PIP_EXTRA_INDEX_URL$PIP_FIND_LINKS" ] || set -- "$@" --no-index
	# A virtual environment sees no packages of its user.
	"$python" -c 'import sys; sys.exit(sys.prefix == sys.base_prefix)' || set -- "$@" --user
	PIP_BREAK_SYSTEM_PACKAGES=1 "$python" -m pip install "$@" "$wheel" || fail "cannot install ${wheel##*/}, see above; the image needs pip and the packages that the wheel depends on, or an index that has them in the variable PIP_INDEX_URL"
	find_library || fail "${wheel##*/} is installed, and $python does not find determined; use an image with determined==0.38.1"
}

find_library || install_library

# Launchers send the output of each rank through these files to the container's own streams. A
# plain process writes into files, which are not opened twice.
[ -d "$run/train/logs" ] && [ -d "$run/train/model" ] || mkdir -p "$run/train/logs" "$run/train/model"
if [ -p /proc/$$/fd/1 ] && [ -w /proc/$$/fd/1 ] && [ -p /proc/$$/fd/2 ] && [ -w /proc/$$/fd/2 ]; then
	ln -sf /proc/$$/fd/1 "$run/train/logs/stdout.log"
	ln -sf /proc/$$/fd/2 "$run/train/logs/stderr.log"
fi

# A second copy of the files, which the library saves with checkpoints.
has_files() {
	for f in * .[!.]* ..?*; do
		[ ! -e "$f" ] && [ ! -L "$f" ] || return 0
	done
	return 1
}
if [ . -ef "$run/workdir" ] && has_files; then
	cp -R . "$run/train/model/"
fi

if [ -f ./startup-hook.sh ]; then
	set -e
	. ./startup-hook.sh
	set +e
fi

# What who started the container could not know is asked for, such as the addresses of the others.
ask=
[ -e "$run/info/resources.json" ] || ask=--resources
[ -e "$run/info/rendezvous.json" ] || ask="$ask --rendezvous"

# What the master refuses is refused soon. An answer that failed later is one that a master or a
# proxy between has cut off: it is asked again.
ask_master() {
	while :; do
		began=$(date +%s)
		"$python" -m determined.exec.prep_container $ask && return
		code=$?
		[ $code -lt 128 ] && [ $(($(date +%s) - began)) -ge 20 ] || exit $code
		echo "WARNING: the master did not answer where the other containers are; asking again"
	done
}
[ -z "$ask" ] || ask_master

exec "$python" "$@"
