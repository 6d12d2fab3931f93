/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* bench-live: a ping-pong of SMSG messages, without libfabric. */
#include "live.h"

#include <gni_pub.h>

#include "bench.h"

static void expect(gni_return_t status, const char *what)
{
    if (status != GNI_RC_SUCCESS)
        bench_live_fail("%s: %s", what, gni_err_str[status]);
}

static uint32_t number_of(const char *variable, uint32_t otherwise)
{
    const char *text = getenv(variable);

    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

struct smsg {
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t tx, rx;
    gni_ep_handle_t ep;
    uint32_t address;
    gni_smsg_attr_t mailbox;
};

static void open_smsg(struct smsg *s, const struct pair *pair)
{
    uint32_t cookie = number_of("PMI_GNI_COOKIE", 0x42424242);
    uint8_t ptag = (uint8_t)number_of("PMI_GNI_PTAG", 0);
    struct {
        uint32_t address;
        gni_smsg_attr_t mailbox;
    } own, other;
    unsigned size;

    if (ptag == 0)
        expect(GNI_GetPtag(0, cookie, &ptag), "GNI_GetPtag");
    expect(GNI_CdmCreate(100 + pair->self, ptag, cookie, 0, &s->cdm), "GNI_CdmCreate");
    expect(GNI_CdmAttach(s->cdm, 0, &s->address, &s->nic), "GNI_CdmAttach");
    expect(GNI_CqCreate(s->nic, 256, 0, GNI_CQ_NOBLOCK, NULL, NULL, &s->tx), "GNI_CqCreate");
    expect(GNI_CqCreate(s->nic, 256, 0, GNI_CQ_NOBLOCK, NULL, NULL, &s->rx), "GNI_CqCreate");
    s->mailbox =
        (gni_smsg_attr_t){.msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = 16, .msg_maxsize = 64};
    expect(GNI_SmsgBufferSizeNeeded(&s->mailbox, &size), "GNI_SmsgBufferSizeNeeded");
    size = (size + 4095) & ~4095u;
    s->mailbox.buff_size = size;
    s->mailbox.msg_buffer = aligned_alloc(4096, size);
    memset(s->mailbox.msg_buffer, 0, size);
    expect(GNI_MemRegister(s->nic, (uintptr_t)s->mailbox.msg_buffer, size, s->rx, GNI_MEM_READWRITE,
                           UINT32_MAX, &s->mailbox.mem_hndl),
           "GNI_MemRegister");
    expect(GNI_EpCreate(s->nic, s->tx, &s->ep), "GNI_EpCreate");
    memset(&own, 0, sizeof(own));
    own.address = s->address;
    own.mailbox = s->mailbox;
    bench_live_send(pair->socket, &own, sizeof(own));
    bench_live_receive(pair->socket, &other, sizeof(other));
    expect(GNI_EpBind(s->ep, other.address, 100 + 1 - pair->self), "GNI_EpBind");
    expect(GNI_SmsgInit(s->ep, &s->mailbox, &other.mailbox), "GNI_SmsgInit");
}

static void receive_smsg(struct smsg *s, uint64_t expected)
{
    gni_cq_entry_t event;
    void *message;
    gni_return_t status;

    while ((status = GNI_CqGetEvent(s->rx, &event)) == GNI_RC_NOT_DONE)
        ;
    expect(status, "GNI_CqGetEvent");
    while ((status = GNI_SmsgGetNext(s->ep, &message)) == GNI_RC_NOT_DONE)
        ;
    expect(status, "GNI_SmsgGetNext");
    if (*(uint64_t *)message != expected)
        bench_live_fail("an SMSG message is not the one that was sent");
    expect(GNI_SmsgRelease(s->ep), "GNI_SmsgRelease");
}

static void send_smsg(struct smsg *s, uint64_t number)
{
    gni_cq_entry_t event;
    gni_return_t status;

    while ((status = GNI_SmsgSend(s->ep, NULL, 0, &number, sizeof(number), 0)) == GNI_RC_NOT_DONE)
        while (GNI_CqGetEvent(s->tx, &event) == GNI_RC_SUCCESS)
            ;
    expect(status, "GNI_SmsgSend");
}

void bench_live_through_ugni(struct pair *pair)
{
    struct smsg s;
    gni_cq_entry_t event;
    unsigned i, warm = SMSG_COUNT / 10;
    double started = 0;

    open_smsg(&s, pair);
    bench_live_send(pair->socket, &i, 1); /* both mailboxes must exist before either side sends */
    bench_live_receive(pair->socket, &i, 1);
    for (i = 0; i < warm + SMSG_COUNT; i++) {
        if (i == warm)
            started = bench_seconds();
        if (pair->self == 0)
            send_smsg(&s, i);
        receive_smsg(&s, i);
        if (pair->self == 1)
            send_smsg(&s, i);
        while (GNI_CqGetEvent(s.tx, &event) == GNI_RC_SUCCESS)
            ;
    }
    if (pair->self == 0)
        pair->shared->smsg = (bench_seconds() - started) / SMSG_COUNT / 2 * 1e6;
    bench_live_send(pair->socket, &i, 1);
    bench_live_receive(pair->socket, &i, 1);
    expect(GNI_EpDestroy(s.ep), "GNI_EpDestroy");
    expect(GNI_MemDeregister(s.nic, &s.mailbox.mem_hndl), "GNI_MemDeregister");
    expect(GNI_CqDestroy(s.rx), "GNI_CqDestroy");
    expect(GNI_CqDestroy(s.tx), "GNI_CqDestroy");
    expect(GNI_CdmDestroy(s.cdm), "GNI_CdmDestroy");
}
