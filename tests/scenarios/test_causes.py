# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Programs with mistakes: the first lines of the report name the cause, not the last symptom."""

import json
import subprocess

import jacquard
import pytest
from jacquard import trace

COMMON = r"""
#include <stdlib.h>
#include <string.h>
#include <gni_pub.h>
#include <run/workload.h>

struct place { gni_smsg_attr_t mailbox; uint32_t nic; };
struct side {
    struct rank *rank;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t sent, received;
    gni_ep_handle_t peer[16];
};

static int open_side(struct side *side, struct rank *rank)
{
    uint32_t count = rank_size(rank), me = rank_id(rank), i, bytes;
    gni_smsg_attr_t mine = {.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, .mbox_maxcredit = 4, .msg_maxsize = 256};
    struct place here = {.nic = 0}, *all = calloc(count, sizeof(*all));
    gni_mem_handle_t memory;
    char *boxes;

    memset(side, 0, sizeof(*side));
    side->rank = rank;
    GNI_CdmCreate(me, rank_ptag(rank), rank_cookie(rank), GNI_CDM_MODE_ERR_NO_KILL, &side->cdm);
    GNI_CdmAttach(side->cdm, 0, &here.nic, &side->nic);
    GNI_CqCreate(side->nic, 256, 0, GNI_CQ_NOBLOCK, NULL, NULL, &side->sent);
    GNI_CqCreate(side->nic, 256, 0, GNI_CQ_NOBLOCK, NULL, NULL, &side->received);
    GNI_SmsgBufferSizeNeeded(&mine, &bytes);
    boxes = calloc(count, bytes);
    if (GNI_MemRegister(side->nic, (uint64_t)(uintptr_t)boxes, (uint64_t)count * bytes, side->received,
                        GNI_MEM_READWRITE, (uint32_t)-1, &memory) != GNI_RC_SUCCESS)
        return rank_fail(rank, "no memory");
    mine.msg_buffer = boxes;
    mine.buff_size = bytes;
    mine.mem_hndl = memory;
    here.mailbox = mine;
    rank_allgather(rank, &here, all, sizeof(here));
    for (i = 0; i < count; i++) {
        gni_smsg_attr_t theirs = all[i].mailbox;

        if (i == me)
            continue;
        mine.mbox_offset = i * bytes;
        theirs.mbox_offset = me * bytes;
        GNI_EpCreate(side->nic, side->sent, &side->peer[i]);
        GNI_EpBind(side->peer[i], all[i].nic, i);
        if (GNI_SmsgInit(side->peer[i], &mine, &theirs) != GNI_RC_SUCCESS)
            return rank_fail(rank, "no mailbox");
    }
    rank_barrier(rank);
    return 0;
}

static int send_to(struct side *side, uint32_t to, uint64_t value)
{
    gni_cq_entry_t event;
    gni_return_t status;

    while ((status = GNI_SmsgSend(side->peer[to], NULL, 0, &value, sizeof(value), 1)) == GNI_RC_NOT_DONE)
        GNI_CqGetEvent(side->sent, &event);
    return status == GNI_RC_SUCCESS ? 0 : rank_fail(side->rank, "send: %s", gni_err_str[status]);
}

static int receive_from(struct side *side, uint32_t from, uint64_t *value)
{
    gni_cq_entry_t event;
    gni_return_t status;
    void *message;

    while ((status = GNI_SmsgGetNext(side->peer[from], &message)) == GNI_RC_NOT_DONE)
        GNI_CqGetEvent(side->sent, &event);
    if (status != GNI_RC_SUCCESS)
        return rank_fail(side->rank, "receive: %s", gni_err_str[status]);
    memcpy(value, message, sizeof(*value));
    GNI_SmsgRelease(side->peer[from]);
    return 0;
}

static int *table[4];
static inline void store(uint64_t value)
{
    *table[value & 3] = 1;
}

static int body(struct rank *rank)
{
    uint32_t count = rank_size(rank), me = rank_id(rank), round;
    struct side side;
    uint64_t value;

    if (open_side(&side, rank) != 0)
        return 1;
    BODY
    return 0;
}

static const struct workload mistake = {.name = "mistake", .meaning = "-", .metrics = "", .ranks_min = 2, .main = body};
WORKLOAD(mistake)
"""
# A ring; the mistake of rank 3 comes in round 20.
RING = """
    for (round = 0; round < 50; round++) {
        if (send_to(&side, (me + 1) %% count, round) != 0 || receive_from(&side, (me + count - 1) %% count, &value) != 0)
            return 1;
        if (me == 3 && round == 20)
            %s;
    }
    rank_barrier(rank);
"""
# Two ranks receive before they send.
CROSSED = """
    (void)round;
    (void)count;
    if (me < 2 && (receive_from(&side, 1 - me, &value) != 0 || send_to(&side, 1 - me, 1) != 0))
        return 1;
    rank_barrier(rank);
"""


@pytest.fixture
def run(tmp_path):
    def run_body(body, code, *options):
        (tmp_path / "mistake.c").write_text(COMMON.replace("BODY", body))
        subprocess.run(["gcc", "-g", "-O2", "-shared", "-fPIC", f"-I{jacquard.ROOT}/sim/aries/include",
                        f"-I{jacquard.ROOT}/workloads/include", tmp_path / "mistake.c", "-o", tmp_path / "mistake.so"],
                       check=True)
        (tmp_path / "mistake.yaml").write_text(
            "fabric: {preset: mini2}\nlimits: {compute: 500ms}\n"
            "jobs: [{name: app, program: mistake.so, nodes: 0-24/4}]\n")
        done = subprocess.run([jacquard.runner.sim_run(), tmp_path / "mistake.yaml", *map(str, options)],
                              capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run_body


def story_of(screen):
    """The lines of what happened, which are the first ones after the name of the scenario."""
    lines = screen.splitlines()
    assert lines[3] == "what happened", screen
    return lines[4:lines.index("", 4)]


def test_a_crash_in_a_ring_is_the_first_line_and_the_end_of_the_chain(run):
    lines = story_of(run(RING % "store(value)", 1))
    # store() was compiled into body(): the report names it all the same.
    assert lines[0].startswith("  1. app.3 was killed at ") and "SIGSEGV, an address near NULL, in store at mistake.c:" in lines[0]
    assert lines[1].startswith("  2. after that ") and "more ranks failed, first app.2: " in lines[1]
    assert lines[2].startswith("  3. wait-for chain: app.0 waits for a message, peer app.6 on node 24")
    end = lines.index(next(line for line in lines if line.startswith("      → app.3, which was killed: SIGSEGV")))
    assert lines[end - 1].startswith("      → app.4 waits for a message")


def test_the_trace_of_a_crash_has_its_reason_and_what_the_others_wait_for_until_the_end(run, tmp_path):
    run(RING % "store(value)", 1, "--trace", tmp_path / "run.pftrace")
    events = trace.read(tmp_path / "run.pftrace")
    killed, = (event for event in events if event.name == "killed")
    assert killed.track.startswith("app.3 (API)") and "SIGSEGV" in killed.arguments["reason"]
    last = max((event for event in events if event.track.startswith("app.4 (API)")), key=lambda event: event.time)
    assert last.name == "idle" and last.arguments["waits for"] in ("a message", "completion queue")
    assert last.time + last.duration == max(event.time + (event.duration or 0) for event in events)


def test_ranks_that_wait_for_each_other_are_called_a_cycle(run):
    lines = story_of(run(CROSSED, 3))
    assert lines[0].startswith("  1. wait-for chain: app.2 (and 4 more) waits for the barrier of job app")
    assert lines[1:4] == ["      → app.0 waits for a message, peer app.1 on node 4",
                          "      → app.1 waits for a message, peer app.0 on node 0",
                          "      → app.0 again: each waits for the other"]


def test_an_exit_code_is_a_failure_with_its_time(run):
    lines = story_of(run(RING % "return 7", 3))
    assert lines[0].startswith("  1. app.3 failed at ") and lines[0].endswith(" us: exit code 7")


def test_what_many_ranks_have_in_common_is_one_problem(run):
    screen = run("(void)round; (void)count; (void)value;\n    return rank_fail(rank, \"the same\");", 1)
    assert screen.count("the same (and 6 more ranks)") == 1
    assert sum("job app: rank" in line for line in screen.splitlines()) == 1


def test_a_rule_broken_before_a_failure_comes_before_it(run):
    """Rank 0 changes the source of a PUT that is under way; rank 1 fails, because it got something else."""
    body = """
    uint64_t *box = calloc(1, 1 << 16), *data = calloc(1, 1 << 16);
    struct { uint64_t address; gni_mem_handle_t memory; } here, all[16];
    gni_mem_handle_t own;
    gni_post_descriptor_t put, *done;
    gni_cq_entry_t event;

    (void)value;
    (void)round;
    here.address = (uint64_t)(uintptr_t)box;
    GNI_MemRegister(side.nic, here.address, 1 << 16, NULL, GNI_MEM_READWRITE, (uint32_t)-1, &here.memory);
    rank_allgather(rank, &here, all, sizeof(here));
    GNI_MemRegister(side.nic, (uint64_t)(uintptr_t)data, 1 << 16, NULL, GNI_MEM_READWRITE, (uint32_t)-1, &own);
    rank_barrier(rank);
    if (me == 0) {
        put = (gni_post_descriptor_t){.type = GNI_POST_RDMA_PUT, .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
            .local_addr = (uint64_t)(uintptr_t)data, .local_mem_hndl = own, .remote_addr = all[1].address,
            .remote_mem_hndl = all[1].memory, .length = 1 << 16};
        GNI_PostRdma(side.peer[1], &put);
        data[8000] = 1;
        while (GNI_CqGetEvent(side.sent, &event) == GNI_RC_NOT_DONE)
            ;
        GNI_GetCompleted(side.sent, event, &done);
    }
    rank_barrier(rank);
    (void)count;
    if (me == 1 && box[8000] != 0)
        return rank_fail(rank, "word 8000 is not 0");
"""
    lines = story_of(run(body, 1))
    assert lines[0].startswith("  1. aries.source-changed at ") and "app.0: " in lines[0]
    assert lines[1].startswith("  2. app.1 failed at ") and lines[1].endswith("word 8000 is not 0")


PROVIDER = r"""
#include <pmi2.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_TAGGED, .size = 64};
    struct fi_av_attr vector = {.type = FI_AV_TABLE};
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_ep *ep;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fi_cq_tagged_entry entry;
    int spawned, size, rank, app, length, got;
    char name[128], text[300], data[64] = "";
    size_t bytes = sizeof(name), i;
    fi_addr_t peer;

    PMI2_Init(&spawned, &size, &rank, &app);
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_TAGGED;
    hints->fabric_attr->prov_name = strdup("gni");
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    if (fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &info) != 0)
        return 1;
    fi_fabric(info->fabric_attr, &fabric, NULL);
    fi_domain(fabric, info, &domain, NULL);
    fi_endpoint(domain, info, &ep, NULL);
    fi_av_open(domain, &vector, &av, NULL);
    fi_cq_open(domain, &queue, &cq, NULL);
    fi_ep_bind(ep, &av->fid, 0);
    fi_ep_bind(ep, &cq->fid, FI_SEND | FI_RECV);
    fi_enable(ep);
    fi_getname(&ep->fid, name, &bytes);
    for (i = 0; i < bytes; i++)
        sprintf(text + 2 * i, "%02x", (unsigned char)name[i]);
    PMI2_KVS_Put(rank == 0 ? "a0" : "a1", text);
    PMI2_KVS_Fence();
    PMI2_KVS_Get(NULL, -1, rank == 0 ? "a1" : "a0", text, sizeof(text), &length);
    for (i = 0; i < bytes; i++)
        sscanf(text + 2 * i, "%2hhx", (unsigned char *)&name[i]);
    fi_av_insert(av, name, 1, &peer, 0, NULL);
    fi_tsend(ep, data, sizeof(data), NULL, peer, 1, NULL);
    fi_trecv(ep, rank == 1 ? (void *)64 : data, sizeof(data), NULL, FI_ADDR_UNSPEC, 1, 0, NULL);
    for (got = 0; got < 2;)
        got += fi_cq_read(cq, &entry, 1) == 1;
    PMI2_Finalize();
    return 0;
}
"""


def test_a_crash_in_the_provider_shows_its_functions_and_those_of_the_program(tmp_path):
    (tmp_path / "bad.c").write_text(PROVIDER)
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", f"-I{jacquard.ROOT}/stack/pmi2/include", tmp_path / "bad.c", "-o",
                    tmp_path / "bad.so", "-lfabric"], check=True)
    (tmp_path / "bad.yaml").write_text("fabric: {preset: mini2}\njobs: [{name: app, program: bad.so, nodes: '0,4'}]\n")
    done = subprocess.run([jacquard.runner.sim_run(), tmp_path / "bad.yaml", "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    crash, = json.loads(done.stdout)["crashes"]
    functions = [frame.split()[0] for frame in crash["backtrace"]]
    assert crash["rank"] == "app.1" and "SIGSEGV, an address near NULL, in gnip_" in crash["text"]
    assert "gnip_nic_progress" in functions and functions[-1] == "main" and "at bad.c:" in crash["backtrace"][-1]


def hang(tmp_path, program):
    """The result of the program on two nodes, which ends by deadlock or without progress."""
    (tmp_path / "bad.c").write_text(program)
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", f"-I{jacquard.ROOT}/stack/pmi2/include", tmp_path / "bad.c", "-o",
                    tmp_path / "bad.so", "-lfabric"], check=True)
    (tmp_path / "bad.yaml").write_text("fabric: {preset: mini2}\njobs: [{name: app, program: bad.so, nodes: '0,4'}]\n"
                                       "limits: {no_progress: 100ms}\n")
    done = subprocess.run([jacquard.runner.sim_run(), tmp_path / "bad.yaml", "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_hang_of_a_libfabric_program_names_the_message_that_did_not_come(tmp_path):
    """Rank 1 waits for tag 2, but rank 0 sends tag 1. Rank 0 has what it wants and waits for rank 1 in PMI2_Finalize."""
    good = PROVIDER.replace("(void *)64", "(void *)data").replace("caps = FI_TAGGED", "caps = FI_TAGGED | FI_DIRECTED_RECV")
    result = hang(tmp_path, good.replace("FI_ADDR_UNSPEC, 1,", "peer, rank == 1 ? 2 : 1,"))
    waits = {waiter["ranks"][0]: waiter["waits_for"] for waiter in result["waiters"]}
    assert waits["app.1"].startswith("a message with tag 0x2, peer app.0 (1 came that it does not match, the first with tag 0x1); "
                                     "it polls"), waits
    chain, = [line for line in result["story"] if "wait-for chain" in line]
    assert "app.1 waits for a message with tag 0x2, peer app.0" in chain and "app.0" in chain, chain


def test_a_hang_of_a_libfabric_program_names_one_of_several_receives(tmp_path):
    good = PROVIDER.replace("(void *)64", "(void *)data")
    result = hang(tmp_path, good.replace("got < 2", "got < (rank == 1 ? 4 : 2)").replace(
        "for (got", "if (rank == 1) { fi_trecv(ep, data, 8, NULL, FI_ADDR_UNSPEC, 7, 0, NULL); "
                    "fi_trecv(ep, data, 8, NULL, FI_ADDR_UNSPEC, 8, 0, NULL); }\n    for (got"))
    waits = {waiter["ranks"][0]: waiter["waits_for"] for waiter in result["waiters"]}
    assert waits["app.1"].startswith("a message with tag 0x7 of any peer, first of 2 receives; it polls"), waits


def test_a_trace_has_the_arguments_of_libfabric_calls(tmp_path):
    """Bytes, peer and tag of sends and receives."""
    good = PROVIDER.replace("(void *)64", "(void *)data")
    (tmp_path / "good.c").write_text(good)
    subprocess.run(["gcc", "-g", "-O1", "-w", "-shared", "-fPIC", f"-I{jacquard.ROOT}/stack/pmi2/include", tmp_path / "good.c", "-o",
                    tmp_path / "good.so", "-lfabric"], check=True)
    (tmp_path / "good.yaml").write_text("fabric: {preset: mini2}\njobs: [{name: app, program: good.so, nodes: '0,4'}]\n")
    subprocess.run([jacquard.runner.sim_run(), tmp_path / "good.yaml", "--quiet", "--trace", tmp_path / "t.pftrace"], check=True)
    shown = subprocess.run([jacquard.build_directory() / "bin/jacquard", "trace", "show", tmp_path / "t.pftrace", "--rank", "0"],
                           capture_output=True, text=True, check=True).stdout
    calls = [line.split("  ")[-1] for line in shown.splitlines() if " fi_t" in line and "idle" not in line]
    assert any("fi_tsend" in call and call.endswith("bytes=64 peer=0 tag=1") for call in calls), calls
    assert any("fi_trecv" in call and call.endswith("bytes=64 peer=any tag=1") for call in calls), calls
