# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Kernel-style consumers of LNet in ordinary processes: threads, wait queues, timers and works of liblnet."""

import subprocess

import jacquard
import pytest
from lnet_nodes import options, run

PROGRAM = jacquard.build_directory() / "tests/lnet_kernel_code"


@pytest.mark.parametrize("bytes_", [1, 65536, 1 << 20])
def test_lnet_99_requests_with_bulk_data(bytes_):
    server = subprocess.Popen([PROGRAM, "serve"], env=options("127.0.77.1"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout.readline() == "ready\n", server.stderr.read()
        client = run(PROGRAM, "use", "127.0.77.1@tcp", bytes_, environment=options("127.0.77.2"))
        assert client.stdout == "requests 100 wrong 0 lost 0 pings some ticks some\n", client.stderr
        assert client.returncode == 0
        output, errors = server.communicate(timeout=60)
        assert server.returncode == 0 and output == "served\n", errors
    finally:
        server.kill()
        server.wait()
