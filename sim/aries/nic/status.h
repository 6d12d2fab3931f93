/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The status codes of aries/misc/exceptions.h: their names, and whether a repeated transaction may
 * succeed, as in the error tables that Cray published with the driver.
 */
#ifndef JACQUARD_ARIES_STATUS_H
#define JACQUARD_ARIES_STATUS_H

#include <stdbool.h>
#include "aries/misc/exceptions.h"

#define ARIES_STATUS_COUNT 64

/* Without the prefix A_STATUS_; status < ARIES_STATUS_COUNT. */
const char *aries_status_name(unsigned status);
bool aries_status_recoverable(unsigned status); /* false for OKAY */

#endif
