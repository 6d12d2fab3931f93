/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the status codes of aries/misc/exceptions.h mean: their names and whether a repeated
 * transaction may succeed, as in the error tables that Cray published with the driver.
 */
#ifndef JACQUARD_ARIES_STATUS_H
#define JACQUARD_ARIES_STATUS_H

#include <stdbool.h>
#include "aries/misc/exceptions.h"

#define ARIES_STATUS_COUNT 64

const char *aries_status_name(unsigned status); /* without A_STATUS_; status < ARIES_STATUS_COUNT */
bool aries_status_recoverable(unsigned status); /* false for OKAY */

#endif
