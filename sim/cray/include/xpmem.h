/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * XPMEM: processes of a node map each other's memory. In simulation, where ranks share an address
 * space, an attachment is the other rank's memory itself; segments of other nodes cannot be
 * reached. Outside sim-run there is no such device: xpmem_version() and all others return -1, with
 * errno ENODEV.
 */
#ifndef JACQUARD_XPMEM_H
#define JACQUARD_XPMEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define XPMEM_CURRENT_VERSION 0x00026005

#define XPMEM_RDONLY 0x1
#define XPMEM_RDWR 0x2
#define XPMEM_PERMIT_MODE 0x1
#define XPMEM_MAXADDR_SIZE ((size_t)(-1L)) /* size of a segment: all of the caller's memory */

typedef int64_t xpmem_segid_t; /* a segment; valid for all processes of the node */
typedef int64_t xpmem_apid_t; /* the right to use one */

struct xpmem_addr {
    xpmem_apid_t apid;
    off_t offset; /* in the segment */
};

int xpmem_version(void);
/* Offers [vaddr, vaddr+size). permit_type: XPMEM_PERMIT_MODE, value: a file mode such as 0600. */
xpmem_segid_t xpmem_make(void *vaddr, size_t size, int permit_type, void *permit_value);
int xpmem_remove(xpmem_segid_t segid); /* attachments remain valid */
/* flags: XPMEM_RDONLY or XPMEM_RDWR. ENOENT: no such segment on this node. */
xpmem_apid_t xpmem_get(xpmem_segid_t segid, int flags, int permit_type, void *permit_value);
int xpmem_release(xpmem_apid_t apid);
/* The address; (void *)-1: failed (EINVAL: beyond the segment). vaddr: NULL. */
void *xpmem_attach(struct xpmem_addr addr, size_t size, void *vaddr);
int xpmem_detach(void *vaddr);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
