/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RCA: the nodes of the machine and their state. In simulation these are all nodes of the fabric,
 * outside sim-run only the own node. All functions return 0 on success and -1 on failure.
 */
#ifndef JACQUARD_RCA_LIB_H
#define JACQUARD_RCA_LIB_H

#include <rs_id.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct rca_mesh_coord {
    uint16_t mesh_x, mesh_y, mesh_z;
} rca_mesh_coord_t;

int rca_get_nodeid(rs_node_t *node); /* the own node */
/* Every node with its state; na_ids is the caller's to free. */
int rca_get_sysnodes(rs_node_array_t *nodes);
/* Coordinates in the torus of a Gemini system. Always -1, because this is a dragonfly. */
int rca_get_meshcoord(uint16_t nid, rca_mesh_coord_t *coordinates);
int rca_get_max_dimension(rca_mesh_coord_t *dimensions);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
