"""One account a test, and access control for each on its own.

An access key AKIAMOTO and the twelve digits of an account is that account's
root: known from the start, allowed everything. Access control is off until it
is switched on for an account; then every other key must be one that IAM or STS
of this server made, its signature must be right, and its policies must allow
the action.
"""

import re

from moto import settings as moto_settings
from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.responses import BaseResponse
from moto.iam import access_control

import refusal

_ROOT = re.compile(r"^AKIAMOTO(\d{12})$")
_enforced = set()

_account_of = BaseResponse.get_current_account
_authenticate = ActionAuthenticatorMixin._authenticate_and_authorize_action
_permitted = access_control.IAMPolicyStatement.is_action_permitted


def enforce(account, on):
    """Switches access control of an account."""
    (_enforced.add if on else _enforced.discard)(account)


def clear():
    """Switches access control off everywhere."""
    _enforced.clear()


def account(self):
    root = _ROOT.match(self.get_access_key())
    return root.group(1) if root else _account_of(self)


def free(self):
    """Whether a request is not looked at."""
    return self.current_account not in _enforced or _ROOT.match(self.get_access_key()) is not None


def authenticate(self, iam_request_cls, resource="*"):
    if not free(self):
        _authenticate(self, iam_request_cls, resource)


def is_json(headers):
    """Whether a request speaks a JSON protocol."""
    return "X-Amz-Target" in headers or "json" in headers.get("Content-Type", "")


def refuse(self, status, code, ec2_code, json_code, message):
    """Refuses as the service that was asked would."""
    js = is_json(self._headers)
    name = json_code if js else ec2_code if self._service == "ec2" else code
    raise refusal.of(self._service, js, status, name, message)


def bad_signature(self):
    refuse(self, 403, "SignatureDoesNotMatch", "AuthFailure", "InvalidSignatureException",
           "The request signature we calculated does not match the signature you provided.")


def bad_key(self, _reason):
    refuse(self, 403, "InvalidClientTokenId", "AuthFailure", "UnrecognizedClientException",
           "The security token included in the request is invalid.")


def denied(self):
    refuse(self, 403, "AccessDenied", "UnauthorizedOperation", "AccessDeniedException",
           f"User: {self._access_key.arn} is not authorized to perform: {self._action}"
           " because no identity-based policy allows the action")


def statement_permits(self, action, resource="*", principal=None, incoming_condition_values=None):
    """Judges a policy by its actions, and by resources where moto knows which is meant.

    What is not evaluated, a condition or a resource that moto does not know, allows what it may allow and denies
    nothing: a bucket that takes TLS only is used here, where everything is plain HTTP.
    """
    statement = self._statement
    if statement["Effect"] == "Deny" and "Condition" in statement:
        return access_control.PermissionResult.NEUTRAL
    if "Principal" not in statement:
        if "Condition" in statement:
            statement = {k: v for k, v in statement.items() if k != "Condition"}
        if resource == "*":
            if statement["Effect"] == "Deny" and statement.get("Resource") not in ("*", ["*"]):
                return access_control.PermissionResult.NEUTRAL
            statement = {**statement, "Resource": "*"}
    return _permitted(access_control.IAMPolicyStatement(statement), action, resource, principal, incoming_condition_values)


def may(self, action, resource):
    """Refuses a request whose caller lacks a further permission, such as iam:PassRole."""
    if free(self):
        return
    request = access_control.IAMRequest(
        account_id=self.current_account, method=self.method, path=self.uri, data=self.data, body=self.raw_body,
        headers=self.headers, action=action.split(":")[1])
    request._action = action
    try:
        request.check_action_permitted(resource)
    except refusal.Refusal:
        raise refusal.ec2(
            "UnauthorizedOperation",
            f"You are not authorized to perform this operation. User: {request._access_key.arn} is not authorized"
            f" to perform: {action} on resource: {resource}") from None


def install():
    """Puts this in moto's place."""
    moto_settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    BaseResponse.get_current_account = account
    ActionAuthenticatorMixin._authenticate_and_authorize_action = authenticate
    access_control.IAMRequest._raise_signature_does_not_match = bad_signature
    access_control.IAMRequest._raise_invalid_access_key = bad_key
    access_control.IAMRequest._raise_access_denied = denied
    access_control.IAMPolicyStatement.is_action_permitted = statement_permits
