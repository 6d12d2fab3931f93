# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""JACQUARD_TRACE: each process on a live fabric writes a trace as sim-run does, in time of the fabric, and all of them together
are one trace."""

import re
import subprocess
import sys
import time

import jacquard
import pytest
from fabric import PMRUN, environment, run, wait_for
from fabric import fabric as running_fabric
from live import fabric, pair, report

sys.path.insert(0, str(jacquard.ROOT / "tests/unit"))
import trace_check

READER = jacquard.build_directory() / "tests/trace_sample"


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    return trace_check.compile_schema(jacquard.ROOT / "sim/engine/perfetto_trace.proto", tmp_path_factory.mktemp("schema"))


class Trace:
    """A trace, checked by Perfetto's rules: times do not go back on a track, all slices end, and so on."""

    def __init__(self, schema, path):
        self.summary, checker = trace_check.check(schema, READER, path)
        self.lines, self.found = set(), []  # (track, name, kind, time, value, flow)
        data, names = schema.Trace(), checker.event_names
        data.ParseFromString(path.read_bytes())
        for packet in data.packet:
            event = packet.track_event
            if not packet.HasField("track_event") or event.type not in (trace_check.BEGIN, trace_check.INSTANT):
                continue
            track = checker.tracks[event.track_uuid]
            self.lines.add(checker.tracks[track.parent_uuid].name)
            value = event.debug_annotations[0]
            self.found.append((track.name.split(" #")[0], names[packet.trusted_packet_sequence_id][event.name_iid], event.type,
                               packet.timestamp, value.string_value or value.uint_value, event.flow_ids[0] if event.flow_ids else 0))

    def of(self, track, name):
        return [event for event in self.found if re.fullmatch(track, event[0]) and event[1] == name]


def files(folder, pattern):
    return sorted(folder.glob(pattern), key=lambda path: path.name)


def test_two_processes(schema, tmp_path):
    with fabric() as base:
        places = [dict(base, JACQUARD_NODE=node, JACQUARD_TRACE=str(tmp_path / "node%n.%p")) for node in ("3", "5")]
        began = time.monotonic_ns()
        results = pair("rma", ["-p", "gni", "-x"], places)
        lasted = time.monotonic_ns() - began
    assert [code for code, _ in results] == [0, 0], report("rma", results)
    paths = [*files(tmp_path, "node3.*"), *files(tmp_path, "node5.*")]
    assert len(paths) == len(files(tmp_path, "*")) == 2
    for node, path in zip((3, 5), paths):
        trace = Trace(schema, path)
        assert trace.lines == {f"node {node}, rma {path.name.split('.')[1]}"}
        assert trace.of("SMSG", "send") and trace.of("SMSG", "receive") and trace.of("datagram", "completed")
        assert trace.of(r"CQ \d+", "event") and trace.of("FMA", "datagram") and trace.of("RX", "datagram")
        assert {event[4] for event in trace.of("RX", "complete")} == {"OKAY"}  # no transaction failed
        # A transaction completes where it began, later.
        for track, name, _, when, _, flow in trace.of("FMA|BTE 0", "put"):
            assert flow == 0 or [end for end in trace.of("RX", "complete") if end[5] == flow and end[3] >= when], (track, name, when)
        # Since the fabric began: it did so with the first of the two.
        assert 0 < trace.summary["first"] <= trace.summary["last"] < lasted, trace.summary
    whole = tmp_path / "whole"
    whole.write_bytes(b"".join(path.read_bytes() for path in paths))
    trace = Trace(schema, whole)
    assert len(trace.lines) == 2
    for name in ("GNI_PostFma", "GNI_PostRdma"):
        assert trace.of(r"rma \(API\)", name)
    for unit, name, arrival in ("FMA", "put", "land"), ("FMA", "get", "read"), ("BTE 0", "put", "land"):
        assert trace.of(unit, name) and trace.of("RX", arrival)
    # What leaves one process arrives in the other one, after it left.
    arrivals = {event[5]: event[3] for event in trace.of("RX", "land")}
    in_flight = [event for event in trace.of("FMA|BTE 0", "put") if event[5] in arrivals]
    assert len(in_flight) > 10 and all(event[3] <= arrivals[event[5]] for event in in_flight)


def test_the_trace_shows_help_with_a_transfer(schema, tmp_path):
    """A target copies what another process began to transfer from its offset on: share.c asks for that, in each direction."""
    size = 4 << 20
    done = run(jacquard.build_directory() / "tests/live_share", env=environment(LIVE_TEST="live_helps_as_target", JACQUARD_TRACE=str(tmp_path / "node%n.%p")))
    assert done.returncode == 0, done.stdout + done.stderr
    helps = [event[4] for path in tmp_path.iterdir() for event in Trace(schema, path).of("RX", "help")]
    assert helps == [size - begun for begun in (0, 1, 4096, size // 2, size - 1)] * 2


# What several kinds of ends have in common: transactions with itself, the last of which fails, and a child that does the same.
ACTS = r"""
    #include <gni_pub.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>

    static int act(void)
    {
        static gni_post_descriptor_t posts[4];
        gni_cdm_handle_t cdm;
        gni_nic_handle_t nic;
        gni_cq_handle_t cq;
        gni_mem_handle_t memory;
        gni_ep_handle_t ep;
        gni_cq_entry_t event;
        unsigned address, i;
        void *bytes = aligned_alloc(4096, 4096);

        if (GNI_CdmCreate(getpid(), 16, 0x4a510001, GNI_CDM_MODE_ERR_NO_KILL, &cdm) || GNI_CdmAttach(cdm, 0, &address, &nic) ||
            GNI_CqCreate(nic, 500, 0, GNI_CQ_BLOCKING, NULL, NULL, &cq) || GNI_EpCreate(nic, cq, &ep) || GNI_EpBind(ep, address, getpid()) ||
            GNI_MemRegister(nic, (unsigned long)bytes, 4096, NULL, GNI_MEM_READWRITE, -1, &memory))
            return 1;
        for (i = 0; i < 4; i++) {
            posts[i] = (gni_post_descriptor_t){.type = GNI_POST_FMA_PUT, .cq_mode = GNI_CQMODE_GLOBAL_EVENT, .length = 64,
                                               .local_addr = (unsigned long)bytes, .remote_mem_hndl = memory,
                                               .remote_addr = (unsigned long)bytes + (i < 3 ? 2048 : 8192)};
            if (GNI_PostFma(ep, &posts[i]) || GNI_CqWaitEvent(cq, 20000, &event) == GNI_RC_TIMEOUT)
                return 2;
        }
        return 0;
    }

    int main(int argc, char **argv)
    {
        int failed = act(), status = 0;
        pid_t child = fork();

        if (child == 0)
            return act();
        waitpid(child, &status, 0);
        puts(failed || status ? "failed" : "done");
        fflush(stdout);
        if (argc > 1)
            pause();
        return failed || status;
    }
"""


@pytest.fixture(scope="module")
def acts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "acts.c").write_text(ACTS)
    build = jacquard.build_directory()
    subprocess.run(["gcc", "-O1", f"-I{jacquard.ROOT}/sim/aries/include", "-DCRAY_CONFIG_GHAL_ARIES", folder / "acts.c", "-o", folder / "acts",
                    f"-L{build}/lib", "-lugni", f"-Wl,-rpath,{build}/lib"], check=True)
    return folder / "acts"


def check_acts(trace):
    assert len(trace.of(r"acts \(API\)", "GNI_PostFma")) == len(trace.of("FMA", "put")) == 4
    assert [event[4] != "OKAY" for event in trace.of("RX", "complete")] == [False] * 3 + [True]
    assert [event[4] for event in trace.of("FMA", "put")] == [64] * 4


def test_each_process_has_a_file(schema, acts, tmp_path):
    done = run(PMRUN, "--fabric", "--fabric-report", "none", "-n", 2, acts, env=environment(JACQUARD_TRACE=str(tmp_path / "100%-%r")))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\ndone\n", "")
    for rank in "01":
        found = files(tmp_path, f"100%-{rank}.*")
        assert len(found) == 2  # it and its child
        for path in found:
            check_acts(Trace(schema, path))
    assert len(files(tmp_path, "*")) == 4


def all_acts_are_in(schema, path):
    """While it is being written it may end anywhere."""
    try:
        check_acts(Trace(schema, path))
    except Exception:  # whatever a reader makes of half a packet
        return False
    return True


def test_a_killed_process_leaves_its_trace(schema, acts, tmp_path):
    with running_fabric() as running:
        job = subprocess.Popen([acts, "pause"], env=environment(**running.exports, JACQUARD_TRACE=str(tmp_path / "trace")), text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        path = tmp_path / f"trace.{job.pid}"
        try:
            assert job.stdout.readline() == "done\n"
            wait_for(lambda: all_acts_are_in(schema, path))
        finally:
            job.kill()
            job.wait()
    check_acts(Trace(schema, path))


def test_faults_have_a_line(schema, acts, tmp_path):
    (tmp_path / "lossy.yaml").write_text("fabric: {topology: dragonfly, preset: xc-2-groups}\n"
                                         "faults:\n  - {at: aries.packet, do: drop, probability: 1}\n")
    done = run(PMRUN, "--fabric", tmp_path / "lossy.yaml", "-n", 1, acts, env=environment(JACQUARD_TRACE=str(tmp_path / "trace-%p")))
    assert done.returncode == 0, done.stderr
    found = files(tmp_path, "trace-*")
    assert len(found) == 2  # a forked child joins anew, with rules of its own
    for path in found:
        trace, pid = Trace(schema, path), path.name.split("-")[1]
        assert len(trace.of("node 0", "lost")) == 4 and f"faults, acts {pid}" in trace.lines
        assert all(event[4] != "OKAY" for event in trace.of("RX", "complete"))


def test_a_file_that_cannot_be_written(acts):
    done = run(PMRUN, "--fabric", "--fabric-report", "none", "-n", 1, acts, env=environment(JACQUARD_TRACE="/nosuch/trace"))
    assert done.returncode == 0 and done.stdout == "done\n"
    assert re.fullmatch(r"(libugni: cannot write /nosuch/trace\.\d+: No such file or directory\n){2}", done.stderr), done.stderr
