/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* State of balanced injection of one NIC. */
#ifndef JACQUARD_ARIES_BI_H
#define JACQUARD_ARIES_BI_H

#include "nic/interface.h"

/* Arguments of GNI_SetBIConfig: a percentage or a number of request packets; 0 means no limit. */
struct aries_bi_setting {
    uint16_t bw, aot_bw, flags;
};

struct aries_bi {
    struct aries_bi_setting current;
    struct aries_bi_setting next; /* takes effect when the current throttle ends */
    bool pending; /* `next` is set */
    uint16_t norbs; /* packets that the NIC may have in flight now */
    /* Number of changes made by software of the node, and by the system controller. */
    uint16_t cle_seqnum, hss_seqnum;
};

#endif
