/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands of the NIC for libfabric's atomics. */
#ifndef JACQUARD_GNIP_AMO_H
#define JACQUARD_GNIP_AMO_H

#include "gnip.h"

enum gnip_amo_form { GNIP_AMO_PLAIN, GNIP_AMO_FETCHING, GNIP_AMO_COMPARING, GNIP_AMO_FORMS };
enum gnip_amo_operand { GNIP_AMO_INTEGER, GNIP_AMO_SIGNED, GNIP_AMO_FLOATING, GNIP_AMO_OPERANDS };

/* Bytes of an element; 0: the NIC does not have this type. */
uint8_t gnip_amo_width(enum fi_datatype datatype, enum gnip_amo_operand *operand);
/* The command, and the bytes of its element; 0: not available. */
uint16_t gnip_amo_command(enum gnip_amo_form form, enum fi_datatype datatype, enum fi_op op,
                          uint8_t *width);
/* fi_atomicvalid() and its relatives. */
int gnip_amo_plain_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
                         size_t *count);
int gnip_amo_fetching_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
                            size_t *count);
int gnip_amo_comparing_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
                             size_t *count);

#endif
