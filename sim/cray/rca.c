/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "rca_lib.h"

#include <stdlib.h>
#include "cray/host.h"

static rs_node_t describe(const struct cray_process *self, uint32_t nid)
{
    rs_node_t node = {.rs_node = 0};

    node.rs_node_s._node_id = nid;
    node.rs_node_s._node_state =
        cray_host()->node_up(self, nid) ? RS_NODE_STATE_READY : RS_NODE_STATE_OFF;
    return node;
}

int rca_get_nodeid(rs_node_t *node)
{
    const struct cray_process *self = cray_process_self();

    if (node == NULL)
        return -1;
    *node = describe(self, cray_host()->nid_of(self, self->rank));
    return 0;
}

int rca_get_sysnodes(rs_node_array_t *nodes)
{
    const struct cray_process *self = cray_process_self();
    uint32_t count = cray_host()->nodes(self), nid;

    if (nodes == NULL)
        return -1;
    nodes->na_len = 0;
    nodes->na_ids = calloc(count, sizeof(*nodes->na_ids));
    if (nodes->na_ids == NULL)
        return -1;
    for (nid = 0; nid < count; nid++)
        nodes->na_ids[nid] = describe(self, nid);
    nodes->na_len = (int32_t)count;
    return 0;
}

int rca_get_meshcoord(uint16_t nid, rca_mesh_coord_t *coordinates)
{
    (void)nid;
    (void)coordinates;
    return -1;
}

int rca_get_max_dimension(rca_mesh_coord_t *dimensions)
{
    (void)dimensions;
    return -1;
}
