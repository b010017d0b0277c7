"""Objects whose conditions hold against writers at the same moment, as S3's do.

moto looks and then writes, and another writer may come between.
"""

import functools
import threading

from moto.s3.responses import S3Response

_one_at_a_time = threading.Lock()


def install():
    """Lets no two writers look at once."""
    put = S3Response.put_object

    @functools.wraps(put)
    def alone(self):
        with _one_at_a_time:
            return put(self)

    S3Response.put_object = alone
