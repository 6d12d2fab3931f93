/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef JACQUARD_ARIES_PARAMS_H
#define JACQUARD_ARIES_PARAMS_H

#include "nic/fabric.h"

/* Converts the parameters to the units that the model computes with. */
void aries_params_to_timing(const struct aries_params *params, struct aries_timing *timing);

#endif
