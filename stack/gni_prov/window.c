/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Flow control: how much a peer may send before somebody wants it.
 *
 * The endpoint has a pool of slots of 256 bytes, and of messages. A slot that is granted to a peer
 * may become one message, until one comes that takes several: then the others are no messages any
 * more. So neither the bytes nor the number of unexpected messages can exceed the pool, whatever
 * the peers send, unless there are so many (above a thousand) that the least grant is too much for
 * it. Grants are cumulative numbers modulo 2^32 and never taken back.
 */
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "vc.h"
#include "window.h"

#define MOST 1024u /* slots of one peer at first */
#define LEAST 4u /* enough for the longest START */
#define SHARE 16u /* of what is free, for one peer */
#define KEPT_BACK 4096u /* for the first grants of peers to come */

/* What one more peer may have. */
static uint32_t share_of(const struct gnip_ep *ep)
{
    uint32_t taken = KEPT_BACK, free_slots = 0, free_messages = 0;

    if (ep->granted_slots + taken < GNIP_POOL_CREDITS)
        free_slots = GNIP_POOL_CREDITS - ep->granted_slots - taken;
    if (ep->granted_messages + taken < GNIP_POOL_MESSAGES)
        free_messages = GNIP_POOL_MESSAGES - ep->granted_messages - taken;
    return (free_slots < free_messages ? free_slots : free_messages) / SHARE;
}

static void grant(struct gnip_vc *vc, uint32_t slots)
{
    vc->window += slots;
    vc->given += slots;
    vc->promised += slots;
    vc->ep->granted_slots += slots;
    vc->ep->granted_messages += slots;
}

void gnip_rx_window_open(struct gnip_vc *vc)
{
    uint32_t slots = share_of(vc->ep);

    gnip_assert_held(&vc->ep->lock);
    if (vc->window != 0)
        return;
    if (slots > MOST)
        slots = MOST;
    if (slots < LEAST)
        slots = LEAST;
    vc->given = vc->arrived = 0;
    grant(vc, slots);
    vc->told = vc->given; /* the connection message says it */
    vc->first_window = (uint16_t)vc->given;
}

bool gnip_rx_window_arrived(struct gnip_vc *vc, uint32_t slots)
{
    if (gnip_unlikely(vc->given - vc->arrived < slots))
        return false;
    vc->arrived += slots;
    vc->held += slots;
    assert(vc->held <= vc->window && vc->promised >= slots - 1);
    vc->promised -= slots - 1;
    vc->ep->granted_messages -= slots - 1;
    return true;
}

/* The application is behind: a peer that has used much of its window gets more, if there is. */
void gnip_rx_window_kept(struct gnip_vc *vc, uint32_t slots)
{
    uint32_t more;

    (void)slots;
    if (vc->window == 0 || vc->given - vc->arrived > vc->window / 4)
        return;
    more = share_of(vc->ep);
    if (more > vc->window)
        more = vc->window;
    if (more != 0)
        grant(vc, more);
}

void gnip_rx_window_return(struct gnip_vc *vc, uint32_t slots)
{
    if (gnip_unlikely(vc->held_before >= slots)) {
        vc->held_before -= slots;
        return;
    }
    if (gnip_unlikely(vc->held < slots))
        return;
    vc->held -= slots;
    vc->given += slots;
    vc->promised += slots - 1;
    vc->ep->granted_messages += slots - 1;
    if (gnip_unlikely(gnip_rx_window_due(vc)))
        gnip_vc_schedule(vc);
}

bool gnip_rx_window_due(const struct gnip_vc *vc)
{
    return 2 * (vc->given - vc->told) >= vc->window && vc->window != 0;
}

void gnip_rx_window_close(struct gnip_vc *vc)
{
    assert(vc->ep->granted_slots >= vc->window && vc->ep->granted_messages >= vc->promised);
    vc->ep->granted_slots -= vc->window;
    vc->ep->granted_messages -= vc->promised;
    vc->held_before += vc->held;
    vc->window = vc->promised = vc->held = 0;
}
