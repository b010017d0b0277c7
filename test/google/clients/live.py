"""Makes, changes and removes a machine with one of Google's own libraries.

usage: live.py LIBRARY URL PROJECT ZONE TOKEN

It prints what happened at each step, as a JSON list. In zone-b of the region there are no
machines of the type that it asks for.
"""

import json
import sys

from google.oauth2.credentials import Credentials

REQUEST_ID = "7f5bb0e6-5b3c-4c4e-9c0e-0b1d2f3a4b5c"
MACHINE_TYPE = "n1-standard-4"


def machine(name, zone):
    """A machine with a GPU and a second disk, as Google's REST API writes it."""
    return {
        "name": name,
        "machineType": f"zones/{zone}/machineTypes/{MACHINE_TYPE}",
        "labels": {"det-deploy-cluster": "lab"},
        "scheduling": {"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE", "onHostMaintenance": "TERMINATE"},
        "guestAccelerators": [{"acceleratorType": f"zones/{zone}/acceleratorTypes/nvidia-tesla-t4", "acceleratorCount": 1}],
        "disks": [
            {
                "boot": True,
                "autoDelete": True,
                "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-12", "diskSizeGb": "50"},
            }
        ],
        "networkInterfaces": [{"network": "global/networks/default"}],
    }


class CloudCompute:
    """google-cloud-compute. Its helper for operations asks Google's own address."""

    def __init__(self, url, project, token):
        from google.api_core import exceptions
        from google.cloud import compute_v1

        given = {"credentials": Credentials(token), "client_options": {"api_endpoint": url}}
        self.types, self.project, self.refusal = compute_v1, project, exceptions.GoogleAPICallError
        self.instances = compute_v1.InstancesClient(**given)
        self.operations = compute_v1.ZoneOperationsClient(**given)

    def wait(self, zone, operation):
        done = self.operations.wait(project=self.project, zone=zone, operation=operation.name)
        return [e.code for e in done.error.errors] or [done.status.name]

    def insert(self, zone, body, request_id=None):
        made = self.types.Instance.from_json(json.dumps(body))
        request = self.types.InsertInstanceRequest(project=self.project, zone=zone, instance_resource=made, request_id=request_id)
        return self.instances.insert_unary(request=request)

    def name_of(self, operation):
        return operation.name

    def get(self, zone, name):
        found = self.instances.get(project=self.project, zone=zone, instance=name)
        return self.types.Instance.to_dict(found, preserving_proto_field_name=False, use_integers_for_enums=False)

    def set_labels(self, zone, name, labels, fingerprint):
        body = self.types.InstancesSetLabelsRequest(labels=labels, label_fingerprint=fingerprint)
        request = self.types.SetLabelsInstanceRequest(
            project=self.project, zone=zone, instance=name, instances_set_labels_request_resource=body
        )
        return self.instances.set_labels_unary(request=request)

    def delete(self, zone, name):
        return self.instances.delete_unary(project=self.project, zone=zone, instance=name)

    def status_of(self, refusal):
        return refusal.code


class ApiClient:
    """google-api-python-client."""

    def __init__(self, url, project, token):
        from googleapiclient import discovery, errors

        self.project, self.refusal = project, errors.HttpError
        self.service = discovery.build(
            "compute", "v1", credentials=Credentials(token), cache_discovery=False,
            client_options={"api_endpoint": url + "/compute/v1/"},
        )

    def wait(self, zone, operation):
        done = self.service.zoneOperations().wait(project=self.project, zone=zone, operation=operation["name"]).execute()
        return [e["code"] for e in done.get("error", {}).get("errors", [])] or [done["status"]]

    def insert(self, zone, body, request_id=None):
        return self.service.instances().insert(project=self.project, zone=zone, body=body, requestId=request_id).execute()

    def name_of(self, operation):
        return operation["name"]

    def get(self, zone, name):
        return self.service.instances().get(project=self.project, zone=zone, instance=name).execute()

    def set_labels(self, zone, name, labels, fingerprint):
        body = {"labels": labels, "labelFingerprint": fingerprint}
        return self.service.instances().setLabels(project=self.project, zone=zone, instance=name, body=body).execute()

    def delete(self, zone, name):
        return self.service.instances().delete(project=self.project, zone=zone, instance=name).execute()

    def status_of(self, refusal):
        return refusal.resp.status


LIBRARIES = {"google-cloud-compute": CloudCompute, "google-api-python-client": ApiClient}


def live(client, zone, steps):
    def refused(call):
        try:
            call()
        except client.refusal as refusal:
            return client.status_of(refusal)
        return "taken"

    first = client.insert(zone, machine("one", zone), REQUEST_ID)
    again = client.insert(zone, machine("one", zone), REQUEST_ID)
    steps["the same request again"] = client.name_of(first) == client.name_of(again)
    steps["insert"] = client.wait(zone, first)
    steps["a name that is taken"] = refused(lambda: client.insert(zone, machine("one", zone)))

    stocked_out = zone[:-1] + "b"
    steps["no machines"] = client.wait(stocked_out, client.insert(stocked_out, machine("two", stocked_out)))
    steps["left by it"] = refused(lambda: client.get(stocked_out, "two"))

    one = client.get(zone, "one")
    steps["status"], steps["market"] = one["status"], one["scheduling"]["provisioningModel"]
    stale = one["labelFingerprint"]
    changed = {"det-deploy-cluster": "lab", "team": "vision"}
    steps["set labels"] = client.wait(zone, client.set_labels(zone, "one", changed, stale))
    steps["labels"] = client.get(zone, "one")["labels"]
    steps["labels of another time"] = refused(lambda: client.set_labels(zone, "one", changed, stale))

    steps["delete"] = client.wait(zone, client.delete(zone, "one"))
    steps["after it"] = refused(lambda: client.get(zone, "one"))


def main():
    library, url, project, zone, token = sys.argv[1:]
    steps = {}
    live(LIBRARIES[library](url, project, token), zone, steps)
    json.dump(steps, sys.stdout)


main()
