/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where the kinds of records of a layer begin. No record is written, so only names matter. */
#ifndef M0_ADDB2_IDENTIFIER_H
#define M0_ADDB2_IDENTIFIER_H

enum {
    M0_AVI_NET_RANGE_START = 0xe000,
};

#endif
