# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What the parts of m0_net's LNet transport need of others: only the core in the kernel may name LNet."""

import os
import re
import subprocess
from pathlib import Path

import pytest

LIBRARIES = Path(os.environ.get("JACQUARD_BUILD", "build")) / "lib"
ROOT = Path(__file__).resolve().parents[2]
STACK = ROOT / "stack/lnet_xprt"
LNET = {
    "LNetEQAlloc", "LNetEQFree", "LNetGet", "LNetGetId", "LNetMDAttach", "LNetMDBind", "LNetMDUnlink", "LNetMEAttach",
    "LNetMEUnlink", "LNetNIFini", "LNetNIInit", "LNetPut", "libcfs_nid2str_r", "libcfs_str2nid",
}
OWN = ("m0_", "M0_", "nlx_", "port_")
FOREIGN = ("LNet", "lnet_", "libcfs", "cfs_", "sim_")


def undefined(library):
    """Without weak references, which nothing has to define."""
    lines = subprocess.run(["nm", "-u", LIBRARIES / f"lib{library}.a"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1] for line in lines if line.startswith(" ") and line.split()[0] != "w"}


def test_the_kernel_needs_the_kernels_lnet_only():
    names = {name for name in undefined("m0lnet_kernel") if not name.startswith(OWN)}
    assert {name for name in names if name.startswith(FOREIGN)} == LNET


@pytest.mark.parametrize("library", ["m0lib", "m0net", "m0ping", "m0nettest", "m0lnet", "m0lnet_user"])
def test_the_other_parts_have_no_lnet(library):
    names = undefined(library)
    assert names and not {name for name in names if name.startswith(FOREIGN)}


def test_the_library_of_processes_has_no_lnet():
    """libm0net, all symbols: what it needs, what it offers, and what it keeps to itself."""
    lines = subprocess.run(["nm", LIBRARIES / "libm0net.so.0"], capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split()[-1].split("@")[0] for line in lines}
    assert "m0_net_domain_init" in names and not {name for name in names if name.startswith(FOREIGN)}
    needed = subprocess.run(["readelf", "-d", LIBRARIES / "libm0net.so.0"], capture_output=True, text=True, check=True).stdout
    assert "libc.so" in needed and "lnet" not in needed.replace("libm0net", "")
    offered = subprocess.run(["nm", "-D", "--defined-only", LIBRARIES / "libm0net.so.0"], capture_output=True, text=True, check=True).stdout
    assert not {line.split()[-1] for line in offered.splitlines() if not line.split()[-1].startswith(("m0_", "M0_", "nlx_ucore_dev_name"))}


def test_m0_142_no_header_of_lnet_in_the_user_flavour():
    """All headers that its sources read, also indirectly."""
    sources = [STACK / "net/lnet" / name for name in ("lnet_main.c", "ulnet_device.c", "lnet_api.c")]
    sources += sorted((STACK / "live").glob("*.c"))
    done = subprocess.run(["gcc", "-std=gnu11", "-M", "-I", STACK, "-I", STACK / "include", "-I", ROOT / "stack/port/include", *sources],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    read = {word.replace("\\ ", " ") for word in re.split(r"(?<!\\)\s+", done.stdout.replace("\\\n", " ")) if word.endswith((".h", ".c"))}
    assert str(STACK / "net/lnet/lnet_ioctl.h") in read and str(STACK / "net/lnet/ulnet_core.c") in read
    assert not [path for path in read if re.search(r"/(lnet/(api|lib-types|nidstr)|libcfs/|lustre)|linux_kernel|sim/", path)]
