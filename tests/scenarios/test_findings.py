# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The example programs of docs/findings.md: a run of RULE-bad.c reports exactly that rule, a run of RULE-mended.c nothing."""

import json
import re
import subprocess

import pytest

import jacquard
from jacquard import runner

EXAMPLES = jacquard.ROOT / "docs" / "examples" / "findings"
RULES = sorted(path.name.removesuffix("-bad.c") for path in EXAMPLES.glob("*-bad.c"))

SCENARIO = """
name: findings
fabric: {{preset: mini2}}
limits: {{compute: 2s}}
jobs:
  - {{name: ring, program: {program}, nodes: 0-3}}
"""


def compile_program(source, program):
    include = [f"-I{folder}" for folder in (jacquard.ROOT / "sim/aries/include", jacquard.ROOT / "sim/lnet/include",
                                                 jacquard.ROOT / "workloads/include", EXAMPLES)]
    libraries = ["-lfabric"] if "rdm.h" in source.read_text() else []
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-DCRAY_CONFIG_GHAL_ARIES", "-shared", "-fPIC", *include,
                    source, "-o", program, *libraries], check=True)


def run_source(tmp_path, source, more="", options=()):
    program = tmp_path / f"{source.stem}.so"
    compile_program(source, program)
    scenario = tmp_path / "findings.yaml"
    scenario.write_text(SCENARIO.format(program=program) + more)
    ended = subprocess.run([runner.sim_run(), scenario, "--json", *options], stdout=subprocess.PIPE, text=True)
    return ended.returncode, json.loads(ended.stdout)


def run(tmp_path, name, more="", options=()):
    return run_source(tmp_path, EXAMPLES / f"{name}.c", more, options)


def run_body(tmp_path, body, more=""):
    """A program for the ring of ring.h with this body."""
    source = tmp_path / "body.c"
    source.write_text('#include "ring.h"\nstatic int program(struct rank *rank)\n{\n    struct ring ring;\n' + body + "}\nRING_PROGRAM(program)\n")
    return run_source(tmp_path, source, more)


@pytest.fixture(scope="module")
def listed():
    listing = subprocess.run([runner.sim_run(), "--list-rules", "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return {rule["name"]: rule["severity"] for rule in json.loads(listing.stdout)["rules"]}


@pytest.mark.parametrize("rule", RULES)
def test_bad_program_is_found(tmp_path, listed, rule):
    code, result = run(tmp_path, f"{rule}-bad")
    assert {name for name, part in result["findings"].items() if part["severity"] != "count" or name == rule} == {rule}
    assert code == (1 if listed[rule] == "error" else 0)


@pytest.mark.parametrize("rule", RULES)
def test_mended_program_is_clean(tmp_path, rule):
    code, result = run(tmp_path, f"{rule}-mended")
    assert code == 0 and result["ledger"]["balanced"]
    # The provider leaves the event by which it wakes its own threads.
    assert set(result["findings"]) <= ({"aries.event-unread"} if rule.startswith("libfabric.") else set())


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.c")), ids=lambda path: path.stem)
def test_example_is_short(path):
    assert len(path.read_text().splitlines()) <= 40


def test_every_rule_is_documented_and_has_programs(listed):
    page = (jacquard.ROOT / "docs" / "findings.md").read_text()
    assert re.findall(r"^\| `([a-z]+\.[a-z-]+)` \| (error|warning|count) \|", page, re.M) == list(listed.items())
    # The rules of LNet are about the stack itself and its settings.
    of_programs = [rule for rule in listed if not rule.startswith("lnet.")]
    assert RULES == sorted(of_programs)
    for rule in of_programs:
        assert f"[bad](examples/findings/{rule}-bad.c)" in page and f"[mended](examples/findings/{rule}-mended.c)" in page


def texts(result, rule):
    return [finding["text"] for finding in result["findings"][rule]["first"]]


def test_ring_that_never_reads_its_completions(tmp_path):
    code, result = run(tmp_path, "aries.completion-unread-bad")
    assert code == 1
    assert result["findings"]["aries.completion-unread"]["count"] == 4
    assert texts(result, "aries.completion-unread")[0] == "24 completions of posts to ring.1 were never read from queue 0"


def test_overwritten_source_of_a_put(tmp_path):
    code, result = run(tmp_path, "aries.source-changed-bad")
    assert code == 1
    assert re.fullmatch(r"changed bytes 128–135 of the source of PUT to ring\.1 \(4096 bytes\) between GNI_PostRdma "
                        r"\([0-9.]+ µs\) and the NIC's read \([0-9.]+ µs\)", texts(result, "aries.source-changed")[0])


def test_every_finding_names_rank_time_and_call(tmp_path):
    for rule in ("aries.race", "aries.completion-unread", "libfabric.completion-unread"):
        _, result = run(tmp_path, f"{rule}-bad")
        for finding in result["findings"][rule]["first"]:
            assert re.fullmatch(r"ring\.[0-3]", finding["rank"]) and finding["time_ps"] > 0 and finding["call"]


def test_changed_buffer_of_a_send(tmp_path):
    _, result = run(tmp_path, "libfabric.buffer-changed-bad")
    rule = "libfabric.buffer-changed"
    assert sorted(finding["rank"] for finding in result["findings"][rule]["first"]) == [f"ring.{rank}" for rank in range(4)]
    assert re.fullmatch(r"changed bytes 128–135 of the buffer of a send to ring\.[0-3] \(4096 bytes\) between the call "
                        r"\([0-9.]+ µs\) and its completion \([0-9.]+ µs\)", texts(result, rule)[0])


def test_a_scenario_allows_or_demands_a_finding(tmp_path):
    rule = "aries.source-changed"
    code, result = run(tmp_path, f"{rule}-bad", f"expect:\n  - findings: [{rule}]\n")
    assert code == 0 and result["findings"][rule]["allowed"] and result["findings"][rule]["count"] == 4
    code, _ = run(tmp_path, f"{rule}-bad", f"expect:\n  - {{finding: {rule}, equals: 4}}\n")
    assert code == 0
    code, _ = run(tmp_path, f"{rule}-mended", f"expect:\n  - {{finding: {rule}, equals: 4}}\n")
    assert code == 1


@pytest.mark.parametrize("rule", ["aries.source-changed", "aries.race", "aries.completion-unread", "libfabric.buffer-changed"])
def test_checks_can_be_off(tmp_path, rule):
    code, result = run(tmp_path, f"{rule}-bad", options=["--set", "checks=off"])
    assert code == 0 and result["findings"] == {}


# Ranks 1 and 2 use the same bytes of rank 0.
TWO_TRANSFERS = """
    gni_post_descriptor_t post;
    gni_ep_handle_t root;

    if (ring_open(&ring, rank) != 0)
        return -1;
    GNI_EpCreate(ring.nic, ring.cq, &root);
    GNI_EpBind(root, ring.all[0].nic, 0);
    post = ring_put(&ring, 0, %d);
    post.type = rank_id(rank) == 1 ? GNI_POST_%s : GNI_POST_%s;
    post.amo_cmd = GNI_FMA_ATOMIC_ADD;
    post.remote_addr = ring.all[0].address + MEMORY / 2;
    post.remote_mem_hndl = ring.all[0].memory;
    if (rank_id(rank) == 1 || rank_id(rank) == 2) {
        if ((post.type == GNI_POST_RDMA_PUT || post.type == GNI_POST_RDMA_GET ? GNI_PostRdma(root, &post) : GNI_PostFma(root, &post)) !=
            GNI_RC_SUCCESS)
            return rank_fail(rank, "no post");
        ring_wait(&ring);
    }
    return ring_close(&ring);
"""


@pytest.mark.parametrize("first, second, bytes_, races", [
    ("RDMA_PUT", "RDMA_PUT", 4096, True), ("RDMA_PUT", "RDMA_GET", 4096, True), ("FMA_PUT", "FMA_GET", 64, True),
    ("RDMA_GET", "RDMA_GET", 4096, False), ("AMO", "AMO", 8, False), ("AMO", "FMA_PUT", 8, True)])
def test_races(tmp_path, first, second, bytes_, races):
    code, result = run_body(tmp_path, TWO_TRANSFERS % (bytes_, first, second))
    assert code == 0
    assert set(result["findings"]) == ({"aries.race"} if races else set())
    if races:  # both initiators are named
        (finding,) = result["findings"]["aries.race"]["first"]
        other = {"ring.1": "ring.2", "ring.2": "ring.1"}[finding["rank"]]
        kinds = {"PUT": "PUT", "GET": "GET", "AMO": "atomic operation"}
        (mine, theirs) = (first, second) if finding["rank"] == "ring.1" else (second, first)
        assert re.match(rf"its {kinds[mine[-3:]]} and the {kinds[theirs[-3:]]} of {other} ", finding["text"])
        assert f"bytes 32768–{32768 + bytes_ - 1} of a registration of ring.0 on node 0" in finding["text"]


def test_post_in_flight_when_its_rank_ends(tmp_path):
    code, result = run_body(tmp_path, """
    gni_post_descriptor_t put;

    if (ring_open(&ring, rank) != 0)
        return -1;
    put = ring_put(&ring, MEMORY / 2, MEMORY / 2);
    rank_barrier(rank);
    GNI_PostRdma(ring.ep, &put);
    return 0;
""")
    assert code == 1
    assert "1 post to ring.1 was still in flight at the end of queue 0" in texts(result, "aries.completion-unread")


def test_mailbox_deregistered_under_a_message(tmp_path):
    # The message is lost, so it is in flight until its timeout.
    code, result = run_body(tmp_path, """
    uint32_t number = rank_id(rank);

    if (ring_open(&ring, rank) != 0 || ring_mailbox(&ring) != 0)
        return -1;
    if (number == 0)
        GNI_SmsgSend(ring.ep, &number, sizeof(number), NULL, 0, number);
    rank_barrier(rank);
    if (number == 1)
        GNI_MemDeregister(ring.nic, &ring.here.memory);
    if (number == 0)
        ring_event(&ring);
    return ring_close(&ring);
""", "faults:\n  - {label: loss, at: aries.packet, do: drop, kind: request, count: 1}\n")
    assert code == 1
    assert texts(result, "aries.mailbox-in-use") == ["deregistered the mailbox for messages of ring.0 while 1 of them was in flight"]


def test_queue_of_arrivals_destroyed_under_a_put(tmp_path):
    code, result = run_body(tmp_path, """
    gni_post_descriptor_t put;

    if (ring_open(&ring, rank) != 0 || ring_events(&ring) != 0)
        return -1;
    put = ring_put(&ring, MEMORY / 2, MEMORY / 2);
    put.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
    GNI_PostRdma(ring.ep, &put);
    GNI_CqDestroy(ring.events);
    ring_wait(&ring);
    return ring_close(&ring);
""")
    assert code == 1
    assert re.fullmatch(r"destroyed queue 1 while 0 posts, 0 messages and 1 transfer to registrations with this queue were in flight",
                        texts(result, "aries.queue-in-use")[0])
