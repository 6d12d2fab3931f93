/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Flow control: how much a peer may send before the receiver has matched it.
 *
 * The endpoint has a pool of credits for 256 bytes each, and of messages. A granted credit may
 * become one message. When a message uses several credits, the others cannot become messages any
 * more. So neither the bytes nor the number of unexpected messages can exceed the pool, whatever
 * the peers send, unless there are so many peers (above a thousand) that their minimum exceeds the
 * pool. Credits are sent as cumulative numbers modulo 2^32 and never revoked.
 */
#include "ep.h"
#include "gnip.h"
#include "lock.h"
#include "rx_window.h"
#include "vc.h"

#define FIRST_MAX 1024u /* first credits of one peer */
#define FIRST_MIN 4u /* enough for the longest RTS */
#define SHARE 16u /* of the free credits, for one peer */
#define RESERVE 4096u /* for the first credits of further peers */

/* The credits that one more peer may have. */
static uint32_t share(const struct gnip_ep *ep)
{
    uint32_t reserved = RESERVE, free_credits = 0, free_messages = 0;

    if (ep->rx_credits_advertised + reserved < GNIP_POOL_CREDITS)
        free_credits = GNIP_POOL_CREDITS - ep->rx_credits_advertised - reserved;
    if (ep->rx_messages_advertised + reserved < GNIP_POOL_MESSAGES)
        free_messages = GNIP_POOL_MESSAGES - ep->rx_messages_advertised - reserved;
    return (free_credits < free_messages ? free_credits : free_messages) / SHARE;
}

static void advertise(struct gnip_vc *vc, uint32_t credits)
{
    vc->rx_window += credits;
    vc->rx_credits += credits;
    vc->rx_messages_promised += credits;
    vc->ep->rx_credits_advertised += credits;
    vc->ep->rx_messages_advertised += credits;
}

void gnip_rx_window_open(struct gnip_vc *vc)
{
    uint32_t credits = share(vc->ep);

    gnip_assert_held(&vc->ep->lock);
    if (vc->rx_window != 0)
        return;
    if (credits > FIRST_MAX)
        credits = FIRST_MAX;
    if (credits < FIRST_MIN)
        credits = FIRST_MIN;
    vc->rx_credits = vc->rx_credits_used = 0;
    advertise(vc, credits);
    vc->rx_credits_sent = vc->rx_credits; /* the connection message contains it */
    vc->rx_credits_first = (uint16_t)vc->rx_credits;
}

bool gnip_rx_window_arrived(struct gnip_vc *vc, uint32_t credits)
{
    if (gnip_unlikely(vc->rx_credits - vc->rx_credits_used < credits))
        return false;
    vc->rx_credits_used += credits;
    vc->rx_credits_held += credits;
    assert(vc->rx_credits_held <= vc->rx_window && vc->rx_messages_promised >= credits - 1);
    vc->rx_messages_promised -= credits - 1;
    vc->ep->rx_messages_advertised -= credits - 1;
    return true;
}

/*
 * The application is behind: a peer that has used much of its window gets more credits if there are
 * some.
 */
void gnip_rx_window_kept(struct gnip_vc *vc, uint32_t credits)
{
    uint32_t added;

    (void)credits;
    if (vc->rx_window == 0 || vc->rx_credits - vc->rx_credits_used > vc->rx_window / 4)
        return;
    added = share(vc->ep);
    if (added > vc->rx_window)
        added = vc->rx_window;
    if (added != 0)
        advertise(vc, added);
}

void gnip_rx_window_return(struct gnip_vc *vc, uint32_t credits)
{
    if (gnip_unlikely(vc->rx_credits_held_before >= credits)) {
        vc->rx_credits_held_before -= credits;
        return;
    }
    if (gnip_unlikely(vc->rx_credits_held < credits))
        return;
    vc->rx_credits_held -= credits;
    vc->rx_credits += credits;
    vc->rx_messages_promised += credits - 1;
    vc->ep->rx_messages_advertised += credits - 1;
    if (gnip_unlikely(gnip_rx_window_due(vc)))
        gnip_vc_schedule(vc);
}

bool gnip_rx_window_due(const struct gnip_vc *vc)
{
    return 2 * (vc->rx_credits - vc->rx_credits_sent) >= vc->rx_window && vc->rx_window != 0;
}

void gnip_rx_window_close(struct gnip_vc *vc)
{
    assert(vc->ep->rx_credits_advertised >= vc->rx_window &&
           vc->ep->rx_messages_advertised >= vc->rx_messages_promised);
    vc->ep->rx_credits_advertised -= vc->rx_window;
    vc->ep->rx_messages_advertised -= vc->rx_messages_promised;
    vc->rx_credits_held_before += vc->rx_credits_held;
    vc->rx_window = vc->rx_messages_promised = vc->rx_credits_held = 0;
}
