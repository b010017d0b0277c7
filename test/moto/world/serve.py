"""moto's server with an EC2 that behaves as Amazon's does.

serve.py ADDRESS prints its port on one line and ends when its standard
input does, so that a test that is killed leaves nothing behind.
"""

import os
import sys
import tempfile
import threading

import images

os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
for check in ("MOTO_ENABLE_AMI_VALIDATION", "MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION"):
    os.environ.setdefault(check, "true")

with tempfile.TemporaryDirectory() as scratch:  # moto reads its images while it is imported
    os.environ["MOTO_AMIS_PATH"] = os.path.join(scratch, "images.json")
    images.write(os.environ["MOTO_AMIS_PATH"])
    import moto.ec2.models  # noqa: F401

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app  # noqa: E402
from werkzeug.serving import make_server  # noqa: E402

import accounts  # noqa: E402
import addresses  # noqa: E402
import control  # noqa: E402
import disks  # noqa: E402
import machines  # noqa: E402
import objects  # noqa: E402
import parameters  # noqa: E402
import refusals  # noqa: E402
import spot  # noqa: E402
import types_of_old as types  # noqa: E402


def main():
    for part in (images, accounts, addresses, disks, machines, objects, spot, refusals, parameters, types):
        part.install()
    app = control.application(DomainDispatcherApplication(create_backend_app))
    server = make_server(sys.argv[1], 0, app, threaded=True)
    os.environ["MOTO_PORT"] = str(server.port)
    print(server.port, flush=True)

    def watch():
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
