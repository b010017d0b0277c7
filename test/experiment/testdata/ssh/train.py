"""Says which rank it is, and where it runs."""

import os

import determined as det

print(f"rank {os.environ['HOROVOD_RANK']} of {len(det.get_cluster_info().container_addrs)} runs on {det.get_cluster_info().agent_id}")
