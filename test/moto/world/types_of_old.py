"""Instance types that the manuals name and Amazon's own lists have no more."""

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS

RETIRED = ("p2.xlarge", "p2.8xlarge", "p2.16xlarge", "p3.2xlarge", "p3.8xlarge", "p3.16xlarge")


def install():
    """Offers them again wherever anything is offered."""
    for kind, places in INSTANCE_TYPE_OFFERINGS.items():
        for offered in places.values():
            for location in {row["Location"] for row in offered}:
                offered.extend({"InstanceType": name, "LocationType": kind, "Location": location} for name in RETIRED)
