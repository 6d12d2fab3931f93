/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The driver: what the device of lnet_ioctl.h does, for the processes of one host. It validates,
 * pins, maps and frees; it knows nothing of LNet, and trusts nothing that a process shares. It
 * never aborts: a wrong call gives -EBADR, -EFAULT, -ENOTTY or -EBUSY.
 */
#ifndef JACQUARD_M0_KLNET_DRV_H
#define JACQUARD_M0_KLNET_DRV_H

#include "net/lnet/linux_kernel/klnet_core.h"
#include "net/lnet/lnet_ioctl.h"

struct nlx_dd; /* the driver of a host */
struct nlx_dd_file; /* an open descriptor */

/* Bounds; 0: none. A call that hits one gives -EMFILE (files), -ENOSPC (machines, buffers), -ENOMEM
 * (slots, pages). */
struct nlx_dd_cfg {
    uint32_t dc_max_files;
    uint32_t dc_max_tms, dc_max_bufs; /* per descriptor */
    uint32_t dc_max_bevs; /* per machine */
    uint32_t dc_sq_nr; /* most entries of a submission ring; 0: 64 */
    uint64_t dc_max_pinned_pages; /* per descriptor */
};

/* The calling process as the driver sees it. */
struct nlx_dd_proc {
    uint64_t dp_id;
    void *dp_context; /* of the functions below */
    /* 0 or -EFAULT. */
    int (*dp_copy_in)(const struct nlx_dd_proc *proc, void *to, uint64_t from, size_t bytes);
    int (*dp_copy_out)(const struct nlx_dd_proc *proc, uint64_t to, const void *from, size_t bytes);
    /* The page of an address, which stays until it is unpinned, also when the process has gone. 0
     * or -EFAULT. */
    int (*dp_pin)(const struct nlx_dd_proc *proc, uint64_t address, struct page **page);
    void (*dp_unpin)(struct page *page);
    /* How the driver reaches a pinned page. Never fail; called in any context. */
    void *(*dp_map)(struct page *page);
    void (*dp_unmap)(struct page *page);
    /* As kd_ring of a domain; or NULL. */
    void (*dp_ring)(struct m0_atomic64 *count);
};

struct nlx_dd_stats {
    uint64_t ds_verbs[M0_LNET_IOC_MAX_NR + 1]; /* by number of the verb */
    uint64_t ds_operations; /* that were handed to LNet */
    uint64_t ds_pins, ds_unpins, ds_maps, ds_unmaps;
    uint32_t ds_files, ds_tms, ds_bufs, ds_bevs; /* now */
};

/* NULL: no memory. `host` outlives it. cfg NULL: no bounds. */
struct nlx_dd *nlx_dd_new(struct nlx_kcore_host *host, const struct nlx_dd_cfg *cfg);
void nlx_dd_free(struct nlx_dd *dd); /* no file is open */
/* 0; -EACCES: `flags` is not O_RDWR (O_CLOEXEC may be set); -EMFILE; -ENOMEM. `proc` is copied. */
int nlx_dd_open(struct nlx_dd *dd, const struct nlx_dd_proc *proc, int flags,
                struct nlx_dd_file **file);
/* A verb. `arg`: its parameters in the caller's private memory, _IOC_SIZE(cmd) bytes, also for what
 * it returns. >= 0 or a negative errno. */
long nlx_dd_ioctl(struct nlx_dd_file *file, unsigned cmd, void *arg);
/* read(2) and write(2) of a descriptor: there is nothing to read or write, -EINVAL. */
long nlx_dd_read(struct nlx_dd_file *file, uint64_t to, size_t bytes);
long nlx_dd_write(struct nlx_dd_file *file, uint64_t from, size_t bytes);
/* The last duplicate of the descriptor is closed: frees all that belongs to it, and waits for what
 * LNet still does. */
void nlx_dd_close(struct nlx_dd_file *file);
/* A process is about to be killed by nlx_dd_kill: returns with the locks of its files, so no thread
 * of it is in the middle of a verb, but for waits. */
void nlx_dd_freeze(struct nlx_dd *dd, uint64_t dp_id);
/* A process has died, at any point: closes its files. Its threads do not run any more. */
void nlx_dd_kill(struct nlx_dd *dd, uint64_t dp_id);
void nlx_dd_stats_get(const struct nlx_dd *dd, struct nlx_dd_stats *stats);
/* For driver tests: what the domain of a file calls. */
void nlx_dd_set_ops(struct nlx_dd_file *file, const struct nlx_kcore_ops *ops);

#endif
