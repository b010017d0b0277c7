"""Elastic IPs that a machine can really have.

moto's are of 127/8, which every host keeps for itself. In a closed network they
come from 198.18.0.0/15, the block of RFC 2544 that is nobody's; anywhere else
moto's own stay, since nothing on this machine may lead to another host.
"""

import itertools
import sys

from moto.ec2.models import elastic_ip_addresses

_numbers = itertools.count(1)


def install():
    """Gives out addresses of the test network, where the server is in one."""
    if sys.argv[1].startswith("127."):
        return
    elastic_ip_addresses.random_ip = lambda: "198.18.{}.{}".format(*divmod(next(_numbers), 250))
