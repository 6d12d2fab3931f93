/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Balanced injection of one NIC. */
#ifndef JACQUARD_ARIES_BI_H
#define JACQUARD_ARIES_BI_H

#include "nic/interface.h"

/* What GNI_SetBIConfig gives: percent, or request packets; 0: no limit. */
struct aries_bi_setting {
    uint16_t bw, aot_bw, flags;
};

struct aries_bi {
    struct aries_bi_setting current;
    struct aries_bi_setting next; /* takes effect after a throttle */
    bool pending; /* there is a `next` */
    uint16_t norbs; /* packets that the NIC may have in flight now */
    uint16_t cle_seqnum, hss_seqnum; /* changes by software of the node, by the system controller */
};

#endif
