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


@pytest.mark.parametrize("settings, says", [
    ("", "tries 3 eager 0 peers nobody sizes 0:0,0\nend\n"),
    ("kernel_code.tries=0x10 kernel_code.eager=Y kernel_code.sizes=4096,65536 other.tries=5 kernel_code.peers='10.0.0.1@tcp 10.0.0.2@tcp'",
     "tries 16 eager 1 peers 10.0.0.1@tcp 10.0.0.2@tcp sizes 2:4096,65536\nend\n"),
    ("kernel_code.tries=many", "error -22\n"),
    ("kernel_code.sizes=1,2,3,4,5", "error -22\n"),
    ("kernel_code.tries=-1", "tries -1 eager 0 peers nobody sizes 0:0,0\nerror -22\n"),
])
def test_lnet_99_parameters_of_a_module_are_in_LNET_OPTIONS(settings, says):
    environment = options("127.0.77.3")
    environment["LNET_OPTIONS"] += " " + settings
    module = run(PROGRAM, "module", environment=environment)
    assert module.stdout == says and module.returncode == 0, module.stderr
    wrong = [value for value in ("'many' is no value of the parameter tries", "'1,2,3,4,5' is no value of the parameter sizes")
             if value in module.stderr]
    assert len(wrong) == (settings.endswith(("many", "4,5")))
