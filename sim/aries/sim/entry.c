/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of gni_pub.h in a simulation: the engine knows which of them a rank is in. While a
 * trace is written, each call has its arguments in it (call_trace.c).
 */
#include "engine/outside.h"
#include "engine/sim.h"
#include "engine/trace.h"
#include "gni_pub.h"
#include "sim/call_trace.h"

static struct aries_call_value number_value(uint64_t number)
{
    return (struct aries_call_value){ARIES_CALL_NUMBER, {.number = number}};
}
#define POINTER_VALUE(name, type, its_kind)                               \
    static struct aries_call_value name(const type *pointer)              \
    {                                                                     \
        return (struct aries_call_value){its_kind, {.pointer = pointer}}; \
    }
POINTER_VALUE(out_8_value, uint8_t, ARIES_CALL_OUT_8)
POINTER_VALUE(out_32_value, void, ARIES_CALL_OUT_32)
POINTER_VALUE(out_64_value, uint64_t, ARIES_CALL_OUT_64)
POINTER_VALUE(post_value, gni_post_descriptor_t, ARIES_CALL_POST)
POINTER_VALUE(endpoint_value, struct gni_ep, ARIES_CALL_ENDPOINT)
POINTER_VALUE(queue_value, struct gni_cq, ARIES_CALL_QUEUE)
POINTER_VALUE(hidden_value, void, ARIES_CALL_HIDDEN)

#define VALUE(x) \
    _Generic((x),                           \
        uint8_t: number_value,              \
        uint16_t: number_value,             \
        uint32_t: number_value,             \
        uint64_t: number_value,             \
        int: number_value,                  \
        uint8_t *: out_8_value,             \
        uint32_t *: out_32_value,           \
        uint64_t *: out_64_value,           \
        int *: out_32_value,                \
        gni_post_descriptor_t *: post_value, \
        gni_ep_handle_t: endpoint_value,    \
        gni_cq_handle_t: queue_value,       \
        default: hidden_value)(x)

#define V1(a) VALUE(a)
#define V2(a, ...) VALUE(a), V1(__VA_ARGS__)
#define V3(a, ...) VALUE(a), V2(__VA_ARGS__)
#define V4(a, ...) VALUE(a), V3(__VA_ARGS__)
#define V5(a, ...) VALUE(a), V4(__VA_ARGS__)
#define V6(a, ...) VALUE(a), V5(__VA_ARGS__)
#define V7(a, ...) VALUE(a), V6(__VA_ARGS__)
#define V8(a, ...) VALUE(a), V7(__VA_ARGS__)
#define PICK(a, b, c, d, e, f, g, h, V, ...) V
#define VALUES(...) PICK(__VA_ARGS__, V8, V7, V6, V5, V4, V3, V2, V1, V0)(__VA_ARGS__)

#define TRACED(name, arguments)                                     \
    {                                                               \
        struct aries_call_value values[] = {VALUES arguments};      \
                                                                    \
        aries_call_traced(outer, #name, status, #arguments, values, \
                          sizeof values / sizeof *values);          \
    }

#define CALL(name, parameters, arguments)        \
    gni_return_t aries_##name parameters;        \
    gni_return_t name parameters                 \
    {                                            \
        uintptr_t outer = sim_call_begin(#name); \
        gni_return_t status;                     \
                                                 \
        sim_outside_begin();                     \
        status = aries_##name arguments;         \
        sim_outside_end();                       \
        if (sim_unlikely(sim_trace_on))          \
            TRACED(name, arguments)              \
        else                                     \
            sim_call_end(outer);                 \
        return status;                           \
    }
#define WAIT(name, parameters, arguments) CALL(name, parameters, arguments)
/* Idle ranks make these calls again and again, and they neither post nor end in a wait. */
#define POLL(name, parameters, arguments, is_empty, nothing) \
    gni_return_t aries_##name parameters;                    \
    gni_return_t name parameters                             \
    {                                                        \
        if (sim_unlikely(sim_trace_on)) {                    \
            uintptr_t outer = sim_call_begin(#name);         \
            gni_return_t status = aries_##name arguments;    \
                                                             \
            TRACED(name, arguments)                          \
            return status;                                   \
        }                                                    \
        sim_call_note(#name);                                \
        return aries_##name arguments;                       \
    }
#include "nic/calls.h"
