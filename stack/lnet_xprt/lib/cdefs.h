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

/* The processor, as these sources ask for it. */
#if defined(__x86_64__) && !defined(CONFIG_X86_64)
#define CONFIG_X86_64 1
#elif defined(__aarch64__) && !defined(CONFIG_AARCH64)
#define CONFIG_AARCH64 1
#endif

#endif
