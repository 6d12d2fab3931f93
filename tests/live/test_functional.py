# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The programs of functional/, one for each feature of libfabric, between two ordinary processes: over gni, and where they can
over one of libfabric's own providers, which shows that the programs are right."""

import os

import pytest
from live import PROGRAMS, SKIPPED, fabric, pair, report

SHM, RXM, SOCKETS = ("shm", "rdm"), ("tcp;ofi_rxm", "rdm"), ("sockets", "rdm")

# Program → endpoint types over gni; others that show the program to be right. What those get wrong is why one and not another
# is here: libfabric 1.17's shm has no peeks, ends no wait at its timeout, and hangs with threads; sockets drops flags.
FEATURES = {
    "pingpong": (("rdm", "msg", "dgram"), (SHM, ("tcp", "msg"), ("udp", "dgram"))),
    "tagged": (("rdm", "dgram"), (SHM, RXM)),
    "tagged_peek": (("rdm",), (SOCKETS,)),
    "multi_recv": (("rdm", "msg"), (SHM, RXM)),
    "rma": (("rdm", "msg"), (SHM, RXM)),
    "delivery": (("rdm", "msg"), (RXM,)),
    "rma_flood": (("rdm", "msg"), (SHM,)),
    "rma_event": (("rdm",), (SHM,)),
    "atomic": (("rdm", "msg"), (SHM, RXM)),
    "cm_data": (("msg",), (("tcp", "msg"),)),
    "shared_ctx": (("rdm", "dgram"), (SOCKETS,)),
    "shared_rx": ((), (SOCKETS,)),
    "scalable_ep": (("rdm", "dgram"), (SOCKETS,)),
    "poll": (("rdm",), (SHM,)),
    "cntr": (("rdm",), (RXM,)),
    "inject": (("rdm", "msg"), (SHM,)),
    "flood": (("rdm", "msg"), (SHM,)),
    "unexpected": (("rdm", "msg"), (SHM,)),
    "recv_cancel": (("rdm", "msg"), (SHM,)),
    "mr": (("rdm",), (SHM,)),
    "av": (("rdm", "dgram"), (RXM,)),
    "eq": (("rdm",), (RXM,)),
    "getinfo": (("rdm", "msg", "dgram"), (SHM, ("tcp", "msg"))),
    "wait": (("rdm", "msg"), (RXM,)),
    "threads": (("rdm",), (RXM,)),
    "loopback": (("rdm",), (SHM,)),
    "clients": (("rdm",), (SHM,)),
    "multi_ep": (("rdm",), (SHM,)),
    "trigger": (("rdm",), (SOCKETS,)),
    "collective": (("rdm",), ()),
    "service": (("rdm",), (RXM,)),
    "stress": (("rdm", "msg"), (SHM,)),
}
NOT_OFFERED = {"shared_rx": "gni has no shared receive contexts (docs/gni-provider.md)"}


def check(program, results):
    assert [code for code, _ in results] == [0, 0], report(program, results)


def test_every_program_is_run():
    assert sorted(path.name for path in PROGRAMS.iterdir()) == sorted(FEATURES)


@pytest.mark.parametrize("program, kind", [(program, kind) for program, (kinds, _) in FEATURES.items() for kind in kinds])
def test_over_gni(program, kind):
    with fabric() as environment:
        check(program, pair(program, ["-p", "gni", "-e", kind, "-x"], [environment] * 2))


@pytest.mark.parametrize("program", ["pingpong", "rma", "atomic", "stress", "service", "collective"])
def test_on_one_node(program):
    with fabric() as environment:
        check(program, pair(program, ["-p", "gni", "-x"], [dict(environment, JACQUARD_NODE="1")] * 2))


@pytest.mark.parametrize("program", ["pingpong", "tagged", "rma", "clients", "stress"])
def test_manual_progress(program):
    """Nothing moves but in calls of the application; no helper thread of the provider."""
    with fabric() as environment:
        check(program, pair(program, ["-p", "gni", "-x", "-m"], [environment] * 2))


@pytest.mark.parametrize("program", NOT_OFFERED)
def test_what_gni_does_not_offer(program):
    with fabric() as environment:
        results = pair(program, ["-p", "gni", "-x"], [environment] * 2)
    assert [code for code, _ in results] == [SKIPPED] * 2, report(program, results)


@pytest.mark.parametrize("program, provider, kind",
                         [(program, *one) for program, (_, others) in FEATURES.items() for one in others])
def test_over_others(program, provider, kind):
    # Without the providers that are of no use here, which take longer to load than most programs to run.
    environment = dict(os.environ, FI_PROVIDER=provider.replace(";", ","))
    source = [] if provider == "shm" else ["-a", "127.0.0.1"]
    check(program, pair(program, ["-p", provider, "-e", kind, *source], [environment] * 2))
