/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gni_pub.h for the sources that implement it: they include this header instead. With
 * ARIES_INNER_NAMES their calls have other names: live/entry.c and sim/entry.c define those of
 * gni_pub.h.
 */
#ifndef JACQUARD_ARIES_GNI_H
#define JACQUARD_ARIES_GNI_H

#ifdef ARIES_INNER_NAMES
#include "nic/inner_names.h"
#endif
#include "gni_pub.h"

#endif
