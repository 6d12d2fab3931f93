/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef JACQUARD_ARIES_MEM_COPY_H
#define JACQUARD_ARIES_MEM_COPY_H

/* Between these two calls aries_copy() survives unmapped pages. The calls nest. */
void aries_copy_guard(void);
void aries_copy_unguard(void);

#endif
