# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Programs that are linked with the system's libfabric, under an installed sim-run: they find our provider and no other."""

import json
import subprocess

import pytest
from jacquard.installed import Installed, command

# Every rank sends the square of its number to rank 0, which sleeps in poll(2) on its queue's descriptor.
COMMON = r"""
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call) do { int try_ = (int)(call); if (try_ < 0) return fail(#call, try_); } while (0)

static int fail(const char *what, int error)
{
    fprintf(stderr, "%s: %s\n", what, fi_strerror(-error));
    return 1;
}

struct end {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
};

static int open_end(struct end *end, void *name, size_t *bytes)
{
    struct fi_info *hints = fi_allocinfo(), *each;
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD};
    struct fi_av_attr av = {.type = FI_AV_TABLE};

    hints->caps = FI_MSG;
    hints->ep_attr->type = FI_EP_RDM;
    TRY(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &end->info));
    for (each = end->info; each != NULL; each = each->next) /* what libfabric builds on it, too */
        if (strncmp(each->fabric_attr->prov_name, "gni", 3) != 0)
            return fail(each->fabric_attr->prov_name, -FI_EOTHER);
    if (strcmp(end->info->fabric_attr->prov_name, "gni") != 0)
        return fail("the first provider", -FI_EOTHER);
    fi_freeinfo(hints);
    TRY(fi_fabric(end->info->fabric_attr, &end->fabric, NULL));
    TRY(fi_domain(end->fabric, end->info, &end->domain, NULL));
    TRY(fi_cq_open(end->domain, &cq, &end->cq, NULL));
    TRY(fi_av_open(end->domain, &av, &end->av, NULL));
    TRY(fi_endpoint(end->domain, end->info, &end->ep, NULL));
    TRY(fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV));
    TRY(fi_ep_bind(end->ep, &end->av->fid, 0));
    TRY(fi_enable(end->ep));
    return fi_getname(&end->ep->fid, name, bytes);
}

static int close_end(struct end *end)
{
    TRY(fi_close(&end->ep->fid));
    TRY(fi_close(&end->av->fid));
    TRY(fi_close(&end->cq->fid));
    TRY(fi_close(&end->domain->fid));
    TRY(fi_close(&end->fabric->fid));
    fi_freeinfo(end->info);
    return 0;
}

static int sleep_on(void *rank, struct pollfd *look_at);

static int wait_for(void *rank, struct fid_cq *cq, struct fid_fabric *fabric, struct fi_cq_data_entry *entry)
{
    struct fid *fids[] = {&cq->fid};
    struct pollfd look_at = {.events = POLLIN};
    ssize_t found;

    TRY(fi_control(&cq->fid, FI_GETWAIT, &look_at.fd));
    while ((found = fi_cq_read(cq, entry, 1)) == -FI_EAGAIN)
        if (fi_trywait(fabric, fids, 1) == 0 && sleep_on(rank, &look_at) < 0)
            return fail("poll", -FI_EIO);
    TRY(found);
    return 0;
}

static int work(struct end *end, int rank, int size, const void *names, void *self)
{
    struct fi_cq_data_entry entry;
    fi_addr_t to;
    unsigned long sum = 0, number = (unsigned long)rank * rank, expected = 0;
    int i;

    TRY(fi_av_insert(end->av, names, 1, &to, 0, NULL));
    for (i = 1; i < size; i++) {
        expected += (unsigned long)i * i;
        if (rank == 0) {
            TRY(fi_recv(end->ep, &number, sizeof(number), NULL, FI_ADDR_UNSPEC, NULL));
            if (wait_for(self, end->cq, end->fabric, &entry) != 0)
                return 1;
            sum += number;
        }
    }
    if (rank != 0) {
        TRY(fi_send(end->ep, &number, sizeof(number), NULL, to, NULL));
        return wait_for(self, end->cq, end->fabric, &entry);
    }
    if (sum != expected)
        return fail("the sum", -FI_EOTHER);
    fprintf(stderr, "the sum is %lu\n", sum);
    return 0;
}
"""

PROGRAM = COMMON + r"""
#include <pmi2.h>
#include <unistd.h>

static int sleep_on(void *rank, struct pollfd *look_at)
{
    (void)rank;
    return poll(look_at, 1, -1);
}

int main(void)
{
    int spawned, size, rank, appnum, length, i;
    char key[16], text[2 * FI_NAME_MAX + 1] = "", job[64];
    unsigned char name[FI_NAME_MAX];
    size_t bytes = sizeof(name);
    struct end end;

    if (PMI2_Init(&spawned, &size, &rank, &appnum) != 0 || open_end(&end, name, &bytes) != 0)
        return 1;
    for (i = 0; i < (int)bytes; i++)
        sprintf(text + 2 * i, "%02x", name[i]);
    sprintf(key, "name-%d", rank);
    PMI2_Job_GetId(job, sizeof(job));
    if (PMI2_KVS_Put(key, text) != 0 || PMI2_KVS_Fence() != 0 ||
        PMI2_KVS_Get(job, PMI2_ID_NULL, "name-0", text, sizeof(text), &length) != 0)
        return 1;
    for (i = 0; i < (int)bytes; i++)
        sscanf(text + 2 * i, "%2hhx", &name[i]);
    if (work(&end, rank, size, name, NULL) != 0 || PMI2_KVS_Fence() != 0 || close_end(&end) != 0)
        return 1;
    return PMI2_Finalize();
}
"""

WORKLOAD = COMMON + r"""
#include <run/workload.h>

static int sleep_on(void *rank, struct pollfd *look_at)
{
    return rank_poll(rank, look_at, 1, UINT64_MAX);
}

static int run(struct rank *rank)
{
    unsigned char name[FI_NAME_MAX];
    size_t bytes = sizeof(name);
    struct end end;
    const void *names;
    int status;

    if (open_end(&end, name, &bytes) != 0)
        return 1;
    names = rank_exchange(rank, name, bytes);
    status = work(&end, (int)rank_id(rank), (int)rank_size(rank), names, rank);
    rank_barrier(rank);
    return status != 0 ? status : close_end(&end);
}

static const struct workload square = {.name = "square", .meaning = "sums squares", .metrics = "", .main = run};
WORKLOAD(square)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("installed"))


def run(installed, folder, program, **job):
    scenario = {"fabric": {"preset": "mini2"},
                "jobs": [{"name": "squares", "nodes": "0-7", "ranks_per_node": 2, "program": program, **job}]}
    (folder / "scenario.yaml").write_text(json.dumps(scenario))
    done = subprocess.run([installed.sim_run, "scenario.yaml", "--json"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the sum is 1240" in done.stderr
    return json.loads(done.stdout)


def test_a_program_with_main(installed, tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    command(["gcc", "-O1", "program.c", "-o", "program", *installed.pkg_config("--cflags", "--libs", "cray-pmi"), "-lfabric"],
            cwd=tmp_path)
    first, second = (run(installed, tmp_path, "./program") for _ in range(2))
    assert first["digest"] == second["digest"]


def test_a_workload_as_shared_object(installed, tmp_path):
    (tmp_path / "square.c").write_text(WORKLOAD)
    command(["gcc", "-shared", "-fPIC", "square.c", "-o", "square.so", *installed.pkg_config("--cflags", "jacquard"), "-lfabric"],
            cwd=tmp_path)
    first, second = (run(installed, tmp_path, "./square.so") for _ in range(2))
    assert first["digest"] == second["digest"]
