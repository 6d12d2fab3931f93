/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* MSG endpoints: passive endpoints as objects, ends of connections in all states, ways to wait. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "msg_party.h"

/* ---- the passive endpoint -------------------------------------------------------------------- */

static int passive_body(struct rank *rank)
{
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};
    uint32_t name[12] = {0}, before[12];
    struct fi_eq_attr eq_attr = {0};
    struct fid handle = {.fclass = FI_CLASS_CONNREQ};
    struct fid_pep *pep;
    struct fid_eq *eq;
    size_t bytes = 0, value = 0;

    TRY(party_open(&party, rank)); /* listens at SERVICE */
    EXPECT_IS(fi_eq_open(party.fabric, &eq_attr, &eq, NULL), 0);
    party.info->ep_attr->type = FI_EP_RDM;
    EXPECT_IS(fi_passive_ep(party.fabric, party.info, &pep, NULL), -FI_EINVAL);
    party.info->ep_attr->type = FI_EP_MSG;
    EXPECT_IS(fi_passive_ep(party.fabric, party.info, &pep, NULL), 0);
    /* names */
    EXPECT_IS(fi_getname(&pep->fid, NULL, NULL), -FI_EINVAL);
    EXPECT_IS(fi_getname(&pep->fid, NULL, &bytes), -FI_ETOOSMALL);
    EXPECT_IS(bytes, sizeof(name));
    EXPECT_IS(fi_getname(&pep->fid, before, &bytes), 0);
    EXPECT_IS(before[1], 4711);
    memcpy(name, before, sizeof(name));
    name[1] = 4712;
    EXPECT_IS(fi_setname(&pep->fid, name, sizeof(name) - 1), -FI_EINVAL);
    EXPECT_IS(fi_setname(&pep->fid, NULL, sizeof(name)), -FI_EINVAL);
    EXPECT_IS(fi_setname(&pep->fid, name, sizeof(name)), 0);
    EXPECT_IS(fi_getname(&pep->fid, before, &bytes), 0);
    EXPECT_IS(before[1], 4712);
    /* options */
    bytes = sizeof(value);
    EXPECT_IS(fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, &bytes), 0);
    EXPECT_IS(value, 256);
    EXPECT_IS(fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &bytes),
              -FI_ENOPROTOOPT);
    EXPECT_IS(fi_setopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, bytes),
              -FI_ENOSYS);
    /* binding and listening */
    EXPECT_IS(fi_listen(pep), -FI_ENOEQ);
    EXPECT_IS(fi_pep_bind(pep, &party.fabric->fid, 0), -FI_ENOSYS);
    EXPECT_IS(fi_pep_bind(pep, &eq->fid, 0), 0);
    EXPECT_IS(fi_pep_bind(pep, &party.eq->fid, 0), -FI_EINVAL);
    EXPECT_IS(fi_close(&eq->fid), -FI_EBUSY);
    EXPECT_IS(fi_reject(pep, &handle, NULL, 0), -FI_EINVAL);
    EXPECT_IS(fi_listen(pep), 0);
    EXPECT_IS(fi_listen(pep), -FI_EOPBADSTATE);
    EXPECT_IS(fi_setname(&pep->fid, name, sizeof(name)), -FI_EOPBADSTATE);
    bytes = sizeof(name);
    EXPECT_IS(fi_getname(&pep->fid, name, &bytes), 0);
    EXPECT(name[1] == 4712 && name[0] == before[0]);
    EXPECT_IS(fi_reject(pep, &handle, NULL, 0), -FI_EINVAL);
    EXPECT_IS(fi_reject(pep, NULL, NULL, 0), -FI_EINVAL);
    EXPECT_IS(fi_close(&pep->fid), 0);
    EXPECT_IS(fi_close(&eq->fid), 0);
    /* the service is taken: of another process, or by another listener of ours */
    EXPECT_IS(fi_passive_ep(party.fabric, party.info, &pep, NULL), 0);
    EXPECT_IS(fi_pep_bind(pep, &party.eq->fid, 0), 0);
    EXPECT(fi_listen(pep) < 0);
    EXPECT_IS(fi_close(&pep->fid), 0);
    return party_close(&party);
}

static void gni_130_passive(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, passive_body);
}

static int no_handle_body(struct rank *rank)
{
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};
    struct fid handle = {.fclass = FI_CLASS_CONNREQ};
    uint8_t name[48];
    size_t bytes = sizeof(name);
    struct fid_ep *ep;

    TRY(party_open(&party, rank));
    TRY(endpoint(&party, party.info));
    EXPECT_IS(fi_accept(party.ep, NULL, 0), -FI_EINVAL);
    EXPECT_IS(fi_shutdown(party.ep, 0), -FI_EINVAL);
    EXPECT_IS(fi_getpeer(party.ep, name, &bytes), -FI_ENOTCONN);
    EXPECT_IS(fi_connect(party.ep, NULL, NULL, 0), -FI_EINVAL);
    party.info->handle = &handle;
    EXPECT_IS(fi_endpoint(party.domain, party.info, &ep, NULL), -FI_EINVAL);
    party.info->handle = NULL;
    return party_close(&party);
}

static void gni_130_no_handle(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, no_handle_body);
}

/* ---- ends in all states ---------------------------------------------------------------------- */

static int close_endpoint(struct party *party)
{
    struct rank *rank = party->rank;

    EXPECT_IS(fi_close(&party->ep->fid), 0);
    party->ep = NULL;
    return 0;
}

/* The client changes its mind before it is accepted. */
static int early_close_body(struct rank *rank)
{
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};
    struct event event;

    TRY(party_open(&party, rank));
    if (rank_id(rank) == 1) {
        TRY(endpoint(&party, party.info));
        EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, NULL, 0), 0);
        rank_barrier(rank);
        TRY(close_endpoint(&party));
        rank_barrier(rank);
    } else {
        TRY(next_event(&party, &event));
        EXPECT_IS(event.kind, FI_CONNREQ);
        rank_barrier(rank);
        rank_barrier(rank);
        TRY(endpoint(&party, event.cm.entry.info));
        EXPECT_IS(fi_accept(party.ep, NULL, 0), 0);
        fi_freeinfo(event.cm.entry.info);
        TRY(next_event(&party, &event));
        EXPECT(event.kind == FI_SHUTDOWN && event.cm.entry.fid == &party.ep->fid);
        EXPECT_IS(fi_send(party.ep, "x", 1, NULL, 0, NULL), -FI_ENOTCONN);
    }
    return party_close(&party);
}

/* The listener closes without an answer to two requests: one that was read, one that was not. */
static int listener_close_body(struct rank *rank)
{
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_eq_err_entry error;
    struct event event, unread;

    TRY(party_open(&party, rank));
    if (rank_id(rank) > 0) {
        TRY(endpoint(&party, party.info));
        EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, "12", 2), 0);
        TRY(next_error(&party, &error));
        EXPECT(error.err == FI_ECONNREFUSED && error.fid == &party.ep->fid);
        EXPECT_IS(error.err_data_size, 0);
    } else {
        TRY(next_event(&party, &event));
        EXPECT_IS(event.kind, FI_CONNREQ);
        TRY(endpoint(&party, event.cm.entry.info)); /* too late to be accepted */
        gni_pause(rank, MS);
        EXPECT_IS(fi_eq_read(party.eq, &unread.kind, &unread.cm, sizeof(unread.cm), FI_PEEK), 18);
        EXPECT_IS(fi_close(&party.pep->fid), 0);
        party.pep = NULL;
        fi_freeinfo(event.cm.entry.info);
        EXPECT_IS(fi_eq_read(party.eq, &event.kind, &event.cm, sizeof(event.cm), 0), -FI_EAGAIN);
        EXPECT_IS(fi_accept(party.ep, NULL, 0), -FI_EINVAL);
    }
    return party_close(&party);
}

/* An endpoint that was opened for a request is closed; another one takes it. */
static int second_endpoint_body(struct rank *rank)
{
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};
    struct event event;
    struct fid_ep *ep;

    TRY(party_open(&party, rank));
    if (rank_id(rank) == 1) {
        TRY(endpoint(&party, party.info));
        EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, NULL, 0), 0);
        TRY(next_event(&party, &event));
        EXPECT_IS(event.kind, FI_CONNECTED);
    } else {
        TRY(next_event(&party, &event));
        EXPECT_IS(event.kind, FI_CONNREQ);
        TRY(endpoint(&party, event.cm.entry.info));
        EXPECT_IS(fi_endpoint(party.domain, event.cm.entry.info, &ep, NULL), -FI_EINVAL);
        EXPECT_IS(fi_connect(party.ep, event.cm.entry.info->dest_addr, NULL, 0), -FI_EINVAL);
        TRY(close_endpoint(&party));
        TRY(endpoint(&party, event.cm.entry.info));
        EXPECT_IS(fi_accept(party.ep, NULL, 0), 0);
        EXPECT_IS(fi_reject(party.pep, event.cm.entry.info->handle, NULL, 0), -FI_EINVAL);
        fi_freeinfo(event.cm.entry.info);
        TRY(next_event(&party, &event));
        EXPECT_IS(event.kind, FI_CONNECTED);
    }
    TRY(talk(&party, 5, rank_id(rank) == 0));
    return party_close(&party);
}

static void gni_125_ends(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, early_close_body);
    gni_run(&(struct gni_machine){.ranks = 3}, listener_close_body);
    gni_run(&(struct gni_machine){.ranks = 2}, second_endpoint_body);
}

/* What was sent before the end has arrived before it. */
static int last_words_body(struct rank *rank)
{
    enum { COUNT = 40 };
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_cq_tagged_entry entry;
    uint64_t words[COUNT], i;
    struct event event;
    ssize_t result;

    TRY(party_open(&party, rank));
    if (rank_id(rank) == 1) {
        TRY(endpoint(&party, party.info));
        EXPECT_IS(fi_connect(party.ep, party.info->dest_addr, NULL, 0), 0);
        TRY(next_event(&party, &event));
        for (i = 0; i < COUNT; i++) {
            words[i] = i;
            EXPECT_IS(fi_send(party.ep, &words[i], 8, NULL, 0, NULL), 0);
        }
        for (i = 0; i<COUNT; i += result> 0) {
            result = fi_cq_read(party.cq, &entry, 1);
            EXPECT(result == 1 || result == -FI_EAGAIN);
        }
        EXPECT_IS(fi_shutdown(party.ep, 0), 0);
        TRY(next_event(&party, &event));
        EXPECT_IS(event.kind, FI_SHUTDOWN);
        EXPECT_IS(fi_eq_read(party.eq, &event.kind, &event.cm, sizeof(event.cm), 0), -FI_EAGAIN);
    } else {
        TRY(next_event(&party, &event));
        TRY(endpoint(&party, event.cm.entry.info));
        for (i = 0; i < COUNT + 1; i++)
            EXPECT_IS(fi_recv(party.ep, &words[i % COUNT], 8, NULL, 0, &words[i % COUNT]), 0);
        EXPECT_IS(fi_accept(party.ep, NULL, 0), 0);
        fi_freeinfo(event.cm.entry.info);
        TRY(next_event(&party, &event));
        EXPECT_IS(event.kind, FI_CONNECTED);
        TRY(next_event(&party, &event));
        EXPECT_IS(event.kind, FI_SHUTDOWN);
        EXPECT_IS(fi_cq_read(party.cq, &entry, 1), -FI_EAVAIL); /* the receive that got nothing */
        EXPECT_IS(fi_cq_readerr(party.cq, &(struct fi_cq_err_entry){0}, 0), 1);
        for (i = 0; i < COUNT; i++) {
            EXPECT_IS(fi_cq_read(party.cq, &entry, 1), 1);
            EXPECT(entry.op_context == &words[i] && words[i] == i);
        }
        EXPECT_IS(fi_cq_read(party.cq, &entry, 1), -FI_EAGAIN);
    }
    return party_close(&party);
}

static void gni_125_last_words(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, last_words_body);
}

/* ---- ways to get on -------------------------------------------------------------------------- */

static int wait_readable(struct party *party, struct event *event)
{
    struct rank *rank = party->rank;
    struct fid *fids[] = {&party->eq->fid};
    struct pollfd poll_fd = {.events = POLLIN};
    ssize_t result;

    EXPECT_IS(fi_control(&party->eq->fid, FI_GETWAIT, &poll_fd.fd), 0);
    for (;;) {
        result = fi_eq_read(party->eq, &event->kind, &event->cm, sizeof(event->cm), 0);
        if (result != -FI_EAGAIN)
            break;
        if (fi_trywait(party->fabric, fids, 1) == 0)
            EXPECT_IS(rank_poll(rank, &poll_fd, 1, UINT64_MAX), 1);
    }
    EXPECT(result >= (ssize_t)sizeof(event->cm.entry));
    return 0;
}

static int read_until(struct party *party, struct event *event)
{
    struct rank *rank = party->rank;
    ssize_t result;

    do {
        result = fi_eq_read(party->eq, &event->kind, &event->cm, sizeof(event->cm), 0);
    } while (result == -FI_EAGAIN);
    EXPECT(result >= (ssize_t)sizeof(event->cm.entry));
    return 0;
}

static int meet(struct party *party, int (*next)(struct party *party, struct event *event))
{
    struct rank *rank = party->rank;
    struct event event;

    if (rank_id(rank) == 1) {
        TRY(endpoint(party, party->info));
        EXPECT_IS(fi_connect(party->ep, party->info->dest_addr, NULL, 0), 0);
    } else {
        TRY(next(party, &event));
        EXPECT_IS(event.kind, FI_CONNREQ);
        TRY(endpoint(party, event.cm.entry.info));
        EXPECT_IS(fi_accept(party->ep, NULL, 0), 0);
        fi_freeinfo(event.cm.entry.info);
    }
    TRY(next(party, &event));
    EXPECT_IS(event.kind, FI_CONNECTED);
    TRY(talk(party, 5, rank_id(rank) == 0));
    rank_barrier(rank);
    if (rank_id(rank) == 0)
        EXPECT_IS(fi_shutdown(party->ep, 0), 0);
    TRY(next(party, &event));
    EXPECT_IS(event.kind, FI_SHUTDOWN);
    return 0;
}

static int descriptor_body(struct rank *rank)
{
    struct party party = {.wait_obj = FI_WAIT_FD};

    TRY(party_open(&party, rank));
    TRY(meet(&party, wait_readable));
    return party_close(&party);
}

static void gni_112_event_descriptor(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, descriptor_body);
}

static int manual_body(struct rank *rank)
{
    struct party party = {.wait_obj = FI_WAIT_UNSPEC, .manual = true};

    TRY(party_open(&party, rank));
    TRY(meet(&party, next_event));
    return party_close(&party);
}

static int polling_body(struct rank *rank)
{
    struct party party = {.manual = true};

    TRY(party_open(&party, rank));
    TRY(meet(&party, read_until));
    return party_close(&party);
}

static int polling_automatic_body(struct rank *rank)
{
    struct party party = {.manual = false};

    TRY(party_open(&party, rank));
    TRY(meet(&party, read_until));
    return party_close(&party);
}

static void gni_117_events_make_progress(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, manual_body);
    gni_run(&(struct gni_machine){.ranks = 2}, polling_body);
    gni_run(&(struct gni_machine){.ranks = 2}, polling_automatic_body);
}

/* A process that is its own client. */
static int self_body(struct rank *rank)
{
    struct party party = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_info *info;
    struct fid_ep *client;
    struct event event;
    char node[16];
    int connected = 0;

    TRY(party_open(&party, rank));
    snprintf(node, sizeof(node), "nid%05u", rank_node_of(rank, 0));
    EXPECT_IS(fi_getinfo(FI_VERSION(1, 17), node, SERVICE, 0, party.hints, &info), 0);
    TRY(endpoint(&party, info));
    client = party.ep;
    EXPECT_IS(fi_connect(client, info->dest_addr, "me", 2), 0);
    while (connected < 2) {
        TRY(next_event(&party, &event));
        if (event.kind == FI_CONNREQ) {
            EXPECT(event.bytes == 2 && memcmp(event.cm.entry.data, "me", 2) == 0);
            TRY(endpoint(&party, event.cm.entry.info));
            EXPECT_IS(fi_accept(party.ep, NULL, 0), 0);
            fi_freeinfo(event.cm.entry.info);
        } else {
            EXPECT_IS(event.kind, FI_CONNECTED);
            connected++;
        }
    }
    EXPECT_IS(fi_close(&client->fid), 0);
    TRY(next_event(&party, &event));
    EXPECT(event.kind == FI_SHUTDOWN && event.cm.entry.fid == &party.ep->fid);
    fi_freeinfo(info);
    return party_close(&party);
}

static void gni_123_with_itself(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, self_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_130_passive),
        cmocka_unit_test(gni_130_no_handle),
        cmocka_unit_test(gni_125_ends),
        cmocka_unit_test(gni_125_last_words),
        cmocka_unit_test(gni_112_event_descriptor),
        cmocka_unit_test(gni_117_events_make_progress),
        cmocka_unit_test(gni_123_with_itself),
    };

    return cmocka_run_group_tests_name("ends of MSG connections", tests, NULL, NULL);
}
