/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Annotations that other sources write; none of them has a meaning here. */
#ifndef M0_LIB_CDEFS_H
#define M0_LIB_CDEFS_H

#define M0_INTERNAL
#define M0_EXTERN extern
#define M0_EXPORTED(symbol)
#define M0_UNUSED __attribute__((unused))
#define M0_XCA_OPAQUE(text)
#define M0_XCA_DOMAIN(domain)
#define M0_XCA_RECORD
#define M0_XCA_SEQUENCE
#define M0_XCA_TAG(text)

#endif
