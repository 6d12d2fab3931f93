# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""FI_GNI_…: each variable that `fi_info -e` lists for gni reaches the domains of an ordinary process, or is refused with a
warning, and the provider works with it."""

import re
import shutil
import subprocess

import jacquard
import pytest
from live import fabric, pair, report

PROGRAM = jacquard.build_directory() / "tests/domain_params"
# Another value than the default.
OTHER = {
    "MSG_RENDEZVOUS_THRESHOLD": "1000", "RMA_RDMA_THRESHOLD": "100", "CONN_TABLE_INITIAL_SIZE": "16", "CONN_TABLE_MAX_SIZE": "4096",
    "CONN_TABLE_STEP_SIZE": "4", "VC_ID_TABLE_CAPACITY": "16", "MBOX_PAGE_SIZE": "65536", "MBOX_NUM_PER_SLAB": "16",
    "MBOX_MAX_CREDIT": "16", "MBOX_MSG_MAX_SIZE": "8192", "RX_CQ_SIZE": "1024", "TX_CQ_SIZE": "256", "MAX_RETRANSMITS": "3",
    "ERR_INJECT_COUNT": "1", "MR_CACHE_LAZY_DEREG": "0", "MR_CACHE": "none", "MR_SOFT_REG_LIMIT": "64", "MR_HARD_REG_LIMIT": "100000",
    "MR_HARD_STALE_REG_LIMIT": "16", "DGRAM_PROGRESS_TIMEOUT": "50", "EAGER_AUTO_PROGRESS": "1",
}
# What the provider cannot do; the default is the only value.
REFUSED = {"MR_UDREG_REG_LIMIT": "100", "XPMEM_ENABLE": "1"}
IMPOSSIBLE = {"MSG_RENDEZVOUS_THRESHOLD": "4294967296", "MBOX_MAX_CREDIT": "0", "TX_CQ_SIZE": "0", "MR_CACHE": "udreg"}


def domain(environment, **more):
    """The values of a domain, and what the provider has logged."""
    done = subprocess.run([PROGRAM], env=dict(environment, FI_LOG_LEVEL="warn", FI_LOG_PROV="gni", **more), text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines()), done.stderr


@pytest.fixture(scope="module")
def process():
    with fabric() as environment:
        yield environment


@pytest.fixture(scope="module")
def defaults(process):
    values, said = domain(process)
    assert "not possible" not in said
    return values


@pytest.fixture(scope="module")
def listed(process):
    program = shutil.which("fi_info")
    if program is None:
        pytest.skip("fi_info is not installed")
    said = subprocess.run([program, "-e"], env=process, text=True, capture_output=True, timeout=60, check=True).stdout
    return set(re.findall(r"^# FI_GNI_(\w+): ", said, re.MULTILINE))


def test_fi_info_lists_what_a_domain_has(defaults, listed):
    more = {"MAX_NICS", "STRICT"}
    assert listed == {*defaults, *more} == {*OTHER, *REFUSED, *more}


@pytest.mark.parametrize("prefix", ["FI_GNI_", "GNIX_"])
@pytest.mark.parametrize("name", OTHER)
def test_a_value_reaches_the_domain(process, defaults, name, prefix):
    assert defaults[name] != OTHER[name]
    values, said = domain(process, **{prefix + name: OTHER[name]})
    assert values == {**defaults, name: OTHER[name]} and "not possible" not in said


def test_gnix_takes_precedence(process):
    values, _ = domain(process, GNIX_MAX_RETRANSMITS="7", FI_GNI_MAX_RETRANSMITS="8")
    assert values["MAX_RETRANSMITS"] == "7"


@pytest.mark.parametrize("name, value", [*REFUSED.items(), *IMPOSSIBLE.items(), ("RX_CQ_SIZE", "many")])
def test_what_is_not_possible_is_refused(process, defaults, name, value):
    """The domain keeps the default, and the log names the variable."""
    values, said = domain(process, **{f"FI_GNI_{name}": value})
    assert values == defaults
    assert f"FI_GNI_{name}" in said, said


@pytest.mark.parametrize("value, refused", [("2", False), ("0", True), ("65536", True), ("many", True)])
def test_number_of_nics(value, refused):
    results = both_sides("multi_ep", FI_GNI_MAX_NICS=value, FI_LOG_LEVEL="warn", FI_LOG_PROV="gni")
    assert [code for code, _ in results] == [0, 0], report("multi_ep", results)
    assert all(("FI_GNI_MAX_NICS" in output) == refused for _, output in results), report("multi_ep", results)


def both_sides(program, **more):
    with fabric() as environment:
        return pair(program, ["-p", "gni", "-x"], [dict(environment, **more)] * 2)


@pytest.mark.parametrize("program", ["pingpong", "tagged", "rma", "atomic", "stress"])
def test_programs_work_with_other_values(program):
    others = {f"FI_GNI_{name}": value for name, value in OTHER.items() if name != "ERR_INJECT_COUNT"}
    results = both_sides(program, **others)
    assert [code for code, _ in results] == [0, 0], report(program, results)


def test_injected_failures_are_repeated_as_often_as_allowed():
    """A write is repeated, up to MAX_RETRANSMITS attempts; an atomic operation is not."""
    results = both_sides("rma", FI_GNI_ERR_INJECT_COUNT="1")
    assert [code for code, _ in results] == [0, 0], report("rma", results)
    for program, more in (("rma", {"FI_GNI_MAX_RETRANSMITS": "1"}), ("atomic", {})):
        results = both_sides(program, FI_GNI_ERR_INJECT_COUNT="1", **more)
        assert 1 in [code for code, _ in results] and "its GNI transaction failed" in report(program, results), report(program, results)
