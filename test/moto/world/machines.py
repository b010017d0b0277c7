"""RunInstances, and the life of a machine.

    pending -> running -> shutting-down -> terminated -> forgotten
                  |            ^
               stopping -> stopped
"""

import base64
import collections

from moto.core.responses import ActionResult
from moto.core.types import Base64EncodedString
from moto.core.utils import utcnow
from moto.ec2.models import instances as models
from moto.ec2.responses import general
from moto.ec2.responses import instances as responses
from moto.iam.models import iam_backends

import accounts
import clock
import refusal
import settings
import spot

CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}
USER_DATA_LIMIT = 16384  # bytes, before they are encoded

_run = responses.InstanceResponse.run_instances
_describe = responses.InstanceResponse.describe_instances
_terminate = models.Instance.terminate
_stop = models.Instance.stop
_start = models.Instance.start
_reservations = models.InstanceBackend.all_reservations

# tokens is what a ClientToken was first sent with, and what it made.
_tokens = {}
# capacity is what is left of a type, a market and a subnet; "" stands for any.
_capacity = collections.defaultdict(dict)


def clear():
    _tokens.clear()
    _capacity.clear()


def set_capacity(account, of):
    """Says how many machines there are left; left < 0 is no limit."""
    key = (of.get("type", ""), of.get("market", ""), of.get("subnet", ""))
    if of.get("left", 0) < 0:
        _capacity[account].pop(key, None)
    else:
        _capacity[account][key] = of


def limits(account, of_type, market, subnet):
    """The limits that bear on one launch."""
    return [
        of for (t, m, s), of in _capacity[account].items()
        if t in ("", of_type) and m in ("", market) and s in ("", subnet)
    ]


def enter(instance, state):
    instance._state.name, instance._state.code = state, CODES[state]


def on(instance, state, seconds, act):
    """Does something later if the machine is still in a state."""
    account = instance.owner_id
    clock.later(account, seconds, lambda: act() if instance._state.name == state else None)


# --- launching


def run_instances(self):
    with clock.lock:
        if self._get_param("DryRun") in (True, "true"):
            return _run(self)
        token = self._get_param("ClientToken")
        asked = sorted((k, str(v)) for k, v in self.querystring.items() if k not in ("Version",))
        key = (self.current_account, self.region, token)
        if token and key in _tokens:
            first, reservation = _tokens[key]
            if first != asked:
                raise refusal.ec2("IdempotentParameterMismatch",
                                  "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
            return ActionResult(reservation)
        reservation = launch(self)
        if token:
            kept = models.Reservation(reservation_id=reservation.id, owner_id=reservation.owner_id)
            kept.instances = list(reservation.instances)
            _tokens[key] = (asked, kept)
        return ActionResult(reservation)


def launch(self):
    orig = self._get_param
    nics = orig("NetworkInterfaces", [])
    subnet = orig("SubnetId") or next((n["SubnetId"] for n in nics if "SubnetId" in n), "")
    market = orig("InstanceMarketOptions.MarketType") or "on-demand"
    count = grant(self, market, subnet)
    profile = check_profile(self)
    self._get_param = lambda key, *a, **kw: str(count) if key == "MinCount" else orig(key, *a, **kw)
    try:
        reservation = _run(self).result
    finally:
        self._get_param = orig
    for instance in reservation.instances:
        if profile and instance is not reservation.instances[0]:
            self.ec2_backend.associate_iam_instance_profile(instance_id=instance.id, iam_instance_profile_name=profile.name)
        born(self, instance, nics)
        if market == "spot":
            spot.request_for(self, instance)
    return reservation


def grant(self, market, subnet):
    """How many machines a request gets."""
    low, high = int(self._get_param("MinCount") or 1), int(self._get_param("MaxCount") or 1)
    if high < low:
        raise refusal.ec2("InvalidParameterValue", f"Value ({high}) for parameter maxCount is invalid.")
    of_type = self._get_param("InstanceType", "m1.small")
    for of in limits(self.current_account, of_type, market, subnet):
        if of["left"] < low:
            raise refusal.ec2(
                of.get("code") or "InsufficientInstanceCapacity",
                of.get("message") or f"We currently do not have sufficient {of_type} capacity in the Availability Zone you requested.")
        high = min(high, of["left"])
    for of in limits(self.current_account, of_type, market, subnet):
        of["left"] -= high
    return high


def check_profile(self):
    """Refuses a profile that is not there, or too new, or not the caller's to pass."""
    name, arn = self._get_param("IamInstanceProfile.Name"), self._get_param("IamInstanceProfile.Arn")
    if not name and not arn:
        return None
    account = self.current_account
    for profile in iam_backends[account][self.partition].instance_profiles.values():
        if profile.name == name or profile.arn == arn:
            age = (utcnow() - profile.create_date).total_seconds() + clock.shift(account)
            if age < settings.get(account, "profile_lag"):
                break
            for role in profile.roles:
                accounts.may(self, "iam:PassRole", role.arn)
            return profile
    field = "name" if name else "arn"
    raise refusal.ec2("InvalidParameterValue",
                      f"Value ({name or arn}) for parameter iamInstanceProfile.{field} is invalid. Invalid IAM Instance Profile {field}")


def born(self, instance, nics):
    account = self.current_account
    if nics:
        instance.security_groups = [g for nic in instance.nics.values() for g in nic.group_set]
    hidden = settings.get(account, "visible")
    instance.hidden = hidden > 0
    clock.later(account, hidden, lambda: setattr(instance, "hidden", False))
    enter(instance, "pending")
    on(instance, "pending", settings.get(account, "pending"), lambda: enter(instance, "running"))


# --- ending


def end(instance, code="Client.UserInitiatedShutdown", message="User initiated shutdown"):
    """Starts a machine's end; its disks and interfaces go when it is terminated."""
    before = models.InstanceState(instance._state.name, instance._state.code)
    if before.name in ("shutting-down", "terminated"):
        return before
    account = instance.owner_id
    enter(instance, "shutting-down")
    spot.ended(instance, code)

    def gone():
        _terminate(instance)
        instance.state_reason = models.StateReason(f"{code}: {message}", code)
        clock.later(account, settings.get(account, "forget"), lambda: forget(instance))

    instance.state_reason = models.StateReason(f"{code}: {message}", code)
    on(instance, "shutting-down", settings.get(account, "shutdown"), gone)
    return before


def forget(instance):
    reservations = instance.ec2_backend.reservations
    for name, reservation in list(reservations.items()):
        if instance in reservation.instances:
            reservation.instances.remove(instance)
            if not reservation.instances:
                del reservations[name]


def terminate(self):
    with clock.lock:
        return end(self)


def stop(self):
    with clock.lock:
        if self._state.name not in ("pending", "running"):
            return models.InstanceState(self._state.name, self._state.code)
        before = _stop(self)
        enter(self, "stopping")
        on(self, "stopping", settings.get(self.owner_id, "stopping"), lambda: enter(self, "stopped"))
        return before


def start(self):
    with clock.lock:
        if self._state.name != "stopped":
            raise refusal.ec2("IncorrectInstanceState", f"The instance '{self.id}' is not in a state from which it can be started.")
        before = _start(self)
        enter(self, "pending")
        on(self, "pending", settings.get(self.owner_id, "pending"), lambda: enter(self, "running"))
        return before


# --- looking


def all_reservations(self, filters=None):
    kept = []
    for reservation in _reservations(self, filters):
        reservation.instances = [i for i in reservation.instances if not getattr(i, "hidden", False)]
        if reservation.instances:
            kept.append(reservation)
    return kept


def describe_instances(self):
    orig, most = self._get_param, int(settings.get(self.current_account, "page"))

    def get(key, *args, **kwargs):
        value = orig(key, *args, **kwargs)
        return min(int(value), most) if key == "MaxResults" else value

    self._get_param = get
    try:
        with clock.lock:  # a machine is seen when all of it is there
            return _describe(self)
    finally:
        self._get_param = orig


def get_console_output(self):
    self.error_on_dryrun()
    instance = self.ec2_backend.get_instance(self._get_param("InstanceId"))
    text = getattr(instance, "console", "")
    return ActionResult({"InstanceId": instance.id, "Timestamp": utcnow(), "Output": Base64EncodedString.from_raw_string(text)})


def parse_user_data(value):
    """Reads user data as it comes from RunInstances and from ModifyInstanceAttribute."""
    if value is None:
        return None
    try:
        data = Base64EncodedString.from_raw_bytes(value) if isinstance(value, bytes) else Base64EncodedString(value)
    except ValueError:
        raise refusal.ec2("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.") from None
    if len(base64.b64decode(str(data))) > USER_DATA_LIMIT:
        raise refusal.ec2("InvalidParameterValue", f"User data is limited to {USER_DATA_LIMIT} bytes")
    return data


def install():
    """Puts this in moto's place."""
    responses.InstanceResponse.run_instances = run_instances
    responses.InstanceResponse.describe_instances = describe_instances
    responses.parse_user_data = parse_user_data
    general.General.get_console_output = get_console_output
    models.Instance.terminate, models.Instance.stop, models.Instance.start = terminate, stop, start
    models.InstanceBackend.all_reservations = all_reservations
