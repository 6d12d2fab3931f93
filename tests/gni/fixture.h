/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tests of the provider as programs see it: a simulated machine, a function that all its ranks
 * execute and that calls libfabric, and what nearly every such function begins and ends with.
 *
 * In ranks nothing of cmocka may be used (it jumps): EXPECT() and the functions below book a
 * failure (rank_fail) and return -1, which the rank's function hands on. gni_run() then fails the
 * test with all that was booked.
 */
#ifndef GNI_FIXTURE_H
#define GNI_FIXTURE_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>
#include "run/workload.h"

struct gni_machine {
    uint32_t ranks; /* 0: 1 */
    uint32_t per_node; /* 0: 1 */
    uint64_t seed; /* 0: 1 */
    const char *yaml; /* more of the scenario: "faults: ...\n"; NULL: nothing */
    const char *env; /* of the job: "{GNIX_X: 1}"; NULL: nothing */
    bool
        killed; /* ranks are killed: what matters is that none of the others finds anything wrong */
};
/* For `yaml`: the test breaks this rule of docs/findings.md on purpose. */
#define GNI_BREAKS(rule) "expect: [{findings: [" rule "]}]\n"
/* For `env`: results are those of libfabric's own provider gni where the man pages differ. */
#define GNI_NOT_STRICT "{GNIX_STRICT: \"0\"}"
/* Runs it; what went wrong fails the test. */
void gni_run(const struct gni_machine *machine, int (*body)(struct rank *rank));
/* The digest of the same run: equal for equal runs. */
uint64_t gni_digest(const struct gni_machine *machine, int (*body)(struct rank *rank));

#define EXPECT(condition)                                                            \
    do {                                                                             \
        if (!(condition))                                                            \
            return rank_fail(rank, "%s:%d: rank %u: not so: %s", __FILE__, __LINE__, \
                             rank_id(rank), #condition);                             \
    } while (0)
/* expected and got are numbers, such as -FI_EINVAL */
#define EXPECT_IS(got, expected)                                                               \
    do {                                                                                       \
        long long got_ = (long long)(got), expected_ = (long long)(expected);                  \
        if (got_ != expected_)                                                                 \
            return rank_fail(rank, "%s:%d: rank %u: %s is %lld, not %lld", __FILE__, __LINE__, \
                             rank_id(rank), #got, got_, expected_);                            \
    } while (0)
#define TRY(call)        \
    do {                 \
        if ((call) != 0) \
            return -1;   \
    } while (0)

/* What differs from: RDM; MSG, TAGGED, RMA, ATOMIC, SOURCE; API 1.17; table; one CQ of 256 entries
 * in TAGGED format for both directions; no wait object; THREAD_SAFE; automatic progress. */
struct gni_side;
struct gni_how {
    uint32_t version;
    enum fi_ep_type type;
    uint64_t caps; /* 0: as above */
    uint64_t mode, tx_op_flags, rx_op_flags, cq_bind_flags;
    enum fi_av_type av_type;
    enum fi_cq_format cq_format; /* UNSPEC: TAGGED */
    enum fi_wait_obj wait_obj;
    enum fi_threading threading;
    enum fi_progress control_progress, data_progress;
    uint64_t mr_mode; /* 0: VIRT_ADDR|ALLOCATED|PROV_KEY */
    uint32_t addr_format;
    size_t cq_size, tx_size, rx_size;
    bool two_cqs; /* one for each direction */
    bool manual; /* both kinds of progress */
    bool counters; /* one for each kind of event */
    bool not_enabled; /* stop before fi_enable */
    bool no_peers; /* no address is exchanged or inserted */
    int (*before_ep)(struct gni_side *side); /* domain options; NULL: nothing */
};

struct gni_side {
    struct rank *rank;
    uint32_t id, size;
    struct fi_info *hints, *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *tx_cq, *rx_cq; /* the same unless two_cqs */
    struct fid_av *av;
    struct fid_ep *ep;
    struct fid_cntr *cntr[6]; /* send, recv, write, read, remote write, remote read */
    fi_addr_t *peers; /* by rank */
};
enum { SENDS, RECEIVES, WRITES, READS, REMOTE_WRITES, REMOTE_READS };

int gni_open(struct gni_side *side, struct rank *rank, const struct gni_how *how);
int gni_close(struct gni_side *side); /* every fi_close must succeed */
int gni_finish(struct gni_side *side); /* waits for all ranks, then closes */
/* Further endpoints of the same domain: with CQ and AV of the side, enabled. */
int gni_endpoint(struct gni_side *side, struct fid_ep **ep);
/* Sends its address to all ranks; addresses[rank], inserted in the side's AV. */
int gni_exchange(struct gni_side *side, struct fid_ep *ep, fi_addr_t *addresses);

/* The next entry, however long it takes. 0; -1: an error entry (booked). */
int gni_entry(struct gni_side *side, struct fid_cq *cq, struct fi_cq_tagged_entry *entry);
int gni_entry_from(struct gni_side *side, struct fid_cq *cq, struct fi_cq_tagged_entry *entry,
                   fi_addr_t *source);
/* The next one is an error entry. */
int gni_error(struct gni_side *side, struct fid_cq *cq, struct fi_cq_err_entry *entry);
/* Nothing comes within so many microseconds of virtual time. */
int gni_silence(struct gni_side *side, struct fid_cq *cq, uint64_t us);
/* Repeats a call that returns -FI_EAGAIN, reading the CQs' progress (not their entries). */
#define gni_again(side, call)                    \
    ({                                           \
        ssize_t result_;                         \
        while ((result_ = (call)) == -FI_EAGAIN) \
            fi_cq_read((side)->tx_cq, NULL, 0);  \
        (int)result_;                            \
    })
/* Until the counter has that value. */
int gni_count(struct gni_side *side, struct fid_cntr *cntr, uint64_t value);

/*
 * The rank does something else for so long (ps), and lets its helpers and events go on, which
 * rank_compute() does not.
 */
void gni_pause(struct rank *rank, uint64_t ps);

/* Registered memory, and the address and key that each rank has of it. */
struct gni_memory {
    uint8_t *bytes;
    size_t size;
    struct fid_mr *mr;
    struct gni_place {
        uint64_t address, key;
    } * all; /* by rank */
};
int gni_memory_open(struct gni_side *side, struct gni_memory *memory, size_t size, uint64_t access);
int gni_memory_close(struct gni_side *side, struct gni_memory *memory);
/* Waits for all ranks, then closes both. */
int gni_finish_with(struct gni_side *side, struct gni_memory *memory);

void gni_fill(void *bytes, size_t size, uint64_t seed);
bool gni_filled(const void *bytes, size_t size, uint64_t seed);

#endif
