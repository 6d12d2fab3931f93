/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Kinds of records of the storage system's own tracing, see addb2/addb2.h. */
#ifndef M0_NET_ADDB2_H
#define M0_NET_ADDB2_H

#include "addb2/identifier.h"

enum {
    M0_AVI_NET_BUF = M0_AVI_NET_RANGE_START + 1, /* an event of a buffer */
};

#endif
