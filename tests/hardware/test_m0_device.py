# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""-DBACKEND=real for m0_net: the core and the driver know the kernel's names of LNet only, and processes know a device only. The
device is a stand-in, which records what is asked of it."""

import errno
import os
import re
import subprocess

import jacquard
import pytest
from jacquard.installed import command
from test_hardware import KERNEL, LNET, LNET_HEADERS, built_once, configure

OWN = ("m0_", "M0_", "nlx_", "port_", "default_xo_rpc_")
FOREIGN = ("LNet", "lnet_", "libcfs", "cfs_")
STACK = jacquard.ROOT / "stack/lnet_xprt"
# The public numbers.
DOM_INIT, BUF_REGISTER, BUF_DEREGISTER, NIDSTR_DECODE, NIDSTRS_GET, TM_START = 0x21, 0x26, 0x27, 0x30, 0x32, 0x33


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    return built_once(tmp_path_factory)[0]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return built_once(tmp_path_factory)[1]


def symbols(path, *options):
    """Without weak references, which nothing has to define."""
    lines = (line.split() for line in command(["nm", *options, path]).splitlines())
    return {words[-1].split("@")[0] for words in lines if len(words) > 1 and words[-2] != "w"}


def test_the_core_and_the_driver_need_the_kernels_names_only(built):
    needed = {}
    for library in ("m0lnet_kernel", "m0lnet_driver"):
        names = symbols(built / f"lib/lib{library}.a", "-u")
        needed[library] = {name for name in names if not name.startswith(OWN) and name != "_GLOBAL_OFFSET_TABLE_"}
    assert {name for name in needed["m0lnet_kernel"] if name.startswith(FOREIGN)} == set(LNET)
    assert needed["m0lnet_kernel"] - set(LNET) <= set(KERNEL)
    assert needed["m0lnet_driver"] <= set(KERNEL)
    assert not {path.name for path in (built / "stack/lnet_xprt").rglob("klnet_*.o")} & {"klnet_local.c.o", "klnet_process.c.o"}


def test_the_headers_of_lnet_are_read_by_the_kernels_part_only(built, prefix):
    """And of these headers, only those that the kernel has, too."""
    read, current = {}, None
    for line in command(["ninja", "-C", built, "-t", "deps"]).splitlines():
        if line and not line[0].isspace():
            current = line.split(":")[0]
        elif current and line.strip().startswith(str(prefix.lustre)):
            read.setdefault(current, set()).add(line.strip().removeprefix(f"{prefix.lustre}/"))
    targets = {re.search(r"CMakeFiles/(\w+)\.dir", name).group(1) for name in read}
    assert targets == {"m0lnet_kernel", "m0lnet_driver"}
    assert set().union(*read.values()) == set(LNET_HEADERS)


def test_m0_142_no_symbol_of_lnet_in_processes(built):
    for path in (built / "lib/libm0net.so", built / "bin/m0_ping"):
        names = symbols(path)
        assert "m0_net_domain_init" in names and not {name for name in names if name.startswith(FOREIGN)}
    assert "m0_live_begin" not in symbols(built / "lib/libm0net.so")
    assert "lnet" not in command(["readelf", "-d", built / "bin/m0_ping"]).replace("libm0net", "")


def test_without_lustres_headers_there_is_no_driver(built, prefix, tmp_path):
    done = configure(tmp_path / "build", prefix.environment)
    assert done.returncode == 0, done.stdout
    ninja = (tmp_path / "build/build.ninja").read_text()
    assert "libm0net.so" in ninja and "klnet_core" not in ninja


STAND_IN = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "net/lnet/lnet_ioctl.h"

static int device = -1;

static void record(const char *what, unsigned long number)
{
    FILE *file = fopen(getenv("STAND_IN_LOG"), "a");

    fprintf(file, "%s %lu\n", what, number);
    fclose(file);
}

int open(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    va_list list;
    int mode;

    va_start(list, flags);
    mode = flags & O_CREAT ? va_arg(list, int) : 0;
    va_end(list);
    if (strcmp(path, "/dev/m0lnet") != 0)
        return next(path, flags, mode);
    record("open", (unsigned long)flags);
    return device = memfd_create("device", MFD_CLOEXEC);
}

int ioctl(int fd, unsigned long request, ...)
{
    struct m0_lnet_dev_dom_init_params *init;
    struct m0_lnet_dev_nidstrs_get_params *get;
    va_list list;
    void *argument;

    va_start(list, request);
    argument = va_arg(list, void *);
    va_end(list);
    if (fd != device)
        abort();
    record("ioctl", request);
    switch (request) {
    case M0_LNET_DOM_INIT:
        init = argument;
        init->ddi_max_buffer_size = 1 << 20;
        init->ddi_max_buffer_segment_size = 4096;
        init->ddi_max_buffer_segments = 512;
        return 0;
    case M0_LNET_NIDSTRS_GET:
        get = argument;
        memcpy(get->dng_buf, "10.0.0.1@tcp", sizeof("10.0.0.1@tcp"));
        return 1;
    case M0_LNET_NIDSTR_DECODE:
        ((struct m0_lnet_dev_nid_encdec_params *)argument)->dn_nid = 0x200000a000001;
        return 0;
    case M0_LNET_BUF_REGISTER:
    case M0_LNET_BUF_DEREGISTER:
        return 0;
    case M0_LNET_TM_START:
        errno = EADDRINUSE;
        return -1;
    }
    errno = ENOTTY;
    return -1;
}
"""


def test_a_process_asks_the_device(built, tmp_path):
    """The tool opens it and gets as far as starting a machine, which this device refuses."""
    source, library, log = tmp_path / "device.c", tmp_path / "device.so", tmp_path / "log"
    source.write_text(STAND_IN)
    command(["gcc", "-std=gnu11", "-shared", "-fPIC", "-I", STACK, "-I", jacquard.ROOT / "stack/port/include", source, "-o", library, "-ldl"])
    environment = dict(os.environ, LD_PRELOAD=str(library), STAND_IN_LOG=str(log))
    done = subprocess.run([built / "bin/m0_ping", "serve"], env=environment, text=True, capture_output=True, timeout=60)
    assert done.returncode == 1 and os.strerror(errno.EADDRINUSE) in done.stderr, done.stderr
    assert "10.0.0.1@tcp:12345:39:12" in done.stderr
    lines = [(what, int(number)) for what, number in (line.split() for line in log.read_text().splitlines())]
    assert {number for what, number in lines if what == "open"} == {os.O_RDWR | os.O_CLOEXEC}
    calls = [number for what, number in lines if what == "ioctl"]
    assert all(call >> 8 & 0xff == ord("c") for call in calls)
    decoded = [call & 0xff for call in calls if call & 0xff == NIDSTR_DECODE]
    numbers = [call & 0xff for call in calls if call & 0xff != NIDSTR_DECODE]
    start = numbers.index(TM_START)
    registered = numbers[3:start]
    assert decoded
    assert numbers[:3] == [DOM_INIT, NIDSTRS_GET, DOM_INIT] and set(registered) == {BUF_REGISTER}
    assert numbers[start + 1:] == [BUF_DEREGISTER] * len(registered)


def test_without_the_device(built):
    done = subprocess.run([built / "bin/m0_ping", "serve", "--device", "/dev/no-such-device"], text=True, capture_output=True, timeout=60)
    assert done.returncode == 1 and os.strerror(errno.ENOENT) in done.stderr
    assert "--device PATH" in command([built / "bin/m0_ping", "--help"])
    done = subprocess.run([built / "bin/m0_ping", "show"], text=True, capture_output=True, timeout=60)
    assert done.returncode == 2 and "there are serve, ping, nettest-node and nettest" in done.stderr
