"""The images that every account and region has: a few stock ones, under fixed ids."""

import json

DATE = "2026-04-23T00:00:00.000Z"

# name, id, architecture, owner, root device
STOCK = [
    ("ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20260401", "ami-0000000000000a001", "x86_64", "099720109477", "/dev/sda1"),
    ("ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-arm64-server-20260401", "ami-0000000000000a002", "arm64", "099720109477", "/dev/sda1"),
    ("ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-20260401", "ami-0000000000000a003", "x86_64", "099720109477", "/dev/sda1"),
    ("debian-12-amd64-20260401", "ami-0000000000000a004", "x86_64", "136693071363", "/dev/xvda"),
    ("debian-12-arm64-20260401", "ami-0000000000000a005", "arm64", "136693071363", "/dev/xvda"),
    ("al2023-ami-2023.7.20260401-kernel-6.1-x86_64", "ami-0000000000000a006", "x86_64", "137112412989", "/dev/xvda"),
    ("al2023-ami-2023.7.20260401-kernel-6.1-arm64", "ami-0000000000000a007", "arm64", "137112412989", "/dev/xvda"),
    ("Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 20260401", "ami-0000000000000a008", "x86_64", "898082745236", "/dev/sda1"),
]

_CANONICAL = "/aws/service/canonical/ubuntu/server/"
_AMAZON = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-"
_LEARNING = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id"

# PARAMETERS is the public parameters and the image that each names.
PARAMETERS = {
    _CANONICAL + "24.04/stable/current/amd64/hvm/ebs-gp3/ami-id": "ami-0000000000000a001",
    _CANONICAL + "24.04/stable/current/arm64/hvm/ebs-gp3/ami-id": "ami-0000000000000a002",
    _CANONICAL + "22.04/stable/current/amd64/hvm/ebs-gp2/ami-id": "ami-0000000000000a003",
    "/aws/service/debian/release/12/latest/amd64": "ami-0000000000000a004",
    "/aws/service/debian/release/12/latest/arm64": "ami-0000000000000a005",
    _AMAZON + "default-x86_64": "ami-0000000000000a006",
    _AMAZON + "6.1-x86_64": "ami-0000000000000a006",
    _AMAZON + "default-arm64": "ami-0000000000000a007",
    _AMAZON + "6.1-arm64": "ami-0000000000000a007",
    _LEARNING: "ami-0000000000000a008",
}


def write(path):
    """Writes the images in the form that moto loads."""
    out = [
        {
            "ami_id": ami, "name": name, "description": name, "owner_id": owner, "public": True, "architecture": arch,
            "virtualization_type": "hvm", "hypervisor": "xen", "root_device_type": "ebs", "root_device_name": device,
            "image_location": f"amazon/{name}", "image_type": "machine", "state": "available", "sriov": "simple",
            "creation_date": DATE,
        }
        for name, ami, arch, owner, device in STOCK
    ]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(out, file)


def install():
    """Lets moto read its images for a second region: it has put dates into them by then."""
    from moto.ec2.models import amis

    parse = amis.parse_timestamp
    amis.parse_timestamp = lambda date: parse(date) if isinstance(date, str) else date
