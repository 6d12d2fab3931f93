/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Types of ALPS, the launcher of Cray systems. */
#ifndef JACQUARD_ALPS_ALPS_H
#define JACQUARD_ALPS_ALPS_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

/* The placement of an application, as seen by one of its processes. */
typedef struct {
    int numPesHere; /* processes on the caller's node */
    int firstPe; /* lowest rank on the caller's node */
    int numCmds; /* programs in the application */
    int numNodes;
} alpsAppLayout_t;

#endif
