# Runs the library's program for TensorBoards, for the version of TensorBoard in the image.
import os
import runpy
import sys

# The program executes "tensorboard".
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath)
try:
    from tensorboard import version
except ImportError:
    sys.exit(
        "ERROR: the image has no TensorBoard; use one with the Python package tensorboard, "
        "by environment.image in the configuration of the TensorBoard"
    )

# With it the program would print the keys of the storage.
os.environ.pop("DET_DEBUG", None)

# From version 2 the program would make it listen to the network, for which its version is passed as 1.
storage, directories, *args = sys.argv[1:]
if not any(a.startswith(("--host", "--bind_all")) for a in args):
    args.append("--host=127.0.0.1")
if tuple(int(n) for n in version.VERSION.split(".")[:2]) >= (2, 5):
    args.append("--load_fast=false")
sys.argv = ["tensorboard", "1", storage, directories, *args]
runpy.run_module("determined.exec.tensorboard", run_name="__main__", alter_sys=True)
