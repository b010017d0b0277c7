"""The public parameters by which stock images are found; moto has few of them."""

from moto.ssm import models

import images

PUBLIC = "/aws/service/"
_get = models.ParameterDict.__getitem__
_contains = models.ParameterDict.__contains__


def parameter(self, name):
    return models.Parameter(
        account_id=self.account_id, name=name, value=images.PARAMETERS[name], parameter_type="String", description=None,
        allowed_pattern=None, keyid=None, last_modified_date=0, version=1, data_type="aws:ec2:image")


def getitem(self, name):
    return [parameter(self, name)] if name in images.PARAMETERS else _get(self, name)


def contains(self, name):
    return name in images.PARAMETERS or _contains(self, name)


def install():
    """Puts this in moto's place."""
    models.ParameterDict.__getitem__ = getitem
    models.ParameterDict.__contains__ = contains
