/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One side of a MSG connection, and what tests of them begin and end with. */
#ifndef GNI_MSG_PARTY_H
#define GNI_MSG_PARTY_H

#include <stdio.h>
#include "fi/objects.h"
#include "fixture.h"

#define MS 1000000000ull /* in ps */
#define SERVICE "4711"

/* Rank 0 listens; all others are clients. */
struct party {
    struct rank *rank;
    enum fi_wait_obj wait_obj; /* of the EQ; set before party_open, as the next one */
    bool manual;
    struct fi_info *hints, *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_cq *cq;
    struct fid_pep *pep;
    struct fid_ep *ep;
};

static inline struct fi_info *msg_hints(bool manual)
{
    struct fi_info *hints = fi_allocinfo();
    enum fi_progress progress = manual ? FI_PROGRESS_MANUAL : FI_PROGRESS_AUTO;

    hints->domain_attr->control_progress = hints->domain_attr->data_progress = progress;
    hints->fabric_attr->prov_name = strdup("gni");
    hints->ep_attr->type = FI_EP_MSG;
    hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    return hints;
}

static inline int party_open(struct party *party, struct rank *rank)
{
    struct fi_eq_attr eq = {.wait_obj = party->wait_obj};
    char node[16];
    uint64_t flags = rank_id(rank) == 0 ? FI_SOURCE : 0;

    *party = (struct party){.rank = rank, .wait_obj = eq.wait_obj, .manual = party->manual};
    party->hints = msg_hints(party->manual);
    snprintf(node, sizeof(node), "nid%05u", rank_node_of(rank, 0));
    EXPECT_IS(fi_getinfo(FI_VERSION(1, 17), node, SERVICE, flags, party->hints, &party->info), 0);
    EXPECT_IS(fi_fabric(party->info->fabric_attr, &party->fabric, NULL), 0);
    EXPECT_IS(fi_eq_open(party->fabric, &eq, &party->eq, NULL), 0);
    if (rank_id(rank) == 0) {
        EXPECT_IS(fi_passive_ep(party->fabric, party->info, &party->pep, NULL), 0);
        EXPECT_IS(fi_listen(party->pep), -FI_ENOEQ);
        EXPECT_IS(fi_pep_bind(party->pep, &party->eq->fid, 0), 0);
        EXPECT_IS(fi_listen(party->pep), 0);
        EXPECT_IS(fi_listen(party->pep), -FI_EOPBADSTATE);
    }
    rank_barrier(rank);
    return 0;
}

static inline int party_close(struct party *party)
{
    struct fid *const first[] = {FI_OBJECT(party->ep), FI_OBJECT(party->cq),
                                 FI_OBJECT(party->domain)};
    struct fid *const last[] = {FI_OBJECT(party->pep), FI_OBJECT(party->eq),
                                FI_OBJECT(party->fabric)};
    struct rank *rank = party->rank;
    size_t failed;

    EXPECT_IS(fi_objects_close(first, 3, &failed), 0);
    rank_barrier(rank);
    EXPECT_IS(fi_objects_close(last, 3, &failed), 0);
    fi_freeinfo(party->info);
    fi_freeinfo(party->hints);
    return 0;
}

static inline int endpoint(struct party *party, struct fi_info *info)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED};
    struct rank *rank = party->rank;
    struct fi_objects objects;
    const char *call;

    if (party->domain == NULL)
        EXPECT_IS(fi_domain(party->fabric, info, &party->domain, NULL), 0);
    if (party->cq == NULL)
        EXPECT_IS(fi_cq_open(party->domain, &attr, &party->cq, NULL), 0);
    objects = (struct fi_objects){.domain = party->domain,
                                  .info = info,
                                  .tx_cq = party->cq,
                                  .rx_cq = party->cq,
                                  .eq = party->eq};
    EXPECT_IS(fi_objects_endpoint(&objects, &party->ep, &call), 0);
    EXPECT_IS(fi_enable(party->ep), 0);
    return 0;
}

struct event {
    uint32_t kind;
    size_t bytes; /* of data */
    union {
        struct fi_eq_cm_entry entry; /* ends with the data */
        uint8_t room[sizeof(struct fi_eq_cm_entry) + 300];
    } cm;
};

static inline int next_event(struct party *party, struct event *event)
{
    struct fi_eq_err_entry error = {0};
    ssize_t result = fi_eq_sread(party->eq, &event->kind, &event->cm, sizeof(event->cm), 60000, 0);

    if (result == -FI_EAVAIL) {
        fi_eq_readerr(party->eq, &error, 0);
        return rank_fail(party->rank, "rank %u: EQ error: %s", rank_id(party->rank),
                         fi_strerror(error.err));
    }
    if (result < (ssize_t)sizeof(event->cm.entry))
        return rank_fail(party->rank, "rank %u: fi_eq_sread: %zd", rank_id(party->rank), result);
    event->bytes = (size_t)result - sizeof(event->cm.entry);
    return 0;
}

static inline int next_error(struct party *party, struct fi_eq_err_entry *error)
{
    struct event event;
    ssize_t result = fi_eq_sread(party->eq, &event.kind, &event.cm, sizeof(event.cm), 60000, 0);

    memset(error, 0, sizeof(*error));
    if (result != -FI_EAVAIL)
        return rank_fail(party->rank, "rank %u: no EQ error: %zd", rank_id(party->rank), result);
    result = fi_eq_readerr(party->eq, error, 0);
    return result == sizeof(*error) ? 0 : rank_fail(party->rank, "fi_eq_readerr: %zd", result);
}

static inline int talk(struct party *party, uint64_t number, bool first)
{
    struct rank *rank = party->rank;
    struct fi_cq_tagged_entry entry;
    uint64_t in = 0;
    ssize_t result;
    int turn;

    for (turn = 0; turn < 2; turn++) {
        if ((turn == 0) == first) {
            EXPECT_IS(fi_send(party->ep, &number, 8, NULL, 0, NULL), 0);
        } else {
            EXPECT_IS(fi_recv(party->ep, &in, 8, NULL, 0, NULL), 0);
        }
        while ((result = fi_cq_read(party->cq, &entry, 1)) == -FI_EAGAIN)
            ;
        EXPECT_IS(result, 1);
    }
    EXPECT_IS(in, number);
    return 0;
}

#endif
