"""Spot requests: made by RunInstances with market options, kept after their end."""

from moto.core.utils import utcnow
from moto.ec2.models import spot_requests as models
from moto.ec2.responses import spot_instances as responses
from moto.ec2.utils import random_spot_request_id

import clock
import machines
import refusal

_init = models.SpotInstanceRequest.__init__
_launch = models.SpotInstanceRequest.launch_instance


def stamp(at):
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


class Granted(models.SpotInstanceRequest):
    """The request behind a machine that RunInstances launched."""

    __module__ = models.__name__  # moto tells the service of a model by its module

    def __init__(self, machine, **kwargs):
        self.machine = machine
        super().__init__(**kwargs)

    def launch_instance(self):
        return self.machine


def request_for(self, instance):
    """Makes the request that a spot launch leaves behind."""
    options = "InstanceMarketOptions.SpotOptions."
    request = Granted(
        instance, ec2_backend=self.ec2_backend, spot_request_id=random_spot_request_id(),
        price=self._get_param(options + "MaxPrice"), image_id=instance.image_id,
        spot_instance_type=self._get_param(options + "SpotInstanceType") or "one-time", valid_from=None, valid_until=None,
        launch_group=None, availability_zone_group=None, key_name=instance.key_name,
        security_groups=[g.id for g in instance.security_groups], user_data=instance.user_data,
        instance_type=instance.instance_type, placement=None, kernel_id=None, ramdisk_id=None, monitoring_enabled=False,
        subnet_id=instance.subnet_id, tags=self._parse_tag_specification(), spot_fleet_id=None,
        instance_interruption_behaviour=self._get_param(options + "InstanceInterruptionBehavior"))
    self.ec2_backend.spot_instance_requests[request.id] = request
    instance.spot_instance_request_id = request.id
    instance.lifecycle = "spot"


def init(self, *args, **kwargs):
    self.created = self.changed = utcnow()
    _init(self, *args, **kwargs)  # ends by saying active
    if self.instance is None:
        become(self, "open", "capacity-not-available")
    else:
        become(self, "active", "fulfilled")


def launch_instance(self):
    """Launches for RequestSpotInstances; nothing while there is no capacity."""
    of_type = self.launch_specification.instance_type
    account = self.ec2_backend.account_id
    if any(of["left"] <= 0 for of in machines.limits(account, of_type, "spot", self.launch_specification.subnet_id)):
        return None
    instance = _launch(self)
    instance.spot_instance_request_id = self.id
    return instance


def become(self, state, status):
    self.state, self._status_code, self.status_message, self.changed = state, status, status, utcnow()


def ended(instance, code):
    """Closes the request of a machine that ends."""
    for request in list(instance.ec2_backend.spot_instance_requests.values()):
        if request.instance is instance and request.state == "active":
            taken = code == "Server.SpotInstanceTermination"
            become(request, "closed", "instance-terminated-no-capacity" if taken else "instance-terminated-by-user")


def cancel(self, request_ids):
    with clock.lock:
        found = []
        for name in request_ids:
            request = self.spot_instance_requests.get(name)
            if request is None:
                raise refusal.ec2("InvalidSpotInstanceRequestID.NotFound", f"The spot instance request ID '{name}' does not exist")
            if request.state in ("open", "active"):
                become(request, "cancelled",
                       "request-canceled-and-instance-running" if request.instance else "canceled-before-fulfillment")
            found.append(request)
        return found


def install():
    """Puts this in moto's place."""
    request = models.SpotInstanceRequest
    request.__init__ = init
    request.launch_instance = launch_instance
    request.instance_id = property(lambda r: r.instance.id if r.instance is not None else None)
    request.create_time = property(lambda r: stamp(r.created))
    request.status = property(lambda r: {"Code": r._status_code, "Message": r.status_message, "UpdateTime": stamp(r.changed)})
    models.SpotRequestBackend.cancel_spot_instance_requests = cancel
    responses.parse_user_data = machines.parse_user_data
