# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the parts of m0_net's LNet transport need of others: only the core in the kernel may name LNet."""

import os
import subprocess
from pathlib import Path

import pytest

LIBRARIES = Path(os.environ.get("JACQUARD_BUILD", "build")) / "lib"
LNET = {
    "LNetEQAlloc", "LNetEQFree", "LNetGet", "LNetGetId", "LNetMDAttach", "LNetMDBind", "LNetMDUnlink", "LNetMEAttach",
    "LNetMEUnlink", "LNetNIFini", "LNetNIInit", "LNetPut", "libcfs_nid2str_r", "libcfs_str2nid",
}
OWN = ("m0_", "M0_", "nlx_", "port_")
FOREIGN = ("LNet", "lnet_", "libcfs", "cfs_", "sim_")


def undefined(library):
    lines = subprocess.run(["nm", "-u", LIBRARIES / f"lib{library}.a"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1] for line in lines if line.startswith(" ")}


def test_the_kernel_needs_the_kernels_lnet_only():
    names = {name for name in undefined("m0lnet_kernel") if not name.startswith(OWN)}
    assert {name for name in names if name.startswith(FOREIGN)} == LNET


@pytest.mark.parametrize("library", ["m0lib", "m0net", "m0ping"])
def test_the_other_parts_have_no_lnet(library):
    names = undefined(library)
    assert names and not {name for name in names if name.startswith(FOREIGN)}
