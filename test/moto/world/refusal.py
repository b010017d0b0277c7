"""Refusals in the form that each protocol of Amazon's gives them."""

import json
from xml.sax.saxutils import escape

from moto.ec2.exceptions import EC2ClientError
from werkzeug.exceptions import HTTPException


class Refusal(HTTPException):
    """An answer that ends a request before moto sees it."""

    def __init__(self, status, kind, body):
        super().__init__()
        self.code, self.description, self._type = status, body, kind

    def get_headers(self, *_args, **_kwargs):
        return [("Content-Type", self._type)]

    def get_body(self, *_args, **_kwargs):
        return self.description


def ec2(code, message):
    """EC2's refusal from within one of its calls."""
    return EC2ClientError(code, message)


def of(service, is_json, status, code, message):
    """The refusal in the form of a service."""
    code_xml, text = escape(code), escape(message)
    if is_json:
        return Refusal(400, "application/x-amz-json-1.1", json.dumps({"__type": code, "message": message}))
    if service == "ec2":
        return Refusal(
            status,
            "text/xml",
            f"<Response><Errors><Error><Code>{code_xml}</Code><Message>{text}</Message></Error></Errors>"
            "<RequestID>00000000-0000-0000-0000-000000000000</RequestID></Response>",
        )
    return Refusal(
        status,
        "text/xml",
        f"<ErrorResponse><Error><Type>Sender</Type><Code>{code_xml}</Code><Message>{text}</Message></Error>"
        "<RequestId>00000000-0000-0000-0000-000000000000</RequestId></ErrorResponse>",
    )
