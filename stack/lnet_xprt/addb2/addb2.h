/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Records of the storage system's own tracing. They cost nothing, and their arguments are not
 * evaluated, as those of lib/trace.h. */
#ifndef M0_ADDB2_ADDB2_H
#define M0_ADDB2_ADDB2_H

#include "lib/types.h"

#define M0_ADDB2_ADD(id, ...) ((void)0)
#define M0_ADDB2_PUSH(id, ...) ((void)0)
#define M0_ADDB2_OBJ(object) ((uint64_t)(object))
#define M0_ADDB2_IN(id, statement, ...) \
    do {                                \
        statement;                      \
    } while (0)
#define m0_addb2_add(id, n, values) ((void)0)
#define m0_addb2_push(id, n, values) ((void)0)
#define m0_addb2_pop(id) ((void)0)

#endif
