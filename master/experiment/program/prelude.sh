# Prepares a container of an experiment, then executes python3 with its arguments.
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

# The library checks its own version. Importing it here would take half a second.
find_library() {
	"$python" -c 'import sys, importlib.util; sys.exit(importlib.util.find_spec("determined") is None)'
}

# Only the cluster's wheel is downloaded; pip uses an index only if the task's variables
# configure one.
install_library() {
	[ -n "$DET_HARNESS_WHEEL" ] || fail "the image has no determined library, and the cluster has no wheel to install; use an image with determined==0.38.1, or configure a wheel: task_container_defaults.harness_wheel in master.yaml"
	echo "INFO: the image has no determined library; installing the cluster's wheel ${DET_HARNESS_WHEEL##*/}"
	wheel=$("$python" -c "$fetch_wheel" "$run/wheels") || fail "cannot fetch the cluster's wheel, see above; use an image with determined==0.38.1, or correct task_container_defaults.harness_wheel in master.yaml"
	set -- --quiet --disable-pip-version-check --no-warn-script-location
	[ -n "$PIP_INDEX_URL$PIP_EXTRA_INDEX_URL$PIP_FIND_LINKS" ] || set -- "$@" --no-index
	# A virtual environment does not use packages of the user site.
	"$python" -c 'import sys; sys.exit(sys.prefix == sys.base_prefix)' || set -- "$@" --user
	PIP_BREAK_SYSTEM_PACKAGES=1 "$python" -m pip install "$@" "$wheel" || fail "cannot install ${wheel##*/}, see above; the image needs pip and the packages that the wheel depends on, or an index that has them in the variable PIP_INDEX_URL"
	find_library || fail "${wheel##*/} is installed, and $python does not find determined; use an image with determined==0.38.1"
}

find_library || install_library

# Launchers write the output of each rank to these files, which refer to the container's streams.
# The streams of a plain process are files, which must not be opened twice.
[ -d "$run/train/logs" ] && [ -d "$run/train/model" ] || mkdir -p "$run/train/logs" "$run/train/model"
if [ -p /proc/$$/fd/1 ] && [ -w /proc/$$/fd/1 ] && [ -p /proc/$$/fd/2 ] && [ -w /proc/$$/fd/2 ]; then
	ln -sf /proc/$$/fd/1 "$run/train/logs/stdout.log"
	ln -sf /proc/$$/fd/2 "$run/train/logs/stderr.log"
fi

# The library saves this copy of the files with checkpoints.
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

# Request the information that was unknown when the container was created, such as the addresses
# of the other containers.
ask=
[ -e "$run/info/resources.json" ] || ask=--resources
[ -e "$run/info/rendezvous.json" ] || ask="$ask --rendezvous"

# The master rejects a request immediately. A later failure means that the master or a proxy has
# closed the connection, so that the request is repeated.
ask_master() {
	while :; do
		began=$(date +%s)
		"$python" -m determined.exec.prep_container $ask && return
		code=$?
		[ $code -lt 128 ] && [ $(($(date +%s) - began)) -ge 20 ] || exit $code
		echo "WARNING: the master did not return the addresses of the other containers; retrying"
	done
}
[ -z "$ask" ] || ask_master

exec "$python" "$@"
