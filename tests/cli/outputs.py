"""One output for each kind that `gpuinv parse` reads: of the captured hosts, or written here."""

from __future__ import annotations

from tests.cli import hosts

__all__ = ["DGX", "OUTPUTS"]

DGX = hosts.FIXTURES / "dgx-a100-mig"

_QUERY_GPU = """\
index, uuid, fan.speed [%], power.draw [W], ecc.errors.corrected.volatile.total
0, GPU-50d4b61a-9deb-4fe6-c98d-5cbd9d80a79b, 41 %, 314.27 W, [N/A]
1, GPU-5506643a-07df-85ac-28ef-8cf07c9e3ca2, [N/A], 58.41 W, 0
"""
_REMAPPED_ROWS = """\
GPU-5506643a-07df-85ac-28ef-8cf07c9e3ca2, 0, 2, Yes, No
GPU-4269c4f5-c205-053b-7625-479888de415d, [N/A], [N/A], [N/A], [N/A]
"""
_NVLINK_ERRORS = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5506643a-07df-85ac-28ef-8cf07c9e3ca2)
    Link 0: Replay Errors: 0
    Link 0: Recovery Errors: 3
    Link 1: Replay Errors: 0
    Link 1: Effective BER: 15e-255
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-4269c4f5-c205-053b-7625-479888de415d)
NVML: Unable to retrieve NVLink information as all links are inActive
"""
_PLACEMENTS = """\
GPU  0 Profile ID 19 Placements: {0,1,2,3,4,5,6}:1
GPU  0 Profile ID 14 Placements: {0,2,4}:2
GPU  0 Profile ID  0 Placement : {0}:8
"""
_COMPUTE_INSTANCE_PROFILES = """\
+--------------------------------------------------------------------------------------+
| Compute instance profiles:                                                           |
| GPU     GPU       Name             Profile  Instances   Exclusive       Shared       |
|       Instance                       ID     Free/Total     SM       DEC   ENC   OFA  |
|         ID                                                          CE    JPEG       |
|======================================================================================|
|   1      3       MIG 1c.2g.20gb       0      0/2           14        1     0     0   |
|                                                                      2     0         |
+--------------------------------------------------------------------------------------+
|   1      3       MIG 2g.20gb          1*     0/1           28        1     0     0   |
|                                                                      2     0         |
+--------------------------------------------------------------------------------------+
"""
_HELP = """\
List of valid properties to query for the switch "--query-gpu":

"timestamp"
The timestamp of when the query was made in format "YYYY/MM/DD HH:MM:SS.msec".

"name" or "gpu_name"
The official product name of the GPU.
This is an alphanumeric string.
For all products.
"""
_RESET = """\
GPU 00000000:07:00.0 was successfully reset.
The following GPUs could not be reset:
  GPU 00000000:0F:00.0: In use by another client

1 device is currently being used by one or more other processes (e.g., Fabric Manager, CUDA application,
graphics application such as an X server, or a monitoring application such as another instance of
nvidia-smi). Please first kill all processes using this device and all compute applications running in the
system.
"""

OUTPUTS = {
    "q-x": (DGX / "smi/q-x.xml").read_bytes(),
    "L": (DGX / "smi/L.txt").read_bytes(),
    "compute-cap": (DGX / "smi/query-gpu-compute-cap.csv").read_bytes(),
    "query-gpu": _QUERY_GPU.encode(),
    "samples": (DGX / "smi/query-gpu-sample.csv").read_bytes(),
    "compute-apps": (DGX / "smi/query-compute-apps.csv").read_bytes(),
    "remapped-rows": _REMAPPED_ROWS.encode(),
    "topo": (DGX / "smi/topo-m.txt").read_bytes(),
    "nvlink-s": (DGX / "smi/nvlink-s.txt").read_bytes(),
    "nvlink-R": (DGX / "smi/nvlink-R.txt").read_bytes(),
    "nvlink-e": _NVLINK_ERRORS.encode(),
    "mig-lgip": (DGX / "smi/mig-lgip.txt").read_bytes(),
    "mig-lgi": (DGX / "smi/mig-lgi.txt").read_bytes(),
    "mig-lci": (DGX / "smi/mig-lci.txt").read_bytes(),
    "mig-lgipp": _PLACEMENTS.encode(),
    "mig-lcip": _COMPUTE_INSTANCE_PROFILES.encode(),
    "version": (DGX / "smi/version.txt").read_bytes(),
    "help-query-gpu": _HELP.encode(),
    "gpu-reset": _RESET.encode(),
    "proc-information": (DGX / "root/proc/driver/nvidia/gpus/0000:07:00.0/information").read_bytes(),
    "proc-version": (DGX / "root/proc/driver/nvidia/version").read_bytes(),
}
