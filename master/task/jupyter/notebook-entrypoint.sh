# Starts the JupyterLab of the image. Its settings are beside this file.
here=$(dirname "$0")
python=${DET_PYTHON_EXECUTABLE:-python3}
fail() {
	echo "det-deploy: $*" >&2
	exit 1
}
command -v "$python" >/dev/null 2>&1 ||
	fail "there is no Python here, and so no JupyterLab; set environment.image to an image that has JupyterLab"
"$python" -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("jupyterlab"))' ||
	fail "JupyterLab is not installed here; set environment.image to an image that has it, or install it there with: pip install jupyterlab"
# Jupyter writes below the home directory, which a user of the cluster may not have.
[ -d "${HOME:-}" ] && [ -w "${HOME:-}" ] || export HOME="$PWD"
export JUPYTER_RUNTIME_DIR="$here/runtime"
exec "$python" -m jupyterlab --config="$here/jupyter_config.py"
