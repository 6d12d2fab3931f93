/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every rank takes 5,000 samples a second and sends them to rank 0, which adds them up. */
#include <pmi2.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <unistd.h>

enum { SAMPLES = 500, RECEIVES = 256 };

static int rank, size;
static struct fid_ep *ep;
static struct fid_cq *cq;

#define CHECK(call) check((int)(call), #call)
static void check(int result, const char *call)
{
    if (result >= 0)
        return;
    fprintf(stderr, "rank %d: %s: %s\n", rank, call, fi_strerror(-result));
    PMI2_Abort(1, call);
}

static fi_addr_t open_endpoint(void)
{
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_CONTEXT};
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fi_av_attr av_attr = {0};
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    char name[128];
    size_t length = sizeof(name);
    fi_addr_t collector;
    int found;

    hints->caps = FI_MSG;
    hints->ep_attr->type = FI_EP_RDM;
    hints->addr_format = FI_ADDR_STR;
    hints->tx_attr->size = 64;
    CHECK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
    CHECK(fi_fabric(info->fabric_attr, &fabric, NULL));
    CHECK(fi_domain(fabric, info, &domain, NULL));
    CHECK(fi_endpoint(domain, info, &ep, NULL));
    CHECK(fi_cq_open(domain, &cq_attr, &cq, NULL));
    CHECK(fi_av_open(domain, &av_attr, &av, NULL));
    CHECK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
    CHECK(fi_ep_bind(ep, &av->fid, 0));
    CHECK(fi_enable(ep));
    CHECK(fi_getname(&ep->fid, name, &length));
    if (rank == 0)
        PMI2_KVS_Put("collector", name);
    PMI2_KVS_Fence();
    PMI2_KVS_Get(NULL, 0, "collector", name, sizeof(name), &found);
    CHECK(fi_av_insert(av, name, 1, &collector, 0, NULL));
    return collector;
}

static void measure(fi_addr_t collector)
{
    uint64_t i, sample;
    ssize_t result;

    for (i = 0; i < SAMPLES; i++) {
        usleep(200);
        sample = (uint64_t)rank * i;
        while ((result = fi_inject(ep, &sample, sizeof(sample), collector)) == -FI_EAGAIN)
            fi_cq_read(cq, NULL, 0); /* no room: let transfers end */
        CHECK(result);
    }
}

static void collect(void)
{
    uint64_t inbox[RECEIVES], sum = 0, *sample;
    struct fi_cq_entry entry;
    int i;

    for (i = 0; i < RECEIVES; i++)
        CHECK(fi_recv(ep, &inbox[i], sizeof(inbox[i]), NULL, FI_ADDR_UNSPEC, &inbox[i]));
    for (i = 0; i < SAMPLES * (size - 1); i++) {
        while (fi_cq_read(cq, &entry, 1) == -FI_EAGAIN)
            ;
        sample = entry.op_context;
        sum += *sample;
        CHECK(fi_recv(ep, sample, sizeof(*sample), NULL, FI_ADDR_UNSPEC, sample));
    }
    printf("%d samples, their sum is %llu\n", i, (unsigned long long)sum);
}

int main(void)
{
    int spawned, appnum;
    fi_addr_t collector;

    PMI2_Init(&spawned, &size, &rank, &appnum);
    collector = open_endpoint();
    if (rank == 0)
        collect();
    else
        measure(collector);
    PMI2_KVS_Fence();
    return PMI2_Finalize();
}
