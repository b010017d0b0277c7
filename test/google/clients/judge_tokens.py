"""Judges tokens of identity with google-auth, the library that Google tells people to use.

usage: judge_tokens.py AUDIENCE CERTS < {"name": "token", ...}

Where GCE_METADATA_HOST names a metadata server, it also asks that for a token. It prints the
claims that it believes, by the name of the token, with null for one that it refuses.
"""

import json
import os
import sys

from google.auth import compute_engine, exceptions
from google.auth.transport import requests
from google.oauth2 import id_token


def main():
    audience, certs = sys.argv[1:]
    request, tokens = requests.Request(), json.load(sys.stdin) or {}
    answer = {"believed": {}}
    if "GCE_METADATA_HOST" in os.environ:
        answer["fetched"] = tokens["fetched"] = id_token.fetch_id_token(request, audience)
        machine = compute_engine.Credentials()
        machine.refresh(request)
        answer["access"], answer["account"] = machine.token, machine.service_account_email
    for name, token in tokens.items():
        try:
            answer["believed"][name] = id_token.verify_token(token, request, audience, certs_url=certs)
        except (ValueError, exceptions.GoogleAuthError):
            answer["believed"][name] = None
        except Exception as refusal:
            # Those of PyJWT have a module and no base of Google's.
            if not type(refusal).__module__.startswith("jwt."):
                raise
            answer["believed"][name] = None
    json.dump(answer, sys.stdout)


main()
