"""Settings of JupyterLab in a notebook of det-deploy."""
import hashlib
import hmac
import json
import os
import sys

try:
    from jupyter_server.auth.identity import IdentityProvider, User
except ImportError:
    sys.exit("det-deploy: the JupyterLab installed here is too old; it needs jupyter_server 2.0 or later")

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "settings.json")) as f:
    settings = json.load(f)


class MasterOnly(IdentityProvider):
    """Serves requests that the master forwards, which have a key. Only its hash is known here."""

    auth_enabled = True
    login_available = False

    def get_user(self, handler):
        key = handler.request.headers.get(settings["header"], "")
        if hmac.compare_digest(hashlib.sha256(key.encode()).hexdigest(), settings["key_sha256"]):
            return User(username=os.environ.get("DET_USER", "user"))
        return None

    def is_token_authenticated(self, handler):
        # The master adds the key for every visitor, so pages of other sites must still be refused.
        return False


c = get_config()  # noqa: F821
c.ServerApp.identity_provider_class = MasterOnly
c.IdentityProvider.token = ""
c.MasterOnly.token = ""
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.port = settings["port"]
c.ServerApp.port_retries = 0
c.ServerApp.base_url = settings["base_url"]
c.ServerApp.allow_remote_access = True
c.ServerApp.allow_root = True
c.ServerApp.open_browser = False
c.ServerApp.quit_button = False
