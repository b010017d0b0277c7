"""What EC2 tells of the key that it encrypts disks with, which moto only takes."""

from moto.core.responses import ActionResult
from moto.ec2.responses.elastic_block_store import ElasticBlockStore


def get_ebs_default_kms_key_id(self):
    return ActionResult({"KmsKeyId": self.ec2_backend.default_kms_key_id or "alias/aws/ebs"})


def install():
    ElasticBlockStore.get_ebs_default_kms_key_id = get_ebs_default_kms_key_id
