/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The driver of 0@lo: a message arrives within the call that sends it. */
#include "core/internal.h"

static int lo_startup(struct lnet_ni *ni)
{
    ni->nid = LNET_NID_LO_0;
    return 0;
}

static void lo_shutdown(struct lnet_ni *ni)
{
    (void)ni;
}

static int lo_send(struct lnet_ni *ni, void *in, struct lnet_msg *msg)
{
    const struct lnet_hdr header = msg->header;

    (void)in;
    sim_spend((sim_time_t)ni->node->params.cost_lo_ns * SIM_NS);
    return lnet_parse(ni, &header, ni->nid, msg, false);
}

/* `in` is the message that was sent. */
static int lo_receive(struct lnet_ni *ni, void *in, struct lnet_msg *msg, bool delayed,
                      const struct lnet_fragments *to, uint32_t offset, uint32_t mlen,
                      uint32_t rlen)
{
    struct lnet_msg *sent = in;

    (void)delayed;
    (void)rlen;
    if (msg != NULL) {
        lnet_copy_fragments(to, offset, &sent->payload, sent->payload_offset, mlen);
        sim_spend((sim_time_t)mlen * SIM_US / (sim_time_t)ni->node->params.cost_lo_MBps);
        lnet_finalize(msg, 0);
    }
    lnet_finalize(sent, 0);
    return 0;
}

const struct lnet_lnd lnet_lnd_lo = {
    .type = LOLND,
    .name = "lo",
    .module = "klolnd",
    .startup = lo_startup,
    .shutdown = lo_shutdown,
    .send = lo_send,
    .receive = lo_receive,
};
