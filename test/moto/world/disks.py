"""What EC2 tells of the key that it encrypts disks with, which moto only takes."""

from moto.core.responses import ActionResult
from moto.ec2.responses.elastic_block_store import ElasticBlockStore

_modify = ElasticBlockStore.modify_ebs_default_kms_key_id


def modify(self):
    out = _modify(self)
    self.ec2_backend.chosen_key = self.ec2_backend.default_kms_key_id
    return out


def get(self):
    """Amazon's own key is told by its alias, one that somebody chose by its ARN."""
    return ActionResult({"KmsKeyId": getattr(self.ec2_backend, "chosen_key", "") or "alias/aws/ebs"})


def install():
    ElasticBlockStore.modify_ebs_default_kms_key_id = modify
    ElasticBlockStore.get_ebs_default_kms_key_id = get
