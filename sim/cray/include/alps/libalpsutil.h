/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef JACQUARD_ALPS_LIBALPSUTIL_H
#define JACQUARD_ALPS_LIBALPSUTIL_H

#include <alps/alps.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * Placement of the application `apid`, which must be the caller's. 1: done; anything else: not part
 * of an application, or no such. Each list may be NULL; those that are not are malloc'ed and the
 * caller's to free.
 *
 *   placementList: nid of each rank       targetNids, targetPes, targetLen, targetIps: per program
 *   startPe, totalPes: first rank and number of ranks of each program (numCmds entries)
 *   nodePes, peCpus: ranks per node and CPUs per rank, of each program
 *
 * There is one program per application; its "target" is the node of rank 0.
 */
int alps_get_placement_info(uint64_t apid, alpsAppLayout_t *layout, int **placementList,
                            int **targetNids, int **targetPes, int **targetLen,
                            struct in_addr **targetIps, int **startPe, int **totalPes,
                            int **nodePes, int **peCpus);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
