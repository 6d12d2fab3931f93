/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Delivery modes: only this file interprets GNI_DLVMODE_ words.
 *
 * NO_ADAPT clears the adaptive bit of a request and NO_HASH its hash bit. An adaptive packet does
 * not use the hash. So NO_HASH alone leaves the default, ADAPTIVE_0; with NO_ADAPT it selects one
 * fixed path, in order. NO_RADAPT concerns responses. ORDERED_TAIL is a modifier.
 */
#ifndef JACQUARD_ARIES_DELIVERY_H
#define JACQUARD_ARIES_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>
#include "nic/gni.h"
#include "net/net.h"

/* Whether gni_pub.h defines all bits of the mode. */
static inline bool aries_delivery_valid(uint16_t mode)
{
    const uint16_t known = GNI_DLVMODE_IN_ORDER | GNI_DLVMODE_NO_RADAPT | GNI_DLVMODE_NMIN_HASH |
                           GNI_DLVMODE_MIN_HASH | GNI_DLVMODE_ADAPTIVE1 | GNI_DLVMODE_ADAPTIVE2 |
                           GNI_DLVMODE_ADAPTIVE3 | GNI_DLVMODE_ORDERED_TAIL;

    return (mode & ~known) == 0;
}

/* The route of a valid mode. Of several choices the most restrictive one counts. */
static inline enum net_route aries_delivery_route(uint16_t mode)
{
    if ((mode & GNI_DLVMODE_IN_ORDER) == GNI_DLVMODE_IN_ORDER)
        return NET_ROUTE_IN_ORDER;
    if (mode & GNI_DLVMODE_NMIN_HASH)
        return NET_ROUTE_NON_MIN_HASHED;
    if (mode & (GNI_DLVMODE_MIN_HASH | GNI_DLVMODE_NO_ADAPT))
        return NET_ROUTE_MIN_HASHED;
    if (mode & GNI_DLVMODE_ADAPTIVE3)
        return NET_ROUTE_ADAPTIVE_3;
    if (mode & GNI_DLVMODE_ADAPTIVE2)
        return NET_ROUTE_ADAPTIVE_2;
    return mode & GNI_DLVMODE_ADAPTIVE1 ? NET_ROUTE_ADAPTIVE_1 : NET_ROUTE_ADAPTIVE_0;
}

#endif
