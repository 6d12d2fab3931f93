/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The arguments of a call of gni_pub.h, for its slice in the trace. */
#ifndef JACQUARD_ARIES_CALL_TRACE_H
#define JACQUARD_ARIES_CALL_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include "gni_pub.h"

enum aries_call_kind {
    ARIES_CALL_NUMBER,
    ARIES_CALL_OUT_8, /* what the call wrote there, if it succeeded */
    ARIES_CALL_OUT_32,
    ARIES_CALL_OUT_64,
    ARIES_CALL_POST, /* its type */
    ARIES_CALL_ENDPOINT, /* the peer */
    ARIES_CALL_QUEUE, /* its index */
    ARIES_CALL_HIDDEN
};
struct aries_call_value {
    enum aries_call_kind kind;
    union {
        uint64_t number;
        const void *pointer;
    };
};

/* Ends the call in the trace. `names` are those of the values: "(ep_hndl, post_descr)". */
void aries_call_traced(uintptr_t outer, const char *call, gni_return_t status, const char *names,
                       const struct aries_call_value *values, size_t count) __attribute__((cold));

#endif
