"""What a test may do that no client of Amazon's can: POST /world/<what>, JSON in and out."""

import datetime
import json

from moto.core.utils import utcnow
from moto.ec2.models import ec2_backends

import accounts
import clock
import machines
import settings
import spot


def instances(account):
    for region in list(ec2_backends[account].values()):
        for reservation in list(region.reservations.values()):
            yield from list(reservation.instances)


def find(body):
    for instance in instances(body["account"]):
        if instance.id == body["instance"]:
            return instance
    raise KeyError(f"no instance {body['instance']} in account {body['account']}")


def configure(body):
    settings.put(body["account"], body["settings"])


def capacity(body):
    machines.set_capacity(body["account"], body["capacity"])


def enforce(body):
    accounts.enforce(body["account"], body["on"])


def advance(body):
    clock.advance(body["account"], body["seconds"])


def console(body):
    find(body).console = body["text"]


def interrupt(body):
    """Takes a spot machine back: a notice now, of the end after so many seconds."""
    instance = find(body)
    instance.notice = {"action": "terminate", "time": spot.stamp(utcnow() + datetime.timedelta(seconds=body.get("after", 0)))}
    clock.later(body["account"], body.get("after", 0),
                lambda: machines.end(instance, "Server.SpotInstanceTermination", "Spot instance termination"))


def rebalance(body):
    find(body).rebalance = {"noticeTime": spot.stamp(utcnow())}


def fail(body):
    """Ends a machine as EC2 itself does, for one of its reasons."""
    machines.end(find(body), body["code"], body["message"])


def state(body):
    """What a machine's own metadata service needs to know of every machine."""
    return [
        {
            "id": i.id, "state": i._state.name, "type": i.instance_type, "lifecycle": i.lifecycle or "",
            "notice": getattr(i, "notice", None), "rebalance": getattr(i, "rebalance", None),
        }
        for i in instances(body["account"])
    ]


ACTS = {f.__name__: f for f in (configure, capacity, enforce, advance, console, interrupt, rebalance, fail, state)}


def clear(_body):
    """Forgets what this package knows; moto forgets by its own reset."""
    for part in (clock, settings, accounts, machines):
        part.clear()


ACTS["clear"] = clear


def application(moto):
    """Wraps moto's server."""

    def answer(environ, start_response):
        clock.settle()
        path = environ.get("PATH_INFO", "")
        if not path.startswith("/world/"):
            return moto(environ, start_response)
        status, out = "200 OK", None
        try:
            body = json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)) or b"{}")
            with clock.lock:
                out = ACTS[path.removeprefix("/world/")](body)
        except Exception as e:  # noqa: BLE001 - the test sees what went wrong
            status, out = "400 Bad Request", {"error": repr(e)}
        data = json.dumps(out).encode()
        start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(data)))])
        return [data]

    return answer
