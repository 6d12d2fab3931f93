/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gni_pub.h for the sources that implement it: they include this header instead. The target that
 * builds libugni from them defines ARIES_LOCKED_CALLS; a simulation runs one fiber at a time and
 * needs no lock.
 */
#ifndef JACQUARD_ARIES_GNI_H
#define JACQUARD_ARIES_GNI_H

#ifdef ARIES_LOCKED_CALLS
#include "nic/locked_names.h"
#endif
#include "gni_pub.h"

#endif
