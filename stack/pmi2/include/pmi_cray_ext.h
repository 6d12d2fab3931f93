/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cray's extensions of PMI, under another name of theirs; they are declared with the rest. */
#ifndef JACQUARD_PMI_CRAY_EXT_H
#define JACQUARD_PMI_CRAY_EXT_H
#include <pmi.h>
#endif
