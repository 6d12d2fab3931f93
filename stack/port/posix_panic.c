/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A file of its own, because it is all of the port that prints: a library that never panics, as
 * that of PMI, then does not refer to the functions for output.
 */
#include <stdio.h>
#include <stdlib.h>

#include "port/port.h"

void port_panic(const char *text)
{
    fprintf(stderr, "%s\n", text);
    abort();
}
