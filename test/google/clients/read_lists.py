"""Reads lists of Compute Engine at some places with one of Google's own libraries.

usage: read_lists.py LIBRARY PROJECT < {"sites": [["http://...", "token"]], "lists": [["instances", "labels.a=b"]]}

It prints for each place a mapping from the name of each list to its objects, as JSON with
the names of properties that Google's REST API has.
"""

import json
import sys

from google.oauth2.credentials import Credentials

# The lists that are asked for in all zones and regions at once.
AGGREGATED = {"addresses", "disks", "instances", "routers", "subnetworks"}


def with_cloud_compute(url, project, token):
    """google-cloud-compute: a class for each list, whose pages it turns itself."""
    from google.cloud import compute_v1

    def read(name, condition):
        client = getattr(compute_v1, name.capitalize() + "Client")(
            credentials=Credentials(token), client_options={"api_endpoint": url}
        )
        if name in AGGREGATED:
            kind = getattr(compute_v1, f"AggregatedList{name.capitalize()}Request")
            pages = client.aggregated_list(request=kind(project=project, filter=condition, max_results=2))
            found = [o for _, scope in pages for o in getattr(scope, name)]
        else:
            kind = getattr(compute_v1, f"List{name.capitalize()}Request")
            found = list(client.list(request=kind(project=project, filter=condition, max_results=2)))
        return [type(o).to_dict(o, preserving_proto_field_name=False) for o in found]

    return read


def with_api_client(url, project, token):
    """google-api-python-client: methods made of Google's discovery documents."""
    from googleapiclient import discovery

    service = discovery.build(
        "compute",
        "v1",
        credentials=Credentials(token),
        client_options={"api_endpoint": url + "/compute/v1/"},
        cache_discovery=False,
    )

    def read(name, condition):
        found, methods = [], getattr(service, name)()
        first, following = methods.list, methods.list_next
        if name in AGGREGATED:
            first, following = methods.aggregatedList, methods.aggregatedList_next
        request = first(project=project, filter=condition or None, maxResults=2)
        while request is not None:
            page = request.execute()
            items = page.get("items", [])
            if name in AGGREGATED:
                items = [o for scope in items.values() for o in scope.get(name, [])]
            found += items
            request = following(request, page)
        return found

    return read


LIBRARIES = {"google-cloud-compute": with_cloud_compute, "google-api-python-client": with_api_client}


def main():
    library, project = sys.argv[1:]
    asked, answer = json.load(sys.stdin), []
    for url, token in asked["sites"]:
        read = LIBRARIES[library](url, project, token)
        answer.append({name: read(name, condition) for name, condition in asked["lists"]})
    json.dump(answer, sys.stdout)


main()
