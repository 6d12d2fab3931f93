/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pairs of ranks send one message to and fro. Latency is half of the round trip. */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "8", "8", "65535", NULL, "length of a message"},
    {"iterations", ARG_COUNT, "1000", "1", "1000000000", NULL, "round trips"},
    {"credits", ARG_COUNT, "16", "1", "4096", NULL, "messages in flight per direction"},
    {"retransmit", ARG_BOOL, "true", NULL, NULL, NULL,
     "send again after recoverable errors (MBOX_AUTO_RETRANSMIT)"},
    {"software_ns", ARG_REAL, "0", "0", "1000000", NULL,
     "time of the software above uGNI, per message and side"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct pingpong {
    struct wl_domain domain;
    uint32_t peer, bytes;
    uint64_t software, received;
    uint8_t *out;
};

static int send_number(struct pingpong *p, uint64_t number)
{
    memcpy(p->out, &number, sizeof(number));
    return wl_message_send(&p->domain, p->peer, p->out, p->bytes);
}

/*
 * Checks and keeps the message: it is released when the answer is on its way. 1: the peer is gone.
 */
static int receive_number(struct pingpong *p, uint64_t number)
{
    uint32_t from;
    uint8_t *message = wl_message_wait(&p->domain, &from);

    if (message == NULL)
        return 1;
    if (p->software != 0)
        rank_compute(p->software);
    memcpy(p->out, &number, sizeof(number));
    if (from != p->peer || memcmp(message, p->out, p->bytes) != 0)
        return rank_fail(p->domain.rank, "message %llu of rank %u is wrong",
                         (unsigned long long)number, p->peer);
    p->received++;
    return 0;
}

static int lead(struct pingpong *p, uint64_t iterations)
{
    uint64_t i, began;
    int status;

    for (i = 1; i <= iterations; i++) {
        began = rank_now();
        if (send_number(p, i) != 0)
            return -1;
        wl_message_flush(&p->domain);
        status = receive_number(p, i);
        if (status != 0)
            return status;
        rank_record_latency(p->domain.rank, "latency", (rank_now() - began) / 2);
        wl_message_release(&p->domain, p->peer);
        rank_progress(p->domain.rank);
    }
    return 0;
}

static int follow(struct pingpong *p, uint64_t iterations)
{
    uint64_t i;
    int status;

    for (i = 1; i <= iterations; i++) {
        status = receive_number(p, i);
        if (status == 0)
            status = send_number(p, i);
        if (status != 0)
            return status;
        wl_message_release(&p->domain, p->peer);
        wl_message_flush(&p->domain);
    }
    return 0;
}

static int run(struct rank *rank)
{
    struct pingpong p = {.bytes = (uint32_t)rank_arg_count(rank, "bytes")};
    uint64_t iterations = rank_arg_count(rank, "iterations"), missing = 0;
    int status = wl_domain_open(&p.domain, rank, 64, 0);

    wl_domain_set_timeout(&p.domain, rank_arg_ps(rank, "give_up"));
    p.software = (uint64_t)(rank_arg_real(rank, "software_ns") * 1e3);
    p.out = malloc(p.bytes);
    wl_pattern_fill(p.out, p.bytes, 1);
    if (status == 0)
        status = wl_mailboxes_open(&p.domain, 1, (uint16_t)rank_arg_count(rank, "credits"), p.bytes,
                                   rank_arg_bool(rank, "retransmit"));
    p.peer = wl_pair_of(&p.domain);
    if (status == 0 && p.peer != UINT32_MAX) {
        status = wl_message_connect(&p.domain, p.peer, 0, 0);
        if (status == 0)
            status = wl_pair_leads(&p.domain) ? lead(&p, iterations) : follow(&p, iterations);
        missing = iterations - p.received;
    }
    if (wl_domain_finish(&p.domain, missing) != 0)
        status = -1;
    wl_mailboxes_close(&p.domain);
    wl_domain_close(&p.domain);
    free(p.out);
    return status < 0;
}

static const struct workload smsg_pingpong = {
    .name = "smsg_pingpong",
    .meaning = "pairs of ranks send one message to and fro",
    .metrics = "latency (ps, one way)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(smsg_pingpong)
