/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the driver share. */
#ifndef JACQUARD_M0_KLNET_DRV_PVT_H
#define JACQUARD_M0_KLNET_DRV_PVT_H

#include "net/lnet/linux_kernel/klnet_drv.h"

enum drv_kind { DRV_FREE, DRV_TM, DRV_BUFFER };

/*
 * A reference that user space keeps has the number of a slot and, above it, its generation and the
 * number of the descriptor, so that those of other descriptors are not taken for its own.
 */
struct drv_slot {
    void *ds_object;
    uint32_t ds_generation;
    enum drv_kind ds_kind;
};

struct nlx_dd {
    struct nlx_kcore_host *dd_host;
    struct nlx_dd_cfg dd_cfg;
    struct m0_mutex dd_mutex; /* of dd_files */
    struct list_head dd_files;
    uint32_t dd_opened; /* files so far */
    struct nlx_dd_stats dd_stats; /* atomic */
};

struct nlx_dd_file {
    struct nlx_dd *df_dd;
    struct nlx_dd_proc df_proc;
    struct list_head df_linkage; /* in dd_files */
    struct m0_mutex df_mutex; /* of all below; not held while a verb waits for events */
    struct m0_cond df_left; /* a verb has ended while the file closes */
    struct nlx_kcore_domain df_kd;
    struct page *df_cd_page; /* NULL: no domain yet */
    bool df_closing;
    uint32_t df_inside; /* verbs under way */
    uint32_t df_number;
    struct drv_slot *df_slots;
    uint32_t df_slot_count;
    uint32_t df_tms, df_bufs, df_bevs;
    uint64_t df_pinned;
    struct nlx_dd_cfg df_limits; /* the driver's, or lower ones */
};

struct drv_sq {
    struct page **sq_pages; /* NULL: none */
    uint32_t sq_page_count, sq_nr;
    uint64_t sq_head; /* next entry to take; the shared number is only for the process */
};

struct drv_tm {
    struct nlx_kcore_transfer_mc dt_ktm; /* ktm_drv_linkage: in kd_drv_tms */
    struct page *dt_page; /* of the core object */
    uint64_t dt_reference;
    uint32_t dt_bevs;
    uint32_t dt_waiters; /* threads in EVENT_WAIT */
    struct drv_sq dt_sq;
};

struct drv_buffer {
    struct nlx_kcore_buffer db_kb; /* kb_drv_linkage: in kd_drv_bufs */
    struct page *db_page;
    uint64_t db_reference;
};

/* The file is locked in all that follows. */
static inline struct drv_tm *drv_tm_of(struct nlx_kcore_transfer_mc *ktm)
{
    return container_of(ktm, struct drv_tm, dt_ktm);
}

/* klnet_drv.c */
void *nlx_drv_object(const struct nlx_dd_file *file, const void *reference, enum drv_kind kind);
/* 0: no memory. */
uint64_t nlx_drv_reference_new(struct nlx_dd_file *file, void *object, enum drv_kind kind);
void nlx_drv_reference_free(struct nlx_dd_file *file, uint64_t reference);
/* Pins the page of a shared object, which must not cross it. 0, -EBADR, -EFAULT, -ENOMEM. */
int nlx_drv_object_pin(struct nlx_dd_file *file, const void *address, size_t bytes,
                       struct page **page, struct nlx_core_kmem_loc *loc);
int nlx_drv_pin(struct nlx_dd_file *file, uint64_t address, struct page **page);
void nlx_drv_unpin(struct nlx_dd_file *file, struct page *page);
/* Copies from and to a pinned object. */
void nlx_drv_read(struct nlx_dd_file *file, const struct nlx_core_kmem_loc *loc, void *to,
                  size_t bytes);
void *nlx_drv_map(struct nlx_dd_file *file, struct page *page);
void nlx_drv_unmap(struct nlx_dd_file *file, struct page *page);

/* klnet_drv_verbs.c */
int nlx_drv_buf_register(struct nlx_dd_file *file,
                         const struct m0_lnet_dev_buf_register_params *params);
int nlx_drv_buf_deregister(struct nlx_dd_file *file, const void *reference);
int nlx_drv_operation(struct nlx_dd_file *file, unsigned verb, struct drv_tm *tm,
                      struct drv_buffer *buffer, const struct nlx_core_buffer *cb);
int nlx_drv_buf_queue(struct nlx_dd_file *file, unsigned verb,
                      const struct m0_lnet_dev_buf_queue_params *params);
int nlx_drv_tm_start(struct nlx_dd_file *file, struct nlx_core_transfer_mc *shared);
int nlx_drv_tm_stop(struct nlx_dd_file *file, const void *reference);
int nlx_drv_bless(struct nlx_dd_file *file, const void *ktm, uint32_t nr,
                  struct nlx_core_buffer_event *const *bevs);
/* Nothing uses it any more. */
void nlx_drv_buffer_free(struct nlx_dd_file *file, struct drv_buffer *buffer);
void nlx_drv_tm_free(struct nlx_dd_file *file, struct drv_tm *tm);

/* klnet_drv_sq.c */
int nlx_drv_sq_setup(struct nlx_dd_file *file, const struct m0_lnet_dev_sq_setup_params *params);
/* The number of entries that were taken, or -EBADR. */
int nlx_drv_sq_submit(struct nlx_dd_file *file, struct drv_tm *tm);
void nlx_drv_sq_free(struct nlx_dd_file *file, struct drv_tm *tm);

#endif
