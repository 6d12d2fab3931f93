/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What one process tells another about a buffer; the bytes are the transport's. */
#ifndef M0_NET_NET_OTW_TYPES_H
#define M0_NET_NET_OTW_TYPES_H

#include "lib/types.h"

/* nbd_len 0: none. Whoever holds it frees it with m0_net_desc_free(). */
struct m0_net_buf_desc {
    uint32_t nbd_len;
    uint8_t *nbd_data;
};
struct m0_net_buf_desc_data {
    struct m0_net_buf_desc bdd_desc;
    uint64_t bdd_used; /* bytes of data in the buffer */
};

#endif
