/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* MSG endpoints: connections that are asked for, accepted or rejected, and shut down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "msg_party.h"

/* ---- handshake ------------------------------------------------------------------------------- */

static int handshake_body(struct rank *rank)
{
    static const size_t lengths[] = {0, 1, 98, 99, 100, 198, 256};
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};
    struct event event;
    uint8_t data[257];
    size_t i;

    TRY(party_open(&party, rank));
    for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        gni_fill(data, lengths[i], i + rank_id(rank));
        if (rank_id(rank) == 1) {
            TRY(endpoint(&party, party.info));
            EXPECT_IS(fi_send(party.ep, data, 1, NULL, 0, NULL), -FI_ENOTCONN);
            EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, data, 257), -FI_EINVAL);
            EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, NULL, 5), -FI_EINVAL);
            EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, data, lengths[i]), 0);
            EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, data, lengths[i]), -FI_EINVAL);
            TRY(next_event(&party, &event));
            EXPECT(event.kind == FI_CONNECTED && event.cm.entry.fid == &party.ep->fid);
            EXPECT(event.bytes == lengths[i] && gni_filled(event.cm.entry.data, lengths[i], i));
        } else {
            TRY(next_event(&party, &event));
            EXPECT(event.kind == FI_CONNREQ && event.cm.entry.fid == &party.pep->fid);
            EXPECT(event.bytes == lengths[i] && gni_filled(event.cm.entry.data, lengths[i], i + 1));
            TRY(endpoint(&party, event.cm.entry.info));
            EXPECT_IS(fi_accept(party.ep, data, 257), -FI_EINVAL);
            EXPECT_IS(fi_accept(party.ep, data, lengths[i]), 0);
            fi_freeinfo(event.cm.entry.info);
            TRY(next_event(&party, &event));
            EXPECT(event.kind == FI_CONNECTED && event.cm.entry.fid == &party.ep->fid);
            EXPECT_IS(event.bytes, 0);
        }
        TRY(talk(&party, i + 100, rank_id(rank) == 1));
        rank_barrier(rank);
        if (rank_id(rank) == 1) { /* one side ends it, and both get an event */
            EXPECT_IS(fi_recv(party.ep, data, 1, NULL, 0, data), 0);
            EXPECT_IS(fi_shutdown(party.ep, 1), -FI_EINVAL);
            EXPECT_IS(fi_shutdown(party.ep, 0), 0);
            EXPECT_IS(fi_shutdown(party.ep, 0), -FI_EINVAL);
        }
        TRY(next_event(&party, &event));
        EXPECT(event.kind == FI_SHUTDOWN && event.cm.entry.fid == &party.ep->fid);
        if (rank_id(rank) == 1) {
            struct fi_cq_err_entry error = {0};

            while (fi_cq_readerr(party.cq, &error, 0) != 1)
                ;
            EXPECT(error.err == FI_ECANCELED && error.op_context == data);
        }
        EXPECT_IS(fi_send(party.ep, data, 1, NULL, 0, NULL), -FI_ENOTCONN);
        EXPECT_IS(fi_close(&party.ep->fid), 0);
        party.ep = NULL;
        rank_barrier(rank);
    }
    return party_close(&party);
}

static void gni_123_gni_125_handshake(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, handshake_body);
    gni_run(&(struct gni_machine){.ranks = 2, .per_node = 2}, handshake_body);
}

/* Every fifth datagram is lost. */
static void gni_129_lost_messages(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 10; seed++)
        gni_run(&(struct gni_machine){.ranks = 2,
                                      .seed = seed,
                                      .yaml = "faults: [{at: aries.datagram, do: drop, "
                                              "probability: 0.2}]\n"},
                handshake_body);
}

/* Refused, and on the second attempt accepted. */
static int reject_body(struct rank *rank)
{
    struct fi_eq_err_entry error;
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};
    struct event event;
    int i;

    TRY(party_open(&party, rank));
    for (i = 0; i < 2; i++) {
        if (rank_id(rank) == 1) {
            if (party.ep == NULL)
                TRY(endpoint(&party, party.info));
            EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, "ab", 2), 0);
            if (i == 0) {
                TRY(next_error(&party, &error));
                EXPECT(error.err == FI_ECONNREFUSED && error.fid == &party.ep->fid);
                EXPECT(error.err_data_size == 4 && memcmp(error.err_data, "nope", 4) == 0);
            } else {
                TRY(next_event(&party, &event));
                EXPECT_IS(event.kind, FI_CONNECTED);
            }
        } else {
            TRY(next_event(&party, &event));
            EXPECT_IS(event.kind, FI_CONNREQ);
            if (i == 0) {
                EXPECT_IS(fi_reject(party.pep, event.cm.entry.info->handle, "nope", 4), 0);
                EXPECT_IS(fi_reject(party.pep, event.cm.entry.info->handle, "nope", 4), -FI_EINVAL);
                fi_freeinfo(event.cm.entry.info);
                continue;
            }
            TRY(endpoint(&party, event.cm.entry.info));
            EXPECT_IS(fi_accept(party.ep, NULL, 0), 0);
            EXPECT_IS(fi_accept(party.ep, NULL, 0), -FI_EINVAL);
            fi_freeinfo(event.cm.entry.info);
            TRY(next_event(&party, &event));
            EXPECT_IS(event.kind, FI_CONNECTED);
        }
    }
    TRY(talk(&party, 3, rank_id(rank) == 0));
    return party_close(&party);
}

static void gni_124_gni_130_reject(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, reject_body);
}

/* There is no listener. */
static int nobody_body(struct rank *rank)
{
    struct fi_eq_err_entry error;
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};

    TRY(party_open(&party, rank));
    if (rank_id(rank) == 0) {
        EXPECT_IS(fi_close(&party.pep->fid), 0);
        party.pep = NULL;
    }
    rank_barrier(rank);
    if (rank_id(rank) == 1) {
        TRY(endpoint(&party, party.info));
        EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, NULL, 0), 0);
        TRY(next_error(&party, &error));
        EXPECT(error.err == FI_ETIMEDOUT || error.err == FI_ECONNREFUSED);
    }
    return party_close(&party);
}

static void gni_126_nobody_listens(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, nobody_body);
}

/* The same with messages that are lost: refused once, and connected then. */
static void gni_129_lost_rejections(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 10; seed++)
        gni_run(&(struct gni_machine){.ranks = 2,
                                      .seed = seed,
                                      .yaml = "faults: [{at: aries.datagram, do: drop, "
                                              "probability: 0.2}]\n"},
                reject_body);
}

/* A listener with a backlog of five, and a hundred clients. */
static int hundred_body(struct rank *rank)
{
    uint32_t clients = rank_size(rank) - 1, requests = 0, connected = 0;
    struct fid_ep **eps = calloc(clients, sizeof(*eps));
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};
    struct event event;

    TRY(party_open(&party, rank));
    if (rank_id(rank) > 0) {
        TRY(endpoint(&party, party.info));
        EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, NULL, 0), 0);
        TRY(next_event(&party, &event));
        EXPECT_IS(event.kind, FI_CONNECTED);
    }
    while (rank_id(rank) == 0 && connected < clients) {
        TRY(next_event(&party, &event));
        if (event.kind == FI_CONNREQ) {
            TRY(endpoint(&party, event.cm.entry.info));
            eps[requests++] = party.ep;
            EXPECT_IS(fi_accept(party.ep, NULL, 0), 0);
            fi_freeinfo(event.cm.entry.info);
        } else {
            EXPECT_IS(event.kind, FI_CONNECTED);
            connected++;
        }
    }
    rank_barrier(rank);
    while (requests > 1) /* the first one is closed with the others */
        EXPECT_IS(fi_close(&eps[--requests]->fid), 0);
    if (rank_id(rank) == 0)
        party.ep = eps[0];
    free(eps);
    return party_close(&party);
}

static void gni_127_hundred_clients(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 101, .per_node = 4}, hundred_body);
}

static bool survived;

/* The node of the peer dies. */
static int killed_body(struct rank *rank)
{
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_eq_err_entry error;
    struct event event;

    TRY(party_open(&party, rank));
    if (rank_id(rank) == 1) {
        TRY(endpoint(&party, party.info));
        EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, NULL, 0), 0);
        TRY(next_event(&party, &event));
        EXPECT_IS(event.kind, FI_CONNECTED);
        gni_pause(rank, 3600000 * MS);
        rank_now(); /* does not return: the node is gone */
    }
    TRY(next_event(&party, &event));
    EXPECT_IS(event.kind, FI_CONNREQ);
    TRY(endpoint(&party, event.cm.entry.info));
    EXPECT_IS(fi_accept(party.ep, NULL, 0), 0);
    fi_freeinfo(event.cm.entry.info);
    TRY(next_event(&party, &event));
    EXPECT_IS(event.kind, FI_CONNECTED);
    gni_pause(rank, 200 * MS);
    EXPECT_IS(fi_send(party.ep, "x", 1, NULL, 0, &party), 0);
    TRY(next_error(&party, &error)); /* the NIC said so: which node */
    EXPECT(error.err == FI_EHOSTDOWN && error.fid == &party.ep->fid);
    EXPECT_IS(error.err_data_size, 48);
    TRY(next_event(&party, &event));
    EXPECT_IS(event.kind, FI_SHUTDOWN);
    EXPECT_IS(fi_cq_read(party.cq, &event, 1), -FI_EAVAIL);
    EXPECT_IS(fi_close(&party.ep->fid), 0);
    party.ep = NULL;
    TRY(party_close(&party));
    survived = true;
    return 0;
}

static void gni_128_peer_killed(void **state)
{
    (void)state;
    survived = false;
    gni_run(
        &(struct gni_machine){.ranks = 2,
                              .killed = true,
                              .yaml = "faults: [{at: node, node: 1, do: crash, time: 100ms}]\n"},
        killed_body);
    assert_true(survived);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_123_gni_125_handshake), cmocka_unit_test(gni_129_lost_messages),
        cmocka_unit_test(gni_129_lost_rejections),   cmocka_unit_test(gni_124_gni_130_reject),
        cmocka_unit_test(gni_126_nobody_listens),    cmocka_unit_test(gni_127_hundred_clients),
        cmocka_unit_test(gni_128_peer_killed),
    };

    return cmocka_run_group_tests_name("msg endpoints", tests, NULL, NULL);
}
