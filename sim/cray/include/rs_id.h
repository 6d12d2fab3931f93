/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Types of the resiliency services: nodes and their state. */
#ifndef JACQUARD_RS_ID_H
#define JACQUARD_RS_ID_H

#include <stdint.h>

enum { RS_NODE_STATE_OFF = 2, RS_NODE_STATE_READY = 7 };

typedef union rs_node {
    struct {
        uint32_t _node_id; /* nid */
        uint16_t _node_state; /* RS_NODE_STATE_ */
        uint16_t _node_role;
    } rs_node_s;
    uint64_t rs_node;
} rs_node_t;

typedef struct rs_node_array {
    int32_t na_len;
    rs_node_t *na_ids; /* malloc'ed */
} rs_node_array_t;

#endif
