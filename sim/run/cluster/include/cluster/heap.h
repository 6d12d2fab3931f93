/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that ranks allocate. The address of a buffer affects what a network does with it: packets
 * are split at cache lines, registrations at pages. Addresses from the host's allocator depend on
 * the host: on its libraries, on hash tables, on earlier runs. So sim-run has its own malloc() and
 * its relatives. A call in a rank's thread during a simulation gets memory of the rank's own heap
 * (sim_fiber_memory()), whose place depends on the number of the rank only; every other call gets
 * the C library's memory, and so do calls of the simulator (engine/outside.h). free() and realloc()
 * accept both anywhere. An address has the same offset in every run. A rank that allocates occupies
 * a page or more of its own.
 *
 * Sanitizers have an allocator of their own. In such a build there is no separate area, and runs
 * may differ in what depends on addresses.
 */
#ifndef JACQUARD_RUN_HEAP_H
#define JACQUARD_RUN_HEAP_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define HEAP_OFF
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(HEAP_OFF)
#define HEAP_OFF
#endif

/* The calling thread begins a simulation, or has ended it. */
void cluster_heap_begin(void);
void cluster_heap_end(void);
/* Allocations of the calling thread count as those of the simulation, because a rank's code runs on
 * it. */
void cluster_heap_lend(void);

/* free(), for a program that has a free() of its own before this one. */
void cluster_heap_free(void *memory);

#endif
