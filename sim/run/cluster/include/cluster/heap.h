/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that ranks allocate. Where a buffer lies shows in what a network does with it: packets
 * split at cache lines, registrations at pages. The host's allocator gives out addresses that
 * depend on the host: on its libraries, on hash tables, on what ran before. So malloc and its kin
 * are ours: what is called in a rank's thread while a simulation runs gets memory of an area of its
 * own, at the same offset in every run; everybody else gets the C library's. Any address may be
 * given to free() and realloc() anywhere.
 *
 * Sanitizers bring an allocator of their own: in such a build there is no such area, and runs may
 * differ in what follows from addresses.
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

/* The calling thread is about to run a simulation / has run it. */
void cluster_heap_begin(void);
void cluster_heap_end(void);
/* The calling thread lends itself to a rank's thread: what is called under its name counts so. */
void cluster_heap_lend(void);

/* What free() does; for a program that has a free() of its own before it. */
void cluster_heap_free(void *memory);

#endif
