# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""jacquard top on a job of pmrun: ranks in order, where they are, what they wait for; who only watches is not counted."""

import json
import subprocess

import jacquard
import pytest
from fabric import BUILD, PMRUN, environment, run, wait_for

JACQUARD = BUILD / "bin/jacquard"

SOURCE = r"""
#include <gni_pub.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static gni_post_descriptor_t posts[8];
    int i, ok, rank = atoi(getenv("PMI_RANK"));
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t cq;
    gni_mem_handle_t memory;
    gni_ep_handle_t ep;
    unsigned address;
    void *bytes = aligned_alloc(4096, 4096);

    ok = GNI_CdmCreate(9 + rank, 16, 0x4a510001, 0, &cdm) == 0 && GNI_CdmAttach(cdm, 0, &address, &nic) == 0 &&
         GNI_CqCreate(nic, 500, 0, 0, NULL, NULL, &cq) == 0 && GNI_EpCreate(nic, cq, &ep) == 0 && GNI_EpBind(ep, address, 9 + rank) == 0 &&
         GNI_MemRegister(nic, (unsigned long)bytes, 4096, NULL, GNI_MEM_READWRITE, -1, &memory) == 0;
    for (i = 0; ok && i <= rank; i++) { /* rank N leaves N + 1 events unread */
        posts[i] = (gni_post_descriptor_t){.type = GNI_POST_FMA_PUT, .cq_mode = GNI_CQMODE_GLOBAL_EVENT, .length = 64,
            .local_addr = (unsigned long)bytes, .remote_addr = (unsigned long)bytes + 2048, .remote_mem_hndl = memory};
        ok = GNI_PostFma(ep, &posts[i]) == 0;
    }
    puts(ok ? "hangs" : "failed");
    fflush(stdout);
    for (;;)
        __asm__ volatile("");
}
"""


@pytest.fixture
def job(tmp_path):
    """Three ranks on two nodes; its socket, from what pmrun says."""
    (tmp_path / "hang.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", tmp_path / "hang.c", "-o", tmp_path / "hang", f"-I{jacquard.ROOT}/sim/aries/include",
                    "-DCRAY_CONFIG_GHAL_ARIES", f"-L{BUILD}/lib", "-lugni"], check=True)
    with open(tmp_path / "said", "w") as said:
        process = subprocess.Popen([PMRUN, "--fabric", "--verbose", "--ppn", "2", "-n", "3", tmp_path / "hang"], env=environment(),
                                   stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        wait_for(lambda: (tmp_path / "said").read_text().count("hangs") == 3)
        [line] = [line for line in (tmp_path / "said").read_text().splitlines() if "jacquard top" in line]
        yield line.split()[-1]
    finally:
        process.terminate()
        process.wait()


def top(socket):
    done = run(JACQUARD, "top", "--once", "--json", socket)
    assert done.returncode == 0 and done.stderr == "", done
    return json.loads(done.stdout)


def test_ranks_in_order_with_nodes_progress_and_unread_events(job):
    def all_posted():
        found = top(job)
        return found if [process.get("unread") for process in found["processes"]] == [1, 2, 3] else None

    first = wait_for(all_posted)
    assert first["schema"] == 1 and first["fabric"] == job and first["observers"] == 0
    assert [(process["rank"], process["node"], process["command"]) for process in first["processes"]] == [(0, 0, "hang"), (1, 0, "hang"), (2, 1, "hang")]
    assert [process["transactions"] for process in first["processes"]] == [1, 2, 3]
    # The figures are renewed, but nothing happens any more.
    before = [process["progress_s"] for process in first["processes"]]
    later = wait_for(lambda: (now := top(job))["up_s"] > first["up_s"] + 1 and now)
    for old, process in zip(before, later["processes"]):
        assert process["progress_s"] > old and process["age_s"] < process["progress_s"]
    rows = run(JACQUARD, "top", "--once", job).stdout.splitlines()
    assert [row.split()[1:3] for row in rows[2:]] == [["0", "nid00000"], ["1", "nid00000"], ["2", "nid00001"]]


def test_who_watches_is_not_counted(job):
    with subprocess.Popen([JACQUARD, "top", "--json", "--interval", "0.1", job], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as other:
        assert len(json.loads(other.stdout.readline())["processes"]) == 3
        found = wait_for(lambda: (now := top(job))["observers"] == 1 and now)
        assert len(found["processes"]) == 3
        other.kill()


def test_watching_ends_with_the_fabric_and_is_not_in_its_report(tmp_path):
    go, report = tmp_path / "go", tmp_path / "report"
    (tmp_path / "hang.c").write_text(SOURCE.replace("for (;;)", f'while (fopen("{go}", "r") == NULL)'))
    subprocess.run(["gcc", "-O1", tmp_path / "hang.c", "-o", tmp_path / "hang", f"-I{jacquard.ROOT}/sim/aries/include",
                    "-DCRAY_CONFIG_GHAL_ARIES", f"-L{BUILD}/lib", "-lugni"], check=True)
    with open(tmp_path / "said", "w") as said:
        process = subprocess.Popen([PMRUN, "--fabric", "--verbose", "--fabric-report", report, "-n", "2", tmp_path / "hang"], env=environment(),
                                   stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    watchers = []
    try:
        wait_for(lambda: (tmp_path / "said").read_text().count("hangs") == 2)
        [line] = [line for line in (tmp_path / "said").read_text().splitlines() if "jacquard top" in line]
        watchers = [subprocess.Popen([JACQUARD, "top", "--interval", "0.1", *form, line.split()[-1]], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for form in ([], ["--json"])]
        first = [watcher.stdout.readline() for watcher in watchers]
        assert "2 processes" in first[0] and len(json.loads(first[1])["processes"]) == 2
        go.touch()
        for watcher in watchers:
            assert watcher.communicate(timeout=60)[1] == "" and watcher.returncode == 0
        assert process.wait(timeout=60) == 0
    finally:
        process.terminate()
        process.wait()
        for watcher in watchers:
            watcher.kill()
            watcher.wait()
    assert report.read_text().startswith("fabric: 2 processes on 2 of 16 nodes\n")
