# Downloads the cluster's wheel into the given directory and prints the path of the file.
import hashlib
import os
import ssl
import sys
import time
import urllib.error
import urllib.request

path = os.environ["DET_HARNESS_WHEEL"]
digest, name = path.split("/")[-2:]
cert = os.environ.get("DET_MASTER_CERT_FILE", "")
verified_name = os.environ.get("DET_MASTER_CERT_NAME")


class Context(ssl.SSLContext):
    def wrap_socket(self, *args, server_hostname=None, **kwargs):
        return super().wrap_socket(*args, server_hostname=verified_name or server_hostname, **kwargs)


context = Context(ssl.PROTOCOL_TLS_CLIENT)
if cert.lower() == "noverify":
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
elif cert:
    context.load_verify_locations(cafile=cert)
else:
    context.load_default_certs()

request = urllib.request.Request(
    os.environ["DET_MASTER"].rstrip("/") + path,
    headers={"Grpc-Metadata-x-allocation-token": "Bearer " + os.environ["DET_SESSION_TOKEN"]},
)
pauses = [1, 2, 5, 10, 20, 30, 60, 60]  # a master that restarts or is upgraded
while True:
    try:
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:
            content = answer.read()
        break
    except urllib.error.HTTPError as e:
        if e.code < 500 or not pauses:
            sys.exit("the master answers %d: %s" % (e.code, e.read(500).decode("utf8", "replace").strip()))
    except OSError as e:
        if not pauses:
            sys.exit("the master cannot be reached: %s" % e)
    time.sleep(pauses.pop(0))

found = hashlib.sha256(content).hexdigest()
if found != digest:
    sys.exit("the downloaded file has the SHA-256 %s instead of %s" % (found, digest))
file = os.path.join(sys.argv[1], name)
os.makedirs(sys.argv[1], exist_ok=True)
with open(file, "wb") as out:
    out.write(content)
print(file)
