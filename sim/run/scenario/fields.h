/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The notation of the tables of fields: kind, type and place of a field in its record. */
#ifndef JACQUARD_RUN_FIELDS_H
#define JACQUARD_RUN_FIELDS_H

#include "scenario/scenario.h"

#define COUNT(record, member) \
    .kind = FIELD_VALUE, .type = ARG_COUNT, .offset = PLACE(uint64_t, record, member)
#define BYTES(record, member) \
    .kind = FIELD_VALUE, .type = ARG_BYTES, .offset = PLACE(uint64_t, record, member)
#define TIME(record, member) \
    .kind = FIELD_VALUE, .type = ARG_TIME, .offset = PLACE(uint64_t, record, member)
#define CHOICE(record, member) \
    .kind = FIELD_VALUE, .type = ARG_CHOICE, .offset = PLACE(uint64_t, record, member)
#define BOOL(record, member) \
    .kind = FIELD_VALUE, .type = ARG_BOOL, .offset = PLACE(bool, record, member)
#define REAL(record, member) \
    .kind = FIELD_VALUE, .type = ARG_REAL, .offset = PLACE(double, record, member)
#define STRING(record, member) .kind = FIELD_STRING, .offset = PLACE(const char *, record, member)
#define NODES(record, member) .kind = FIELD_NODES, .offset = PLACE(struct node_set, record, member)
#define FREE(record, member) \
    .kind = FIELD_FREE, .offset = PLACE(const struct tree *, record, member)
#define LIST(record, member) .kind = FIELD_LIST, .offset = PLACE(struct record_list, record, member)
#define RECORD(type, record, member) \
    .kind = FIELD_RECORD, .offset = PLACE(struct type, record, member)
#define PAIR(record, member) .kind = FIELD_PAIR, .offset = PLACE(const char *[2], record, member)

extern const struct schema scenario_fault_schema; /* fields_faults.c */
extern const struct schema scenario_lnet_schema; /* fields_lnet.c */

#endif
