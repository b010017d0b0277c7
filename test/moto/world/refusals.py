"""What EC2 refuses and moto lets pass: to remove or change what is in use."""

import functools

from moto.ec2.models import EC2Backend
from moto.ec2.responses import EC2Response

import refusal


def machines(backend):
    return [i for r in list(backend.reservations.values()) for i in r.instances if i._state.name != "terminated"]


def interfaces(backend):
    """The interfaces that exist, without those of NAT gateways that are gone."""
    gone = {n._eni.id for n in backend.nat_gateways.values() if n.state == "deleted"}
    return [e for e in list(backend.enis.values()) if e.id not in gone]


def in_use(what, name):
    raise refusal.ec2("DependencyViolation", f"The {what} '{name}' has dependencies and cannot be deleted.")


def subnet(backend, subnet_id):
    if any(e.subnet is not None and e.subnet.id == subnet_id for e in interfaces(backend)):
        in_use("subnet", subnet_id)
    if any(i.subnet_id == subnet_id for i in machines(backend)):
        in_use("subnet", subnet_id)


def group(backend, name=None, group_id=None):
    wanted = group_id or name
    held = [e.id for e in interfaces(backend) if any(g.id == wanted for g in e.group_set)]
    held += [i.id for i in machines(backend) if any(g.id == wanted for g in i.security_groups)]
    for groups in backend.groups.values():
        for other in groups.values():
            rules = list(other.ingress_rules) + list(other.egress_rules)
            if other.id != wanted and any(wanted in (r.source_group or {}).values() for r in rules):
                held.append(other.id)
    if held:
        raise refusal.ec2("DependencyViolation", f"resource {wanted} has a dependent object")


def vpc(backend, vpc_id):
    if any(g.name != "default" for g in backend.groups.get(vpc_id, {}).values()):
        in_use("vpc", vpc_id)
    if any(g.vpc is not None and g.vpc.id == vpc_id for g in backend.internet_gateways.values()):
        in_use("vpc", vpc_id)
    if any(e.vpc_id == vpc_id and e.state != "deleted" for e in backend.vpc_end_points.values()):
        in_use("vpc", vpc_id)


def gateway(backend, internet_gateway_id, vpc_id):
    inside = {s.id for s in backend.describe_subnets(filters={"vpc-id": vpc_id})}
    public = any(i.subnet_id in inside and i.public_ip for i in machines(backend))
    nat = any(n.subnet_id in inside and n.state != "deleted" for n in backend.nat_gateways.values())
    if public or nat:
        raise refusal.ec2("DependencyViolation", f"Network {vpc_id} has some mapped public address(es). "
                          "Please unmap those public address(es) before detaching the gateway.")


def address(backend, address=None, allocation_id=None):
    for found in backend.addresses:
        if not ((allocation_id and found.allocation_id == allocation_id) or (address and found.public_ip == address)):
            continue
        nats = [n for n in backend.nat_gateways.values() if n.state != "deleted"]
        nat = any(a.get("allocationId") == found.allocation_id for n in nats for a in n.address_set)
        if nat or (found.instance is not None and found.instance._state.name != "terminated"):
            raise refusal.ec2("InvalidIPAddress.InUse", f"Address {found.public_ip} is in use.")


def attribute(backend, instance_id, key, value):
    running = backend.get_instance(instance_id)._state.name != "stopped"
    if running and key in ("instance_type", "user_data", "kernel", "ebs_optimized"):
        raise refusal.ec2("IncorrectInstanceState", f"The instance '{instance_id}' is not in the 'stopped' state.")


def before(name, check):
    """Runs a check before a method of moto's EC2."""
    method = getattr(EC2Backend, name)

    @functools.wraps(method)
    def checked(self, *args, **kwargs):
        check(self, *args, **kwargs)
        return method(self, *args, **kwargs)

    setattr(EC2Backend, name, checked)


def dry(name):
    """Has a call keep DryRun, which moto overlooks there."""
    method = getattr(EC2Response, name)

    @functools.wraps(method)
    def checked(self):
        self.error_on_dryrun()
        return method(self)

    setattr(EC2Response, name, checked)


def install():
    """Puts this in moto's place."""
    dry("create_vpc")
    before("delete_subnet", subnet)
    before("delete_security_group", group)
    before("delete_vpc", vpc)
    before("detach_internet_gateway", gateway)
    before("release_address", address)
    before("modify_instance_attribute", attribute)
