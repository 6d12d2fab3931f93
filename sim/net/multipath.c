/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "multipath.h"

#include <assert.h>
#include <stdlib.h>

struct multipath_block {
    struct multipath_block *next;
    struct net_multipath multipath[32];
};

struct net_multipath *net_multipath_new(struct net *net)
{
    struct net_multipath *multipath;

    if (net->free_multipaths == NULL) {
        struct multipath_block *block = malloc(sizeof(*block));
        uint32_t i;

        if (block == NULL)
            abort();
        block->next = net->multipath_blocks;
        net->multipath_blocks = block;
        for (i = 0; i < sizeof(block->multipath) / sizeof(*block->multipath); i++) {
            block->multipath[i].next = net->free_multipaths;
            net->free_multipaths = &block->multipath[i];
        }
    }
    multipath = net->free_multipaths;
    net->free_multipaths = multipath->next;
    multipath->links = 0;
    return multipath;
}

void net_multipaths_fini(struct net *net)
{
    while (net->multipath_blocks != NULL) {
        struct multipath_block *next = net->multipath_blocks->next;

        free(net->multipath_blocks);
        net->multipath_blocks = next;
    }
}

void net_multipath_free(struct net *net, struct net_transfer *transfer)
{
    struct net_multipath *multipath = transfer->flight.multipath;

    assert(transfer->flight.links == NET_MULTIPATH);
    multipath->next = net->free_multipaths;
    net->free_multipaths = multipath;
}

void net_multipath_append(struct net_multipath *multipath, const struct net_flight *flight,
                          sim_time_t delay)
{
    uint32_t links = flight->links, i;

    assert(multipath->links + links <= NET_MULTIPATH_PATHS_MAX * NET_PATH_MAX);
    for (i = 0; i < links; i++) {
        sim_time_t departure = flight->passed[i].departure_ns + delay / SIM_NS;

        multipath->passed[multipath->links + i] = (struct net_passed_link){
            flight->passed[i].link, departure < UINT32_MAX ? (uint32_t)departure : UINT32_MAX};
    }
    multipath->links += links;
}

void net_flight_links(const struct net_flight *flight, struct net_flight_path *path)
{
    if (flight->links == NET_MULTIPATH)
        *path = (struct net_flight_path){flight->multipath->passed, flight->multipath->links};
    else
        *path = (struct net_flight_path){flight->passed, flight->links};
}
