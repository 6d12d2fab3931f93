/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The names that the paper's figures write without a prefix: include this after madeleine.h. */
#ifndef JACQUARD_MADELEINE_PAPER_H
#define JACQUARD_MADELEINE_PAPER_H

#include "madeleine.h"

#define send_SAFER mad_send_SAFER
#define send_LATER mad_send_LATER
#define send_CHEAPER mad_send_CHEAPER
#define receive_EXPRESS mad_receive_EXPRESS
#define receive_CHEAPER mad_receive_CHEAPER

#define begin_packing mad_begin_packing
#define pack mad_pack
#define end_packing mad_end_packing
#define begin_unpacking mad_begin_unpacking
#define unpack mad_unpack
#define end_unpacking mad_end_unpacking

#endif
