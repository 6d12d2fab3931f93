/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The driver's verbs on buffers, machines and event slots. */
#include <errno.h>
#include <string.h>

#include "lib/assert.h"
#include "lib/memory.h"
#include "net/lnet/linux_kernel/klnet_drv_pvt.h"

/* A number as user space keeps it in place of a pointer. */
static void *as_pointer(uint64_t reference)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): not followed by anybody */
    return (void *)(uintptr_t)reference;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static struct page *pin_segment(void *arg, uint64_t address, int *rc)
{
    struct page *page = NULL;

    *rc = nlx_drv_pin(arg, address, &page);
    return page;
}

static void unpin_segment(void *arg, struct page *page)
{
    nlx_drv_unpin(arg, page);
}

/* Reads the vector, and makes the page vector of it. */
static int make_kiov(struct nlx_dd_file *file, const struct m0_bufvec *bvec,
                     struct nlx_kcore_buffer *kb)
{
    const struct nlx_dd_proc *proc = &file->df_proc;
    uint32_t nr = bvec->ov_vec.v_nr;
    m0_bcount_t *counts;
    void **addresses;
    int rc;

    if (nr == 0)
        return -EINVAL;
    if (nr > (uint32_t)file->df_dd->dd_host->kh_limits.kl_max_segments)
        return -EFBIG;
    M0_ALLOC_ARR(counts, nr);
    M0_ALLOC_ARR(addresses, nr);
    rc = counts == NULL || addresses == NULL ? -ENOMEM : 0;
    if (rc == 0)
        rc =
            proc->dp_copy_in(proc, counts, (uintptr_t)bvec->ov_vec.v_count, nr * sizeof(counts[0]));
    if (rc == 0)
        rc = proc->dp_copy_in(proc, addresses, (uintptr_t)bvec->ov_buf, nr * sizeof(addresses[0]));
    if (rc == 0)
        rc = nlx_kcore_kiov_build(&file->df_kd, kb, nr, counts, addresses, pin_segment,
                                  unpin_segment, file);
    m0_free(counts);
    m0_free(addresses);
    return rc;
}

static void drop_kiov(struct nlx_dd_file *file, struct nlx_kcore_buffer *kb)
{
    uint32_t i;

    for (i = kb->kb_kiov_len; i-- > 0;)
        nlx_drv_unpin(file, kb->kb_kiov[i].kiov_page);
    nlx_kcore_kiov_free(kb);
}

int nlx_drv_buf_register(struct nlx_dd_file *file,
                         const struct m0_lnet_dev_buf_register_params *params)
{
    const struct nlx_kcore_ops *ops = file->df_kd.kd_drv_ops;
    struct nlx_core_buffer copy, *shared;
    struct drv_buffer *buffer;
    int rc;

    if (params->dbr_buffer_id == 0)
        return -EBADR;
    if (file->df_limits.dc_max_bufs != 0 && file->df_bufs >= file->df_limits.dc_max_bufs)
        return -ENOSPC;
    M0_ALLOC_PTR(buffer);
    if (buffer == NULL)
        return -ENOMEM;
    rc = nlx_drv_object_pin(file, params->dbr_lcbuf, sizeof(copy), &buffer->db_page,
                            &buffer->db_kb.kb_cb_loc);
    if (rc != 0)
        goto free_buffer;
    nlx_drv_read(file, &buffer->db_kb.kb_cb_loc, &copy, sizeof(copy));
    if (copy.cb_magic != 0 || copy.cb_kpvt != NULL) { /* registered already */
        rc = -EBADR;
        goto unpin;
    }
    rc = make_kiov(file, &params->dbr_bvec, &buffer->db_kb);
    if (rc != 0)
        goto unpin;
    buffer->db_reference = nlx_drv_reference_new(file, buffer, DRV_BUFFER);
    rc = buffer->db_reference == 0 ? -ENOMEM : 0;
    if (rc != 0)
        goto drop;
    rc = ops->ko_buf_register(&file->df_kd, params->dbr_buffer_id, &copy, &buffer->db_kb);
    if (rc != 0)
        goto unreference;
    list_add_tail(&buffer->db_kb.kb_drv_linkage, &file->df_kd.kd_drv_bufs);
    file->df_bufs++;
    __atomic_add_fetch(&file->df_dd->dd_stats.ds_bufs, 1, __ATOMIC_RELAXED);
    shared = nlx_kcore_map(&file->df_kd, &buffer->db_kb.kb_cb_loc);
    shared->cb_buffer_id = copy.cb_buffer_id;
    shared->cb_kpvt = as_pointer(buffer->db_reference);
    shared->cb_magic = copy.cb_magic;
    nlx_kcore_unmap(&file->df_kd, &buffer->db_kb.kb_cb_loc);
    return 0;

unreference:
    nlx_drv_reference_free(file, buffer->db_reference);
drop:
    drop_kiov(file, &buffer->db_kb);
unpin:
    nlx_drv_unpin(file, buffer->db_page);
free_buffer:
    m0_free(buffer);
    return rc;
}

void nlx_drv_buffer_free(struct nlx_dd_file *file, struct drv_buffer *buffer)
{
    struct nlx_core_buffer copy = {.cb_magic = 0}, *shared;

    list_del(&buffer->db_kb.kb_drv_linkage);
    file->df_kd.kd_drv_ops->ko_buf_deregister(&copy, &buffer->db_kb);
    shared = nlx_kcore_map(&file->df_kd, &buffer->db_kb.kb_cb_loc);
    shared->cb_kpvt = NULL;
    shared->cb_magic = 0;
    nlx_kcore_unmap(&file->df_kd, &buffer->db_kb.kb_cb_loc);
    drop_kiov(file, &buffer->db_kb);
    nlx_drv_unpin(file, buffer->db_page);
    nlx_drv_reference_free(file, buffer->db_reference);
    file->df_bufs--;
    __atomic_sub_fetch(&file->df_dd->dd_stats.ds_bufs, 1, __ATOMIC_RELAXED);
    m0_free(buffer);
}

int nlx_drv_buf_deregister(struct nlx_dd_file *file, const void *reference)
{
    struct drv_buffer *buffer = nlx_drv_object(file, reference, DRV_BUFFER);

    if (buffer == NULL)
        return -EBADR;
    if (nlx_kcore_buffer_busy(&buffer->db_kb))
        return -EBUSY;
    nlx_drv_buffer_free(file, buffer);
    return 0;
}

/* ---- operations ------------------------------------------------------------------------------ */

int nlx_drv_operation(struct nlx_dd_file *file, unsigned verb, struct drv_tm *tm,
                      struct drv_buffer *buffer, const struct nlx_core_buffer *cb)
{
    const struct nlx_kcore_ops *ops = file->df_kd.kd_drv_ops;
    struct nlx_kcore_transfer_mc *ktm = &tm->dt_ktm;
    struct nlx_kcore_buffer *kb = &buffer->db_kb;

    __atomic_add_fetch(&file->df_dd->dd_stats.ds_operations, 1, __ATOMIC_RELAXED);
    switch (verb) {
    case _IOC_NR(M0_LNET_BUF_MSG_RECV):
        return ops->ko_buf_msg_recv(ktm, cb, kb);
    case _IOC_NR(M0_LNET_BUF_MSG_SEND):
        return ops->ko_buf_msg_send(ktm, cb, kb);
    case _IOC_NR(M0_LNET_BUF_ACTIVE_RECV):
        return ops->ko_buf_active_recv(ktm, cb, kb);
    case _IOC_NR(M0_LNET_BUF_ACTIVE_SEND):
        return ops->ko_buf_active_send(ktm, cb, kb);
    case _IOC_NR(M0_LNET_BUF_PASSIVE_RECV):
        return ops->ko_buf_passive_recv(ktm, cb, kb);
    case _IOC_NR(M0_LNET_BUF_PASSIVE_SEND):
        return ops->ko_buf_passive_send(ktm, cb, kb);
    default:
        return -EBADR;
    }
}

int nlx_drv_buf_queue(struct nlx_dd_file *file, unsigned verb,
                      const struct m0_lnet_dev_buf_queue_params *params)
{
    struct drv_tm *tm = nlx_drv_object(file, params->dbq_ktm, DRV_TM);
    struct drv_buffer *buffer = nlx_drv_object(file, params->dbq_kb, DRV_BUFFER);
    struct nlx_core_buffer copy;

    if (tm == NULL || buffer == NULL)
        return -EBADR;
    if (verb == _IOC_NR(M0_LNET_BUF_DEL))
        return file->df_kd.kd_drv_ops->ko_buf_del(&tm->dt_ktm, &buffer->db_kb);
    /* What the process writes from now on has no effect. */
    nlx_drv_read(file, &buffer->db_kb.kb_cb_loc, &copy, sizeof(copy));
    return nlx_drv_operation(file, verb, tm, buffer, &copy);
}

/* ---- machines -------------------------------------------------------------------------------- */

int nlx_drv_tm_start(struct nlx_dd_file *file, struct nlx_core_transfer_mc *address)
{
    struct nlx_kcore_domain *kd = &file->df_kd;
    struct nlx_core_transfer_mc copy, *shared;
    struct drv_tm *tm;
    int rc;

    if (file->df_limits.dc_max_tms != 0 && file->df_tms >= file->df_limits.dc_max_tms)
        return -ENOSPC;
    M0_ALLOC_PTR(tm);
    if (tm == NULL)
        return -ENOMEM;
    rc = nlx_drv_object_pin(file, address, sizeof(copy), &tm->dt_page, &tm->dt_ktm.ktm_ctm_loc);
    if (rc != 0)
        goto free_tm;
    nlx_drv_read(file, &tm->dt_ktm.ktm_ctm_loc, &copy, sizeof(copy));
    if (copy.ctm_magic != 0 || copy.ctm_mb_counter != 0 || copy.ctm_kpvt != NULL) {
        rc = -EBADR; /* started already */
        goto unpin;
    }
    tm->dt_reference = nlx_drv_reference_new(file, tm, DRV_TM);
    rc = tm->dt_reference == 0 ? -ENOMEM : 0;
    if (rc != 0)
        goto unpin;
    rc = kd->kd_drv_ops->ko_tm_start(kd, &copy, &tm->dt_ktm);
    if (rc != 0)
        goto unreference;
    list_add_tail(&tm->dt_ktm.ktm_drv_linkage, &kd->kd_drv_tms);
    file->df_tms++;
    port_book(PORT_BOOK_M0_MACHINE, 1);
    __atomic_add_fetch(&file->df_dd->dd_stats.ds_tms, 1, __ATOMIC_RELAXED);
    shared = nlx_kcore_map(kd, &tm->dt_ktm.ktm_ctm_loc);
    shared->ctm_addr = copy.ctm_addr;
    shared->ctm_mb_counter = copy.ctm_mb_counter;
    shared->ctm_kpvt = as_pointer(tm->dt_reference);
    shared->ctm_magic = copy.ctm_magic;
    nlx_kcore_unmap(kd, &tm->dt_ktm.ktm_ctm_loc);
    return 0;

unreference:
    nlx_drv_reference_free(file, tm->dt_reference);
unpin:
    nlx_drv_unpin(file, tm->dt_page);
free_tm:
    m0_free(tm);
    return rc;
}

static void drop_slots(struct nlx_dd_file *file, struct drv_tm *tm)
{
    struct nlx_kcore_buffer_event *kbe, *next;

    list_for_each_entry_safe (kbe, next, &tm->dt_ktm.ktm_drv_bevs, kbe_drv_linkage) {
        list_del(&kbe->kbe_drv_linkage);
        nlx_drv_unpin(file, kbe->kbe_loc.kl_page);
        m0_free(kbe);
    }
    file->df_bevs -= tm->dt_bevs;
    __atomic_sub_fetch(&file->df_dd->dd_stats.ds_bevs, tm->dt_bevs, __ATOMIC_RELAXED);
}

/* Slots and ring are unpinned when nothing of LNet can write there any more. */
void nlx_drv_tm_free(struct nlx_dd_file *file, struct drv_tm *tm)
{
    struct nlx_core_transfer_mc copy = {.ctm_magic = 0}, *shared;

    file->df_kd.kd_drv_ops->ko_tm_stop(&copy, &tm->dt_ktm);
    list_del(&tm->dt_ktm.ktm_drv_linkage);
    drop_slots(file, tm);
    nlx_drv_sq_free(file, tm);
    shared = nlx_kcore_map(&file->df_kd, &tm->dt_ktm.ktm_ctm_loc);
    shared->ctm_kpvt = NULL;
    shared->ctm_mb_counter = 0;
    shared->ctm_magic = 0;
    nlx_kcore_unmap(&file->df_kd, &tm->dt_ktm.ktm_ctm_loc);
    nlx_drv_unpin(file, tm->dt_page);
    nlx_drv_reference_free(file, tm->dt_reference);
    file->df_tms--;
    port_book(PORT_BOOK_M0_MACHINE, -1);
    __atomic_sub_fetch(&file->df_dd->dd_stats.ds_tms, 1, __ATOMIC_RELAXED);
    m0_free(tm);
}

int nlx_drv_tm_stop(struct nlx_dd_file *file, const void *reference)
{
    struct drv_tm *tm = nlx_drv_object(file, reference, DRV_TM);

    if (tm == NULL)
        return -EBADR;
    if (tm->dt_waiters != 0 || !nlx_kcore_tm_idle(&tm->dt_ktm))
        return -EBUSY;
    nlx_drv_tm_free(file, tm);
    return 0;
}

/* ---- event slots ----------------------------------------------------------------------------- */

static bool is_blessed(const struct drv_tm *tm, const struct nlx_core_kmem_loc *loc)
{
    const struct nlx_kcore_buffer_event *kbe;

    list_for_each_entry (kbe, &tm->dt_ktm.ktm_drv_bevs, kbe_drv_linkage)
        if (nlx_kcore_kmem_loc_eq(&kbe->kbe_loc, loc))
            return true;
    return false;
}

static int slot_new(struct nlx_dd_file *file, const struct drv_tm *tm,
                    const struct nlx_core_buffer_event *address,
                    struct nlx_kcore_buffer_event **result)
{
    struct nlx_kcore_buffer_event *kbe;
    struct page *page;
    int rc;

    M0_ALLOC_PTR(kbe);
    if (kbe == NULL)
        return -ENOMEM;
    rc = nlx_drv_object_pin(file, address, sizeof(*address), &page, &kbe->kbe_loc);
    if (rc == 0 && is_blessed(tm, &kbe->kbe_loc)) {
        nlx_drv_unpin(file, page);
        rc = -EBADR;
    }
    if (rc != 0) {
        m0_free(kbe);
        return rc;
    }
    *result = kbe;
    return 0;
}

/* All of them or none. */
int nlx_drv_bless(struct nlx_dd_file *file, const void *reference, uint32_t nr,
                  struct nlx_core_buffer_event *const *bevs)
{
    struct drv_tm *tm = nlx_drv_object(file, reference, DRV_TM);
    struct nlx_kcore_buffer_event *made[M0_LNET_BLESS_MAX];
    uint32_t bound = file->df_limits.dc_max_bevs, i, j;
    int rc = 0;

    if (tm == NULL || nr == 0 || nr > M0_LNET_BLESS_MAX)
        return -EBADR;
    if (bound != 0 && tm->dt_bevs + nr > bound)
        return -ENOMEM;
    for (i = 0; i < nr; i++) {
        rc = slot_new(file, tm, bevs[i], &made[i]);
        for (j = 0; rc == 0 && j < i; j++)
            if (nlx_kcore_kmem_loc_eq(&made[i]->kbe_loc, &made[j]->kbe_loc)) {
                rc = -EBADR;
                nlx_drv_unpin(file, made[i]->kbe_loc.kl_page);
                m0_free(made[i]);
            }
        if (rc != 0)
            break;
    }
    if (rc != 0) {
        while (i-- > 0) {
            nlx_drv_unpin(file, made[i]->kbe_loc.kl_page);
            m0_free(made[i]);
        }
        return rc;
    }
    for (i = 0; i < nr; i++) {
        struct nlx_core_buffer_event *bev = nlx_kcore_map(&file->df_kd, &made[i]->kbe_loc);

        nlx_kcore_bev_bless(&tm->dt_ktm, made[i], bev);
        bev->cbe_kpvt = as_pointer(tm->dt_reference);
        nlx_kcore_unmap(&file->df_kd, &made[i]->kbe_loc);
    }
    tm->dt_bevs += nr;
    file->df_bevs += nr;
    __atomic_add_fetch(&file->df_dd->dd_stats.ds_bevs, nr, __ATOMIC_RELAXED);
    return (int)nr;
}
