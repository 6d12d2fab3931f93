/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The start of a job that knows nobody: every rank exchanges mailbox attributes with every other
 * by datagram, connects, and sends one message over each connection. Partners follow a schedule in
 * which both sides of a pair are at the same step, so a window cannot block.
 */
#include "common.h"

static const struct workload_arg args[] = {
    {"window", ARG_COUNT, "32", "1", "65536", NULL, "datagrams in flight per rank"},
    {"credits", ARG_COUNT, "4", "1", "4096", NULL, "messages in flight per connection"},
    {"give_up", ARG_TIME, "60s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct greeting {
    uint32_t from, to;
};

struct storm {
    struct domain domain;
    uint64_t window;
    gni_smsg_attr_t *theirs; /* by rank: filled by the datagrams */
    uint64_t *posted_at; /* by rank */
    uint32_t connected, lost, greeted;
};

/* The partner in step k; its own step k leads back to us. */
static uint32_t partner(const struct storm *storm, uint32_t step)
{
    return (step + storm->domain.size - storm->domain.id) % storm->domain.size;
}

static int introduce(struct storm *storm, uint32_t peer)
{
    gni_ep_handle_t ep = domain_ep(&storm->domain, peer);
    gni_smsg_attr_t mine;
    gni_return_t rc;

    if (ep == NULL)
        return -1;
    message_mailbox(&storm->domain, peer, &mine);
    storm->posted_at[peer] = rank_now();
    rc = GNI_EpPostDataWId(ep, &mine, sizeof(mine), &storm->theirs[peer], sizeof(mine), peer);
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(storm->domain.rank, "cannot post a datagram to rank %u: %s", peer,
                         rc_name(rc));
    return 0;
}

/* A datagram has ended: connects, and sends the greeting. */
static int acquainted(struct storm *storm, uint32_t peer)
{
    struct greeting greeting = {storm->domain.id, peer};
    gni_ep_handle_t ep = domain_ep(&storm->domain, peer);
    gni_smsg_attr_t mine;
    gni_post_state_t state;
    uint32_t address, instance;
    gni_return_t rc;

    rc = GNI_EpPostDataTestById(ep, peer, &state, &address, &instance);
    if (rc != GNI_RC_SUCCESS || instance != peer)
        return rank_fail(storm->domain.rank, "the datagram of rank %u: %s", peer, rc_name(rc));
    if (state != GNI_POST_COMPLETED) { /* its node died */
        storm->lost++;
        storm->domain.lost++;
        return 0;
    }
    rank_record_latency(storm->domain.rank, "latency", rank_now() - storm->posted_at[peer]);
    message_mailbox(&storm->domain, peer, &mine);
    if (message_connect_to(&storm->domain, peer, &mine, &storm->theirs[peer]) != 0)
        return -1;
    storm->connected++;
    rank_progress(storm->domain.rank);
    return message_send(&storm->domain, peer, &greeting, sizeof(greeting));
}

static int receive(struct storm *storm)
{
    struct greeting greeting;
    const void *message;
    uint32_t from;

    message_completions(&storm->domain);
    message = message_poll(&storm->domain, &from);
    if (message == NULL)
        return 0;
    memcpy(&greeting, message, sizeof(greeting));
    message_release(&storm->domain, from);
    storm->greeted++;
    if (greeting.from != from || greeting.to != storm->domain.id)
        return rank_fail(storm->domain.rank, "a greeting of rank %u to %u came from rank %u",
                         greeting.from, greeting.to, from);
    return 1;
}

static int play(struct storm *storm)
{
    uint32_t others = storm->domain.size - 1, step = 0, posted = 0, peer;
    uint64_t id, began = rank_now();
    int status = 0, heard;

    while (status == 0 && storm->greeted + storm->lost < others) {
        while (status == 0 && step <= others &&
               posted - storm->connected - storm->lost < storm->window) {
            peer = partner(storm, step++);
            if (peer == storm->domain.id)
                continue;
            status = introduce(storm, peer);
            posted++;
        }
        heard = 0;
        if (storm->connected + storm->lost < others &&
            GNI_PostDataProbeById(storm->domain.nic, &id) == GNI_RC_SUCCESS) {
            status = acquainted(storm, (uint32_t)id);
            storm->domain.heard++;
            heard = 1;
        }
        if (status == 0)
            heard |= receive(storm);
        if (status == 0 && heard == 0 && domain_gave_up(&storm->domain))
            break;
        status = heard < 0 ? -1 : status;
    }
    message_flush(&storm->domain);
    rank_record_latency(storm->domain.rank, "all", rank_now() - began);
    return status;
}

static int run(struct rank *rank)
{
    struct storm storm = {.window = rank_arg_count(rank, "window")};
    uint32_t size = rank_size(rank), missing = size - 1;
    int status = domain_open(&storm.domain, rank, 1024, 0);

    domain_patience(&storm.domain, rank_arg_ps(rank, "give_up"));
    storm.theirs = calloc(size, sizeof(*storm.theirs));
    storm.posted_at = calloc(size, sizeof(*storm.posted_at));
    if (status == 0) /* one more than ranks: nothing is connected by itself */
        status = messages_open(&storm.domain, size + 1, (uint16_t)rank_arg_count(rank, "credits"),
                               sizeof(struct greeting), 1);
    if (status == 0) {
        status = play(&storm);
        missing -= storm.greeted;
    }
    if (domain_finish(&storm.domain, missing) != 0)
        status = -1;
    messages_close(&storm.domain);
    domain_close(&storm.domain);
    free(storm.theirs);
    free(storm.posted_at);
    return status != 0;
}

static const struct workload connect_storm = {
    .name = "connect_storm",
    .meaning = "all ranks introduce themselves to all others by datagram, and connect",
    .metrics = "latency (ps, of one datagram), all (ps, until all are connected)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(connect_storm)
