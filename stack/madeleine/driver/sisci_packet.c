/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets over SISCI: permissions, arrivals, errors. A sequence of stores that failed is stored
 * again as long as the card says that this may help.
 */
#include <assert.h>

#include "sisci.h"

enum { SILENT_MAX = 2 /* probes */, REPORTS_PER_PROBE = 10, NUMBER_MASK = 0xffffff };
enum { CHECK_AT_ONCE = SCI_FLAG_NO_FLUSH | SCI_FLAG_NO_STORE_BARRIER };

static uint32_t load(const struct msisci_local *local, size_t offset)
{
    return *(const volatile uint32_t *)(const volatile void *)(local->memory + offset);
}

/* ---- peers that are gone --------------------------------------------------------------------- */

/* Tells the peer that this process has given up: it may be reachable again, and would wait for what
 * does not come. Whether it learned of it is seen later. */
static void report(struct msisci_peer *peer)
{
    struct msisci_remote *remote = &peer->remote[0];
    sci_error_t error;

    (void)SCIStartSequence(remote->sequence, 0, &error);
    SCI_STORE32(remote->map, MSISCI_BROKEN, 1);
    SCIFlush(remote->sequence, 0);
}

static void report_again(struct msisci_peer *peer)
{
    sci_error_t error;

    switch (SCICheckSequence(peer->remote[0].sequence, CHECK_AT_ONCE, &error)) {
    case SCI_SEQ_PENDING:
        break;
    case SCI_SEQ_OK:
        peer->untold = false;
        break;
    default:
        report(peer);
    }
}

/* The peer's own probes find out if it stays unreachable. */
void mad_sisci_report_at_last(struct msisci_peer *peer)
{
    const uint64_t probe_ns = peer->channel->adapter->probe_ns;
    uint64_t now = port_now(), end = now + (SILENT_MAX + 1) * probe_ns, next = now, seen = 0;

    for (; peer->untold && now < end; now = port_now()) {
        if (now >= next) {
            report_again(peer);
            next = now + probe_ns / REPORTS_PER_PROBE;
        }
        SCI_PAUSE(&seen, next - now); /* writes end it early */
    }
}

void mad_sisci_lost(struct msisci_peer *peer, int code, sci_error_t why)
{
    if (peer->lost)
        return;
    peer->lost = true;
    peer->untold = code == MAD_EDRIVER && peer->remote[0].sequence != NULL;
    if (peer->untold)
        report(peer);
    mad_driver_note(peer->in, NULL, (int)why);
    mad_driver_note(peer->out, NULL, (int)why);
    mad_connection_break(peer->in, code);
    mad_connection_break(peer->out, code);
}

/* What the peer itself, or its system, has said: nothing more comes from it. MAD_OK: neither. */
static int end_of(const struct msisci_peer *peer)
{
    return peer->gone                                  ? MAD_EPEER
           : load(&peer->local[0], MSISCI_BROKEN) != 0 ? MAD_EDRIVER
                                                       : MAD_OK;
}

static void probe(struct msisci_peer *peer)
{
    const struct msisci_adapter *adapter = peer->channel->adapter;
    sci_error_t error;

    SCIProbeNode(adapter->desc, adapter->number, peer->node, 0, &error);
    peer->silent = error == SCI_ERR_OK ? 0 : peer->silent + 1;
    if (peer->silent >= SILENT_MAX)
        mad_sisci_lost(peer, MAD_EPEER, error);
}

static void repair_unsettled(const struct msisci_channel *channel)
{
    for (int rank = 0; rank < channel->size; rank++) {
        struct msisci_peer *peer = channel->peers[rank];

        if (peer != NULL && peer->unsettled && !peer->lost)
            mad_sisci_repair(peer);
    }
}

/* Their senders wait for credits while this process waits on another channel. */
static void repair_others(const struct msisci_channel *channel)
{
    const mad_driver_t *driver = channel->object->adapter->driver;
    const mad_madeleine_t *session = driver->madeleine;

    for (int i = 0; i < session->nb_adapter; i++) {
        struct msisci_adapter *adapter =
            session->adapter[i].driver == driver ? mad_sisci_adapter(&session->adapter[i]) : NULL;
        const struct msisci_channel *each;

        if (adapter == NULL)
            continue;
        port_mutex_lock(&adapter->mutex);
        for (each = adapter->channels; each != NULL; each = each->next)
            if (each != channel)
                repair_unsettled(each);
        port_mutex_unlock(&adapter->mutex);
    }
}

void mad_sisci_pause(struct msisci_channel *channel, uint64_t *seen, uint64_t nanoseconds)
{
    uint64_t now = port_now();
    bool due = now - channel->polled_at >= channel->adapter->probe_ns;
    int rank;

    if (due)
        channel->polled_at = now;
    for (rank = 0; rank < channel->size; rank++) {
        struct msisci_peer *peer = channel->peers[rank];

        if (peer == NULL)
            continue;
        if (peer->untold && due)
            report_again(peer);
        if (peer->lost)
            continue;
        if (end_of(peer) != MAD_OK && !mad_sisci_arrived(peer))
            mad_sisci_lost(peer, end_of(peer), SCI_ERR_NOT_CONNECTED);
        else if (due)
            probe(peer);
        if (!peer->lost)
            mad_sisci_repair(peer);
    }
    repair_others(channel);
    SCI_PAUSE(seen, nanoseconds);
}

/* ---- errors of stores ------------------------------------------------------------------------ */

static void store_credit(struct msisci_peer *peer)
{
    SCI_STORE32(peer->remote[0].map, MSISCI_WRITE, peer->received);
    if (peer->gave_up)
        SCI_STORE32(peer->remote[0].map, MSISCI_REFUSED, 1);
}

int mad_sisci_settle(struct msisci_peer *peer, struct msisci_remote *remote, uint32_t failures,
                     bool *retry)
{
    sci_sequence_status_t status;
    sci_error_t error;

    *retry = false;
    SCIStoreBarrier(remote->sequence, 0, &error);
    status = SCICheckSequence(remote->sequence, CHECK_AT_ONCE, &error);
    if (peer->lost)
        return mad_connection_error(peer->out);
    /* Behind the barrier, what is pending was stored by another thread. */
    if (error == SCI_ERR_OK && (status == SCI_SEQ_OK || status == SCI_SEQ_PENDING)) {
        *retry = remote->failures != failures;
        return MAD_OK;
    }
    remote->failures++;
    *retry = error == SCI_ERR_OK && status != SCI_SEQ_NOT_RETRIABLE && !peer->gone;
    if (*retry)
        *retry = SCIStartSequence(remote->sequence, 0, &error) == SCI_SEQ_OK;
    if (!*retry) {
        mad_sisci_lost(peer, peer->gone ? MAD_EPEER : MAD_EDRIVER, SCI_ERR_TRANSFER_FAILED);
        return mad_connection_error(peer->out);
    }
    if (remote == &peer->remote[0] && (peer->received != 0 || peer->gave_up))
        store_credit(peer); /* it may be what was lost */
    return MAD_OK;
}

/* ---- permissions ----------------------------------------------------------------------------- */

int mad_sisci_repair(struct msisci_peer *peer)
{
    struct msisci_remote *remote = &peer->remote[0];
    sci_sequence_status_t status;
    sci_error_t error;
    bool retry;
    int code = MAD_OK;

    if (remote->sequence == NULL)
        return MAD_OK;
    status = SCICheckSequence(remote->sequence, CHECK_AT_ONCE, &error);
    peer->unsettled = status == SCI_SEQ_PENDING;
    if (status == SCI_SEQ_OK || status == SCI_SEQ_PENDING)
        return MAD_OK;
    do
        code = mad_sisci_settle(peer, remote, remote->failures, &retry);
    while (retry);
    return code;
}

/*
 * An older credit that is still on its way could arrive behind the new one, which the sender then
 * never sees: stores are in order only behind a barrier.
 */
static int await_credit(struct msisci_peer *peer)
{
    sci_error_t error;
    bool retry;

    if (!peer->unsettled)
        return MAD_OK;
    peer->unsettled = false;
    if (SCICheckSequence(peer->remote[0].sequence, CHECK_AT_ONCE, &error) != SCI_SEQ_PENDING)
        return MAD_OK;
    return mad_sisci_settle(peer, &peer->remote[0], peer->remote[0].failures, &retry);
}

/* Waits on other drivers do not look after credits. */
static bool has_other_drivers(const struct msisci_peer *peer)
{
    const mad_driver_t *driver = peer->in->channel->adapter->driver;
    const mad_madeleine_t *session = driver->madeleine;

    for (int i = 0; i < session->nb_adapter; i++)
        if (session->adapter[i].driver != driver)
            return true;
    return false;
}

int mad_sisci_return_credit(struct msisci_peer *peer, bool more)
{
    struct msisci_remote *remote = &peer->remote[0];
    uint32_t failures;
    bool retry;
    int error = await_credit(peer);

    if (error != MAD_OK)
        return error;
    failures = remote->failures;
    store_credit(peer);
    /* Otherwise it is seen when the process waits for something, whether it has arrived. */
    if (!more && !has_other_drivers(peer)) {
        SCIFlush(remote->sequence, 0);
        peer->unsettled = true;
        return MAD_OK;
    }
    while ((error = mad_sisci_settle(peer, remote, failures, &retry)) == MAD_OK && retry)
        failures = remote->failures; /* who saw the error has stored the credit again */
    return error;
}

void mad_sisci_give_up(p_mad_connection_t in)
{
    struct msisci_peer *peer = mad_sisci_peer(in);

    if (peer->gave_up || peer->lost)
        return;
    peer->gave_up = true;
    mad_sisci_return_credit(peer, true);
}

/* How many packets the peer has not consumed. */
static uint32_t unconsumed(const struct msisci_peer *peer)
{
    return peer->sent - load(&peer->local[0], MSISCI_WRITE);
}

/* After an error, words of a packet may be there twice: they must go before the next one. */
static int clean(struct msisci_peer *peer, struct msisci_remote *remote)
{
    uint32_t failures;
    bool retry;
    int error;

    do {
        failures = remote->failures;
        for (size_t at = 0; at < MSISCI_WRITE / MSISCI_LINE * MSISCI_LINE; at += 4)
            SCI_STORE32(remote->map, at, 0);
        error = mad_sisci_settle(peer, remote, failures, &retry);
    } while (retry);
    remote->dirty = error != MAD_OK;
    return error;
}

int mad_sisci_begin(struct msisci_peer *peer)
{
    struct msisci_channel *own = peer->channel;
    struct msisci_remote *remote = &peer->remote[peer->sent % own->adapter->segments];
    uint64_t seen = 0;
    bool waited = false;

    while (!peer->lost && unconsumed(peer) >= own->adapter->segments) {
        if (load(&peer->local[0], MSISCI_REFUSED) != 0) {
            mad_driver_note(peer->out, "the receiver's blocks are others", 0);
            return MAD_ESYMM;
        }
        if (end_of(peer) != MAD_OK) { /* what has arrived from it can still be received */
            mad_driver_note(peer->out, NULL, SCI_ERR_NOT_CONNECTED);
            return end_of(peer);
        }
        mad_sisci_pause(own, &seen, own->adapter->probe_ns);
        waited = true;
    }
    if (peer->lost)
        return mad_connection_error(peer->out);
    if (waited)
        mad_cost(own->object, CREDIT, 1);
    return remote->dirty ? clean(peer, remote) : MAD_OK;
}

/* ---- arrivals -------------------------------------------------------------------------------- */

bool mad_sisci_arrived(const struct msisci_peer *peer)
{
    uint32_t word =
        load(&peer->local[peer->received % peer->channel->adapter->segments], MSISCI_READ);

    return word != 0 && word >> MSISCI_NUMBER_SHIFT == ((peer->received + 1) & NUMBER_MASK);
}

int mad_sisci_wait_arrival(struct msisci_peer *peer)
{
    uint64_t seen = 0;

    while (!peer->lost && !mad_sisci_arrived(peer))
        mad_sisci_pause(peer->channel, &seen, peer->channel->adapter->probe_ns);
    return peer->lost ? mad_connection_error(peer->in) : MAD_OK;
}
