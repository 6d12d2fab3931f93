/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How connections come about, and how endpoints end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <malloc.h>
#include "ctx.h"
#include "domain.h"
#include "ep.h"
#include "fixture.h"
#include "full.h"
#include "gnip.h"
#include "vc.h"

static const struct gni_how plain = {0};
#define US 1000000ull /* in ps */

static const struct gnip_counts *counts(const struct gni_side *side)
{
    return &gnip_container(side->domain, struct gnip_domain, fid)->ctx->counts;
}

static int say(struct gni_side *side, uint32_t peer, uint64_t what)
{
    struct rank *rank = side->rank;

    EXPECT_IS(gni_again(side, fi_inject(side->ep, &what, 8, side->peers[peer])), 0);
    return 0;
}

static int receive_word(struct gni_side *side, uint64_t what)
{
    struct rank *rank = side->rank;
    struct fi_cq_tagged_entry entry;
    uint64_t word = ~what;

    EXPECT_IS(fi_recv(side->ep, &word, 8, NULL, FI_ADDR_UNSPEC, &word), 0);
    TRY(gni_entry(side, side->rx_cq, &entry));
    EXPECT_IS(word, what);
    return 0;
}

/* ---- request and response, crossing requests ------------------------------------------------- */

static int one_way_body(struct rank *rank)
{
    struct gni_side side;

    TRY(gni_open(&side, rank, &plain));
    TRY(side.id == 0 ? say(&side, 1, 5) : receive_word(&side, 5));
    TRY(side.id == 1 ? say(&side, 0, 6) : receive_word(&side, 6));
    EXPECT_IS(counts(&side)->conn_req, side.id == 0);
    EXPECT_IS(counts(&side)->conn_resp, side.id == 1);
    EXPECT_IS(gnip_ep_of(side.ep)->vc_count, 1); /* which has one mailbox */
    return gni_finish(&side);
}

static void gni_48_request_and_response(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, one_way_body);
    gni_run(&(struct gni_machine){.ranks = 2, .per_node = 2}, one_way_body);
}

/* At the same time, and with all small differences in time. */
static int simultaneous_body(struct rank *rank)
{
    struct gni_side side;
    uint32_t other = 1 - rank_id(rank);

    TRY(gni_open(&side, rank, &plain));
    rank_barrier(rank);
    if (rank_random(rank) % 3 != 0)
        gni_pause(rank, rank_random(rank) % (2 * US));
    TRY(say(&side, other, side.id));
    TRY(receive_word(&side, other));
    EXPECT(counts(&side)->conn_req + counts(&side)->conn_resp == 1);
    return gni_finish(&side);
}

/* Exactly at once: two requests, no response. */
static int at_once_body(struct rank *rank)
{
    struct gni_side side;

    TRY(gni_open(&side, rank, &plain));
    rank_barrier(rank);
    TRY(say(&side, 1 - side.id, side.id));
    TRY(receive_word(&side, 1 - side.id));
    EXPECT(counts(&side)->conn_req == 1 && counts(&side)->conn_resp == 0);
    return gni_finish(&side);
}

static void gni_49_simultaneous_connect(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= (uint64_t)test_seeds(20, 20); seed++)
        gni_run(&(struct gni_machine){.ranks = 2, .seed = seed}, at_once_body);
    for (seed = 1; seed <= (uint64_t)test_seeds(40, 40); seed++)
        gni_run(&(struct gni_machine){.ranks = 2, .seed = seed}, simultaneous_body);
}

/* ---- before the peer is ready ---------------------------------------------------------------- */

/* The name is known before the endpoint is enabled, and before its AV knows anybody. */
static int early_body(struct rank *rank)
{
    struct gni_how how = {.not_enabled = true, .no_peers = true};
    struct gni_side side;

    TRY(gni_open(&side, rank, &how));
    TRY(gni_exchange(&side, side.ep, side.peers));
    if (side.id == 1)
        gni_pause(rank, 5000 * US);
    EXPECT_IS(fi_enable(side.ep), 0);
    TRY(side.id == 0 ? say(&side, 1, 3) : receive_word(&side, 3));
    return gni_finish(&side);
}

/* The endpoint is closed when the request comes: what was sent ends with an error. */
static int gone_body(struct rank *rank)
{
    struct fi_cq_err_entry error;
    struct fid_ep *second;
    struct gni_side side;
    fi_addr_t addresses[2];
    uint64_t word = 1;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_endpoint(&side, &second));
    TRY(gni_exchange(&side, second, addresses));
    if (side.id == 1)
        EXPECT_IS(fi_close(&second->fid), 0);
    rank_barrier(rank);
    if (side.id == 0) {
        EXPECT_IS(gni_again(&side, fi_send(side.ep, &word, 8, NULL, addresses[1], &word)), 0);
        TRY(gni_error(&side, side.tx_cq, &error));
        EXPECT(error.err == FI_ENOTCONN && error.op_context == &word);
        EXPECT_IS(fi_close(&second->fid), 0);
        TRY(say(&side, 1, 9)); /* others go on */
    } else {
        TRY(receive_word(&side, 9));
    }
    return gni_finish(&side);
}

static void gni_50_early(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, early_body);
    gni_run(&(struct gni_machine){.ranks = 2}, gone_body);
}

/* ---- many ------------------------------------------------------------------------------------ */

/* Each rank sends to all others; each message is counted. */
static int all_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    uint64_t *words = calloc(rank_size(rank), 8), sum = 0;
    struct gni_side side;
    uint32_t i;

    TRY(gni_open(&side, rank, &plain));
    for (i = 0; i < side.size; i++)
        EXPECT_IS(fi_recv(side.ep, &words[i], 8, NULL, FI_ADDR_UNSPEC, &words[i]), 0);
    for (i = 0; i < side.size; i++)
        TRY(say(&side, (side.id + i) % side.size, side.id + 1));
    for (i = 0; i < side.size; i++) {
        TRY(gni_entry(&side, side.rx_cq, &entry));
        sum += *(uint64_t *)entry.op_context;
    }
    EXPECT_IS(sum, (uint64_t)side.size * (side.size + 1) / 2);
    free(words);
    return gni_finish(&side);
}

/* All to rank 0, which answers each. */
static int star_body(struct rank *rank)
{
    struct gni_how how = {.rx_size = 1024};
    struct fi_cq_tagged_entry entry;
    uint64_t *words = calloc(rank_size(rank), 8);
    struct gni_side side;
    uint32_t i;

    TRY(gni_open(&side, rank, &how));
    if (side.id > 0) {
        TRY(say(&side, 0, side.id));
        TRY(receive_word(&side, 1000 + side.id));
    } else {
        for (i = 1; i < side.size; i++)
            EXPECT_IS(fi_recv(side.ep, &words[i], 8, NULL, FI_ADDR_UNSPEC, &words[i]), 0);
        for (i = 1; i < side.size; i++) {
            TRY(gni_entry(&side, side.rx_cq, &entry));
            TRY(say(&side, (uint32_t) * (uint64_t *)entry.op_context,
                    1000 + *(uint64_t *)entry.op_context));
        }
    }
    free(words);
    return gni_finish(&side);
}

/* All to rank 0 and rank 0 to all, at the same time. */
static int to_and_from_body(struct rank *rank)
{
    struct gni_how how = {.rx_size = 1024, .tx_size = 1024};
    struct fi_cq_tagged_entry entry;
    uint64_t *words = calloc(rank_size(rank), 8), sum = 0;
    struct gni_side side;
    uint32_t i;

    TRY(gni_open(&side, rank, &how));
    rank_barrier(rank);
    if (side.id > 0) {
        TRY(say(&side, 0, side.id));
        TRY(receive_word(&side, 1000 + side.id));
    } else {
        for (i = 1; i < side.size; i++)
            EXPECT_IS(fi_recv(side.ep, &words[i], 8, NULL, FI_ADDR_UNSPEC, &words[i]), 0);
        for (i = side.size - 1; i > 0; i--)
            TRY(say(&side, i, 1000 + i));
        for (i = 1; i < side.size; i++) {
            TRY(gni_entry(&side, side.rx_cq, &entry));
            sum += *(uint64_t *)entry.op_context;
        }
        EXPECT_IS(sum, (uint64_t)side.size * (side.size - 1) / 2);
    }
    free(words);
    return gni_finish(&side);
}

static void gni_51_many_peers(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 257, .per_node = 8}, to_and_from_body);
    gni_run(&(struct gni_machine){.ranks = 257, .per_node = 8}, star_body);
    gni_run(&(struct gni_machine){.ranks = 32, .per_node = 2}, all_body);
}

static void gni_54_one_mailbox_per_slab(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 1001,
                                  .per_node = 8,
                                  .env = "{GNIX_MBOX_NUM_PER_SLAB: \"1\"}"},
            star_body);
}

/* Three endpoints of one process to the same peer. */
static int three_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    struct fid_ep *ep[3];
    struct gni_side side;
    uint64_t words[3], i;

    TRY(gni_open(&side, rank, &plain));
    for (i = 0; i < 3; i++)
        TRY(gni_endpoint(&side, &ep[i]));
    if (side.id == 1)
        for (i = 0; i < 3; i++)
            EXPECT_IS(fi_recv(side.ep, &words[i], 8, NULL, FI_ADDR_UNSPEC, &words[i]), 0);
    rank_barrier(rank);
    for (i = 0; i < 3; i++) {
        if (side.id == 0)
            EXPECT_IS(gni_again(&side, fi_inject(ep[i], &i, 8, side.peers[1])), 0);
        else
            TRY(gni_entry(&side, side.rx_cq, &entry));
    }
    rank_barrier(rank);
    for (i = 0; i < 3; i++)
        EXPECT_IS(fi_close(&ep[i]->fid), 0);
    return gni_finish(&side);
}

static void gni_52_three_endpoints(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, three_body);
}

/* ---- closing --------------------------------------------------------------------------------- */

/* With receives posted, sends queued and writes in flight. */
static int close_body(struct rank *rank)
{
    struct gni_memory memory;
    struct gni_side side;
    uint64_t words[64];
    int i;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_memory_open(&side, &memory, 1 << 20, FI_REMOTE_WRITE | FI_WRITE));
    if (side.id == 0) {
        for (i = 0; i < 64; i++)
            EXPECT_IS(fi_recv(side.ep, &words[i], 8, NULL, FI_ADDR_UNSPEC, &words[i]), 0);
        for (i = 0; i < 8; i++)
            EXPECT_IS(gni_again(&side, fi_write(side.ep, memory.bytes, 1 << 16, NULL, side.peers[1],
                                                memory.all[1].address, memory.all[1].key, &memory)),
                      0);
        for (i = 0; i < 32; i++)
            EXPECT_IS(gni_again(&side, fi_send(side.ep, words, 8, NULL, side.peers[1], words)), 0);
        EXPECT_IS(fi_close(&side.ep->fid), 0);
        side.ep = NULL;
        TRY(gni_silence(&side, side.tx_cq, 1000));
    }
    rank_barrier(rank);
    TRY(gni_memory_close(&side, &memory));
    return gni_close(&side);
}

static void gni_44_close_in_flight(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2, .yaml = GNI_BREAKS("libfabric.completion-dropped")},
            close_body);
}

/* Rank 0 closes its endpoint and opens it under the same name, while both have sent. The ids that
 * the closed endpoint's connections had do not come again soon. */
static int same_name_body(struct rank *rank)
{
    enum { ROUNDS = 50 };
    char name[64];
    size_t bytes = sizeof(name);
    uint32_t ids[ROUNDS + 1] = {0}, i, j;
    struct gni_side side;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_getname(&side.ep->fid, name, &bytes), 0);
    for (i = 0; i <= ROUNDS; i++) {
        TRY(side.id == 0 ? say(&side, 1, i) : receive_word(&side, i));
        TRY(side.id == 1 ? say(&side, 0, i) : receive_word(&side, i));
        if (side.id == 0) {
            const struct gnip_ep *ep = gnip_ep_of(side.ep);

            EXPECT_IS(ep->vc_count, 1);
            ids[i] = gnip_container(ep->vcs.next, struct gnip_vc, ep_link)->id;
            EXPECT(ids[i] != 0);
            for (j = 0; j < i; j++)
                EXPECT(ids[j] != ids[i]);
            if (i < ROUNDS) {
                EXPECT_IS(fi_close(&side.ep->fid), 0);
                EXPECT_IS(fi_endpoint(side.domain, side.info, &side.ep, NULL), 0);
                EXPECT_IS(fi_setname(&side.ep->fid, name, bytes), 0);
                EXPECT_IS(fi_ep_bind(side.ep, &side.tx_cq->fid, FI_TRANSMIT | FI_RECV), 0);
                EXPECT_IS(fi_ep_bind(side.ep, &side.av->fid, 0), 0);
                EXPECT_IS(fi_enable(side.ep), 0);
            }
        }
        rank_barrier(rank);
    }
    /* the peer has one connection to that name, and was asked for each */
    if (side.id == 1) {
        EXPECT_IS(gnip_ep_of(side.ep)->vc_count, 1);
        EXPECT_IS(counts(&side)->conn_resp, ROUNDS + 1);
    }
    return gni_finish(&side);
}

static void gni_45_closed_and_opened_again(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, same_name_body);
    gni_run(&(struct gni_machine){.ranks = 2, .per_node = 2}, same_name_body);
}

/* What the process has: memory and descriptors; both ranks are in it. */
struct holdings {
    size_t bytes;
    int descriptors;
    uint32_t registrations, queues;
};

static uint8_t reopen_ptag;

static int holdings_of(struct rank *rank, struct holdings *held)
{
    const struct dirent *entry;
    gni_job_res_desc_t mdd, cq;
    DIR *folder = opendir("/proc/self/fd");

    EXPECT(folder != NULL);
    held->descriptors = 0;
    while ((entry = readdir(folder)) != NULL)
        held->descriptors++;
    closedir(folder);
    held->bytes = mallinfo2().uordblks;
    EXPECT_IS(GNI_GetJobResInfo(0, reopen_ptag, GNI_JOB_RES_MDD, &mdd), GNI_RC_SUCCESS);
    EXPECT_IS(GNI_GetJobResInfo(0, reopen_ptag, GNI_JOB_RES_CQ, &cq), GNI_RC_SUCCESS);
    held->registrations = mdd.used;
    held->queues = cq.used;
    return 0;
}

/*
 * Everything is opened, used and closed again and again; after the first rounds nothing grows but
 * tables of the simulator, which double. What the ranks leave behind in their heaps is for the leak
 * sanitizer to find.
 */
static int reopen_body(struct rank *rank)
{
    enum { ROUNDS = 1000, WARM = 100, SLACK = 128 << 10 };
    struct holdings first = {0}, last;
    uint64_t i;
    struct gni_memory memory;
    struct gni_side side;

    for (i = 0; i < ROUNDS; i++) {
        TRY(gni_open(&side, rank, &plain));
        reopen_ptag = gnip_container(side.domain, struct gnip_domain, fid)->auth->ptag;
        TRY(gni_memory_open(&side, &memory, 8192, FI_REMOTE_WRITE | FI_WRITE));
        TRY(side.id == 0 ? say(&side, 1, i) : receive_word(&side, i));
        TRY(side.id == 1 ? say(&side, 0, i) : receive_word(&side, i));
        rank_barrier(rank);
        TRY(gni_memory_close(&side, &memory));
        TRY(gni_close(&side));
        rank_barrier(rank);
        if (i == WARM)
            TRY(holdings_of(rank, &first));
        rank_barrier(rank);
    }
    TRY(holdings_of(rank, &last));
    EXPECT_IS(last.descriptors, first.descriptors);
    EXPECT_IS(last.registrations, first.registrations);
    EXPECT_IS(last.queues, first.queues);
    EXPECT(last.bytes <= first.bytes + SLACK);
    return 0;
}

static void gni_23_gni_157_reopen(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, reopen_body);
}

/* Two fabrics of one process. */
static int two_fabrics_body(struct rank *rank)
{
    struct gni_side first, second;

    TRY(gni_open(&first, rank, &plain));
    TRY(gni_open(&second, rank, &plain));
    TRY(first.id == 0 ? say(&first, 1, 1) : receive_word(&first, 1));
    TRY(first.id == 0 ? say(&second, 1, 2) : receive_word(&second, 2));
    TRY(gni_finish(&first));
    TRY(second.id == 0 ? say(&second, 1, 3) : receive_word(&second, 3));
    return gni_finish(&second);
}

static void gni_23_two_fabrics(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, two_fabrics_body);
}

/* Runs are the same again, and nothing depends on addresses. */
static void gni_152_digest(void **state)
{
    const struct gni_machine machine = {.ranks = 16, .per_node = 2};
    uint64_t first = gni_digest(&machine, all_body);

    (void)state;
    assert_true(first != 0);
    free(malloc(100000)); /* the heap is not the same */
    assert_int_equal(first, gni_digest(&machine, all_body));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_48_request_and_response),
        cmocka_unit_test(gni_49_simultaneous_connect),
        cmocka_unit_test(gni_50_early),
        cmocka_unit_test(gni_51_many_peers),
        cmocka_unit_test(gni_54_one_mailbox_per_slab),
        cmocka_unit_test(gni_52_three_endpoints),
        cmocka_unit_test(gni_44_close_in_flight),
        cmocka_unit_test(gni_45_closed_and_opened_again),
        cmocka_unit_test(gni_23_gni_157_reopen),
        cmocka_unit_test(gni_23_two_fabrics),
        cmocka_unit_test(gni_152_digest),
    };

    return cmocka_run_group_tests_name("connections", tests, NULL, NULL);
}
