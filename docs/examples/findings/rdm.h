/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the examples of libfabric's rules have in common: a ring of ranks with RDM endpoints. */
#ifndef RDM_H
#define RDM_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <run/workload.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 64 * 1024 };

struct place { /* what another rank needs to reach this one */
    uint8_t name[64];
    uint64_t address, key;
};

struct rdm {
    struct rank *rank;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct fid_mr *target; /* the second half of the memory, open to all */
    struct place here, *all, right;
    fi_addr_t *addresses, to_right;
    uint8_t *bytes; /* MEMORY bytes */
};

static int rdm_open_objects(struct rdm *rdm)
{
    struct fi_info *hints = fi_allocinfo();
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT};
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    int bad = 0;

    hints->caps = FI_MSG | FI_RMA;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    bad |= fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &rdm->info);
    fi_freeinfo(hints);
    if (bad)
        return bad;
    bad |= fi_fabric(rdm->info->fabric_attr, &rdm->fabric, NULL);
    bad |= bad ? bad : fi_domain(rdm->fabric, rdm->info, &rdm->domain, NULL);
    bad |= bad ? bad : fi_cq_open(rdm->domain, &cq, &rdm->cq, NULL);
    bad |= bad ? bad : fi_av_open(rdm->domain, &av, &rdm->av, NULL);
    bad |= bad ? bad : fi_endpoint(rdm->domain, rdm->info, &rdm->ep, NULL);
    bad |= bad ? bad : fi_ep_bind(rdm->ep, &rdm->cq->fid, FI_TRANSMIT | FI_RECV);
    bad |= bad ? bad : fi_ep_bind(rdm->ep, &rdm->av->fid, 0);
    return bad ? bad : fi_enable(rdm->ep);
}

static int rdm_open(struct rdm *rdm, struct rank *rank)
{
    uint32_t size = rank_size(rank), i;
    size_t bytes = sizeof(rdm->here.name);

    *rdm = (struct rdm){.rank = rank,
                        .all = calloc(size, sizeof(struct place)),
                        .addresses = calloc(size, sizeof(fi_addr_t)),
                        .bytes = calloc(1, MEMORY)};
    if (rdm_open_objects(rdm) != 0 || fi_getname(&rdm->ep->fid, rdm->here.name, &bytes) != 0 ||
        fi_mr_reg(rdm->domain, rdm->bytes + MEMORY / 2, MEMORY / 2, FI_REMOTE_WRITE, 0, 0, 0,
                  &rdm->target, NULL) != 0)
        return rank_fail(rank, "the endpoint could not be opened");
    rdm->here.address = (uint64_t)(uintptr_t)rdm->bytes + MEMORY / 2;
    rdm->here.key = fi_mr_key(rdm->target);
    rank_allgather(rank, &rdm->here, rdm->all, sizeof(rdm->here));
    for (i = 0; i < size; i++)
        fi_av_insert(rdm->av, rdm->all[i].name, 1, &rdm->addresses[i], 0, NULL);
    rdm->right = rdm->all[(rank_id(rank) + 1) % size];
    rdm->to_right = rdm->addresses[(rank_id(rank) + 1) % size];
    return 0;
}

/* Reads so many completions. */
static inline int rdm_wait(struct rdm *rdm, unsigned count)
{
    struct fi_cq_entry entry;
    ssize_t got;

    while (count > 0) {
        got = fi_cq_read(rdm->cq, &entry, 1);
        if (got == 1)
            count--;
        else if (got != -FI_EAGAIN)
            return rank_fail(rdm->rank, "an operation has failed");
    }
    return 0;
}

static int rdm_close(struct rdm *rdm)
{
    rank_barrier(rdm->rank);
    fi_close(&rdm->target->fid);
    fi_close(&rdm->ep->fid);
    fi_close(&rdm->cq->fid);
    fi_close(&rdm->av->fid);
    fi_close(&rdm->domain->fid);
    fi_close(&rdm->fabric->fid);
    fi_freeinfo(rdm->info);
    free(rdm->bytes);
    free(rdm->addresses);
    free(rdm->all);
    return 0;
}

static const struct workload_arg rdm_arguments[] = {{.name = NULL}};
#define RDM_PROGRAM(main_function)                                                 \
    static const struct workload rdm_program = {.name = "ring",                    \
                                                .meaning = "an example of a rule", \
                                                .metrics = "none",                 \
                                                .args = rdm_arguments,             \
                                                .ranks_min = 2,                    \
                                                .main = main_function};            \
    WORKLOAD(rdm_program)

#endif
