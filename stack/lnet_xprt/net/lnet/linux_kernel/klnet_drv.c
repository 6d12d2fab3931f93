/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The driver: files, references, pins, the verbs' dispatch, and what happens at the end. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/assert.h"
#include "lib/cond.h"
#include "lib/memory.h"
#include "net/lnet/linux_kernel/klnet_drv_pvt.h"

enum { NIDSTRS_MAX = 65536 };

static void count(uint64_t *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* ---- drivers --------------------------------------------------------------------------------- */

struct nlx_dd *nlx_dd_new(struct nlx_kcore_host *host, const struct nlx_dd_cfg *cfg)
{
    struct nlx_dd *dd;

    M0_ALLOC_PTR(dd);
    if (dd == NULL)
        return NULL;
    dd->dd_host = host;
    if (cfg != NULL)
        dd->dd_cfg = *cfg;
    if (dd->dd_cfg.dc_sq_nr == 0)
        dd->dd_cfg.dc_sq_nr = 64;
    m0_mutex_init(&dd->dd_mutex);
    INIT_LIST_HEAD(&dd->dd_files);
    return dd;
}

void nlx_dd_free(struct nlx_dd *dd)
{
    M0_PRE(list_empty(&dd->dd_files));
    m0_mutex_fini(&dd->dd_mutex);
    m0_free(dd);
}

void nlx_dd_stats_get(const struct nlx_dd *dd, struct nlx_dd_stats *stats)
{
    *stats = dd->dd_stats;
}

/* ---- references ------------------------------------------------------------------------------ */

#define SLOT_BITS 20
#define GENERATION_BITS 24

static uint64_t reference_of(const struct nlx_dd_file *file, uint32_t slot)
{
    uint64_t generation = file->df_slots[slot].ds_generation & ((1u << GENERATION_BITS) - 1);

    return ((uint64_t)file->df_number << GENERATION_BITS | generation) << SLOT_BITS | (slot + 1);
}

void *nlx_drv_object(const struct nlx_dd_file *file, const void *reference, enum drv_kind kind)
{
    uint64_t number = (uintptr_t)reference, slot = number & ((1u << SLOT_BITS) - 1);
    const struct drv_slot *at;

    if (slot == 0 || slot > file->df_slot_count)
        return NULL;
    at = &file->df_slots[slot - 1];
    return at->ds_kind == kind && reference_of(file, (uint32_t)slot - 1) == number ? at->ds_object
                                                                                   : NULL;
}

uint64_t nlx_drv_reference_new(struct nlx_dd_file *file, void *object, enum drv_kind kind)
{
    uint32_t slot = 0, more;
    struct drv_slot *slots;

    while (slot < file->df_slot_count && file->df_slots[slot].ds_kind != DRV_FREE)
        slot++;
    if (slot == file->df_slot_count) {
        more = slot == 0 ? 16 : 2 * slot;
        if (more >= 1u << SLOT_BITS)
            return 0;
        M0_ALLOC_ARR(slots, more);
        if (slots == NULL)
            return 0;
        if (slot > 0)
            memcpy(slots, file->df_slots, slot * sizeof(slots[0]));
        m0_free(file->df_slots);
        file->df_slots = slots;
        file->df_slot_count = more;
    }
    file->df_slots[slot].ds_object = object;
    file->df_slots[slot].ds_kind = kind;
    return reference_of(file, slot);
}

void nlx_drv_reference_free(struct nlx_dd_file *file, uint64_t reference)
{
    struct drv_slot *slot = &file->df_slots[(reference & ((1u << SLOT_BITS) - 1)) - 1];

    slot->ds_object = NULL;
    slot->ds_kind = DRV_FREE;
    slot->ds_generation++;
}

/* ---- pages ----------------------------------------------------------------------------------- */

int nlx_drv_pin(struct nlx_dd_file *file, uint64_t address, struct page **page)
{
    int rc;

    if (file->df_limits.dc_max_pinned_pages != 0 &&
        file->df_pinned >= file->df_limits.dc_max_pinned_pages)
        return -ENOMEM;
    rc = file->df_proc.dp_pin(&file->df_proc, address, page);
    if (rc != 0)
        return rc;
    file->df_pinned++;
    port_book(PORT_BOOK_M0_PIN, 1);
    count(&file->df_dd->dd_stats.ds_pins);
    return 0;
}

void nlx_drv_unpin(struct nlx_dd_file *file, struct page *page)
{
    M0_ASSERT(file->df_pinned > 0);
    file->df_pinned--;
    port_book(PORT_BOOK_M0_PIN, -1);
    count(&file->df_dd->dd_stats.ds_unpins);
    file->df_proc.dp_unpin(page);
}

void *nlx_drv_map(struct nlx_dd_file *file, struct page *page)
{
    count(&file->df_dd->dd_stats.ds_maps);
    return file->df_proc.dp_map(page);
}

void nlx_drv_unmap(struct nlx_dd_file *file, struct page *page)
{
    count(&file->df_dd->dd_stats.ds_unmaps);
    file->df_proc.dp_unmap(page);
}

static struct nlx_dd_file *file_of(const struct nlx_kcore_domain *kd)
{
    return container_of(kd, struct nlx_dd_file, df_kd);
}

static void *kd_map(const struct nlx_kcore_domain *kd, struct page *page)
{
    return nlx_drv_map(file_of(kd), page);
}

static void kd_unmap(const struct nlx_kcore_domain *kd, struct page *page)
{
    nlx_drv_unmap(file_of(kd), page);
}

int nlx_drv_object_pin(struct nlx_dd_file *file, const void *address, size_t bytes,
                       struct page **page, struct nlx_core_kmem_loc *loc)
{
    uint64_t at = (uintptr_t)address, offset = at & ~PAGE_MASK;
    int rc;

    if (offset + bytes > PAGE_SIZE || at % sizeof(uint64_t) != 0)
        return -EBADR;
    rc = nlx_drv_pin(file, at, page);
    if (rc == 0)
        nlx_kcore_kmem_loc_set(loc, *page, (uint32_t)offset);
    return rc;
}

void nlx_drv_read(struct nlx_dd_file *file, const struct nlx_core_kmem_loc *loc, void *to,
                  size_t bytes)
{
    const char *page = nlx_drv_map(file, loc->kl_page);

    memcpy(to, page + loc->kl_offset, bytes);
    nlx_drv_unmap(file, loc->kl_page);
}

/* ---- files ----------------------------------------------------------------------------------- */

int nlx_dd_open(struct nlx_dd *dd, const struct nlx_dd_proc *proc, int flags,
                struct nlx_dd_file **result)
{
    struct nlx_dd_file *file;
    int rc = 0;

    if ((flags & ~O_CLOEXEC) != O_RDWR)
        return -EACCES;
    M0_ALLOC_PTR(file);
    if (file == NULL)
        return -ENOMEM;
    file->df_dd = dd;
    file->df_proc = *proc;
    file->df_limits = dd->dd_cfg;
    m0_mutex_lock(&dd->dd_mutex);
    if (dd->dd_cfg.dc_max_files != 0 && dd->dd_stats.ds_files >= dd->dd_cfg.dc_max_files) {
        rc = -EMFILE;
    } else {
        dd->dd_stats.ds_files++;
        file->df_number = ++dd->dd_opened & 0xfffff;
        list_add_tail(&file->df_linkage, &dd->dd_files);
    }
    m0_mutex_unlock(&dd->dd_mutex);
    if (rc != 0) {
        m0_free(file);
        return rc;
    }
    m0_mutex_init(&file->df_mutex);
    m0_cond_init(&file->df_left, &file->df_mutex);
    *result = file;
    return 0;
}

void nlx_dd_set_ops(struct nlx_dd_file *file, const struct nlx_kcore_ops *ops)
{
    file->df_kd.kd_drv_ops = ops;
}

/* All operations end; then nothing in LNet refers to the machines and buffers any more. */
static void stop_all(struct nlx_dd_file *file)
{
    struct nlx_kcore_domain *kd = &file->df_kd;
    struct nlx_kcore_transfer_mc *ktm, *next_ktm;
    struct nlx_kcore_buffer *kb, *next_kb;

    list_for_each_entry (kb, &kd->kd_drv_bufs, kb_drv_linkage)
        if (nlx_kcore_buffer_busy(kb))
            kd->kd_drv_ops->ko_buf_del(kb->kb_ktm, kb);
    list_for_each_entry_safe (ktm, next_ktm, &kd->kd_drv_tms, ktm_drv_linkage) {
        nlx_kcore_tm_drain(ktm);
        nlx_drv_tm_free(file, drv_tm_of(ktm));
    }
    list_for_each_entry_safe (kb, next_kb, &kd->kd_drv_bufs, kb_drv_linkage)
        nlx_drv_buffer_free(file, container_of(kb, struct drv_buffer, db_kb));
}

/* The domain's object may hold anything by now: the process may have written there. */
static void release(struct nlx_dd_file *file)
{
    struct nlx_core_domain none = {NULL};

    if (file->df_cd_page == NULL)
        return;
    stop_all(file);
    file->df_kd.kd_drv_ops->ko_dom_fini(&file->df_kd, &none);
    nlx_drv_unpin(file, file->df_cd_page);
    file->df_cd_page = NULL;
}

static void wake_waiters(struct nlx_dd_file *file)
{
    struct nlx_kcore_transfer_mc *ktm;

    if (file->df_cd_page == NULL)
        return;
    list_for_each_entry (ktm, &file->df_kd.kd_drv_tms, ktm_drv_linkage)
        if (drv_tm_of(ktm)->dt_waiters != 0)
            nlx_kcore_event_wake(ktm);
}

void nlx_dd_close(struct nlx_dd_file *file)
{
    struct nlx_dd *dd = file->df_dd;

    m0_mutex_lock(&file->df_mutex);
    file->df_closing = true;
    while (file->df_inside != 0) {
        wake_waiters(file);
        m0_cond_wait(&file->df_left);
    }
    release(file);
    M0_ASSERT(file->df_pinned == 0);
    m0_cond_fini(&file->df_left);
    m0_mutex_unlock(&file->df_mutex);
    m0_mutex_fini(&file->df_mutex);
    m0_mutex_lock(&dd->dd_mutex);
    list_del(&file->df_linkage);
    dd->dd_stats.ds_files--;
    m0_mutex_unlock(&dd->dd_mutex);
    m0_free(file->df_slots);
    m0_free(file);
}

void nlx_dd_freeze(struct nlx_dd *dd, uint64_t dp_id)
{
    struct nlx_dd_file *file;

    m0_mutex_lock(&dd->dd_mutex);
    list_for_each_entry (file, &dd->dd_files, df_linkage)
        if (file->df_proc.dp_id == dp_id && !file->df_closing)
            m0_mutex_lock(&file->df_mutex);
    m0_mutex_unlock(&dd->dd_mutex);
}

void nlx_dd_kill(struct nlx_dd *dd, uint64_t dp_id)
{
    for (;;) {
        struct nlx_dd_file *file = NULL, *other;

        m0_mutex_lock(&dd->dd_mutex);
        list_for_each_entry (other, &dd->dd_files, df_linkage)
            if (other->df_proc.dp_id == dp_id) {
                file = other;
                break;
            }
        m0_mutex_unlock(&dd->dd_mutex);
        if (file == NULL)
            return;
        /* Threads of the process may have died in a verb, with the lock. */
        file->df_inside = 0;
        m0_mutex_init(&file->df_mutex);
        m0_cond_init(&file->df_left, &file->df_mutex);
        nlx_dd_close(file);
    }
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static int dom_init(struct nlx_dd_file *file, struct m0_lnet_dev_dom_init_params *params)
{
    struct nlx_kcore_domain *kd = &file->df_kd;
    const struct nlx_kcore_ops *ops = kd->kd_drv_ops;
    const struct nlx_kcore_limits *limits = &file->df_dd->dd_host->kh_limits;
    struct nlx_core_domain *shared, copy;
    struct page *page;
    int rc;

    if (file->df_cd_page != NULL)
        return -EBADR;
    rc = nlx_drv_object_pin(file, params->ddi_cd, sizeof(*params->ddi_cd), &page, &kd->kd_cd_loc);
    if (rc != 0)
        return rc;
    kd->kd_host = file->df_dd->dd_host;
    kd->kd_map = kd_map;
    kd->kd_unmap = kd_unmap;
    kd->kd_ring = file->df_proc.dp_ring;
    nlx_drv_read(file, &kd->kd_cd_loc, &copy, sizeof(copy));
    if (ops == NULL)
        ops = &nlx_kcore_def_ops;
    rc = ops->ko_dom_init(kd, &copy);
    if (rc != 0) {
        nlx_drv_unpin(file, page);
        return rc;
    }
    kd->kd_drv_ops = ops;
    file->df_cd_page = page;
    shared = nlx_kcore_map(kd, &kd->kd_cd_loc);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number that means the descriptor's domain */
    shared->cd_kpvt = (void *)(uintptr_t)1;
    nlx_kcore_unmap(kd, &kd->kd_cd_loc);
    params->ddi_max_buffer_size = limits->kl_max_buffer_size;
    params->ddi_max_buffer_segment_size = limits->kl_max_segment_size;
    params->ddi_max_buffer_segments = limits->kl_max_segments;
    return 0;
}

/* The file is unlocked while the caller waits. */
static int event_wait(struct nlx_dd_file *file,
                      const struct m0_lnet_dev_buf_event_wait_params *params)
{
    struct drv_tm *tm = nlx_drv_object(file, params->dbw_ktm, DRV_TM);
    int rc;

    if (tm == NULL)
        return -EBADR;
    tm->dt_waiters++;
    m0_mutex_unlock(&file->df_mutex);
    rc = file->df_kd.kd_drv_ops->ko_buf_event_wait(&tm->dt_ktm, params->dbw_timeout);
    m0_mutex_lock(&file->df_mutex);
    tm->dt_waiters--;
    return file->df_closing ? -EINTR : rc;
}

static int submit_and_wait(struct nlx_dd_file *file,
                           const struct m0_lnet_dev_buf_event_wait_params *params)
{
    struct drv_tm *tm = nlx_drv_object(file, params->dbw_ktm, DRV_TM);
    int rc = tm != NULL ? nlx_drv_sq_submit(file, tm) : -EBADR;

    return rc < 0 ? rc : event_wait(file, params);
}

static int tm_wake(struct nlx_dd_file *file, const void *reference)
{
    struct drv_tm *tm = nlx_drv_object(file, reference, DRV_TM);

    if (tm == NULL)
        return -EBADR;
    nlx_kcore_event_wake(&tm->dt_ktm);
    return 0;
}

static int nidstrs_get(struct nlx_dd_file *file,
                       const struct m0_lnet_dev_nidstrs_get_params *params)
{
    size_t size = params->dng_size < NIDSTRS_MAX ? params->dng_size : NIDSTRS_MAX;
    char *texts = m0_alloc(size + 1);
    int rc, copied;

    if (texts == NULL)
        return -ENOMEM;
    rc = nlx_kcore_nidstrs_get(file->df_dd->dd_host, texts, size);
    if (rc >= 0) {
        copied = file->df_proc.dp_copy_out(&file->df_proc, (uintptr_t)params->dng_buf, texts, size);
        if (copied != 0)
            rc = copied;
    }
    m0_free(texts);
    return rc;
}

static void lower(uint32_t *bound, uint32_t wish)
{
    if (wish != 0 && (*bound == 0 || wish < *bound))
        *bound = wish;
}

static int limits(struct nlx_dd_file *file, struct m0_lnet_dev_limits_params *params)
{
    struct nlx_dd_cfg *bounds = &file->df_limits;

    lower(&bounds->dc_max_tms, params->dlp_max_tms);
    lower(&bounds->dc_max_bufs, params->dlp_max_bufs);
    lower(&bounds->dc_max_bevs, params->dlp_max_bevs);
    if (params->dlp_max_pinned_pages != 0 &&
        (bounds->dc_max_pinned_pages == 0 ||
         params->dlp_max_pinned_pages < bounds->dc_max_pinned_pages))
        bounds->dc_max_pinned_pages = params->dlp_max_pinned_pages;
    *params = (struct m0_lnet_dev_limits_params){
        .dlp_max_tms = bounds->dc_max_tms,
        .dlp_max_bufs = bounds->dc_max_bufs,
        .dlp_max_bevs = bounds->dc_max_bevs,
        .dlp_max_pinned_pages = bounds->dc_max_pinned_pages,
        .dlp_tms = file->df_tms,
        .dlp_bufs = file->df_bufs,
        .dlp_bevs = file->df_bevs,
        .dlp_pinned_pages = file->df_pinned,
    };
    return 0;
}

static int submit(struct nlx_dd_file *file, const void *reference)
{
    struct drv_tm *tm = nlx_drv_object(file, reference, DRV_TM);

    return tm != NULL ? nlx_drv_sq_submit(file, tm) : -EBADR;
}

static int bless_one(struct nlx_dd_file *file, const struct m0_lnet_dev_bev_bless_params *params)
{
    int rc = nlx_drv_bless(file, params->dbb_ktm, 1, &params->dbb_bev);

    return rc > 0 ? 0 : rc;
}

static int nid_decode(struct m0_lnet_dev_nid_encdec_params *params)
{
    if (memchr(params->dn_buf, '\0', sizeof(params->dn_buf)) == NULL)
        return -EINVAL;
    return nlx_kcore_nidstr_decode(params->dn_buf, &params->dn_nid);
}

/* Of a descriptor that has a domain. The file is locked. */
static int verb_of_domain(struct nlx_dd_file *file, unsigned cmd, void *arg)
{
    switch (cmd) {
    case M0_LNET_BUF_REGISTER:
        return nlx_drv_buf_register(file, arg);
    case M0_LNET_BUF_DEREGISTER:
        return nlx_drv_buf_deregister(file,
                                      ((struct m0_lnet_dev_buf_deregister_params *)arg)->dbd_kb);
    case M0_LNET_BUF_MSG_RECV:
    case M0_LNET_BUF_MSG_SEND:
    case M0_LNET_BUF_ACTIVE_RECV:
    case M0_LNET_BUF_ACTIVE_SEND:
    case M0_LNET_BUF_PASSIVE_RECV:
    case M0_LNET_BUF_PASSIVE_SEND:
    case M0_LNET_BUF_DEL:
        return nlx_drv_buf_queue(file, _IOC_NR(cmd), arg);
    case M0_LNET_BUF_EVENT_WAIT:
        return event_wait(file, arg);
    case M0_LNET_NIDSTR_DECODE:
        return nid_decode(arg);
    case M0_LNET_NIDSTR_ENCODE:
        return nlx_kcore_nidstr_encode(((struct m0_lnet_dev_nid_encdec_params *)arg)->dn_nid,
                                       ((struct m0_lnet_dev_nid_encdec_params *)arg)->dn_buf);
    case M0_LNET_NIDSTRS_GET:
        return nidstrs_get(file, arg);
    case M0_LNET_TM_START:
        return nlx_drv_tm_start(file, ((struct m0_lnet_dev_tm_start_params *)arg)->dts_ctm);
    case M0_LNET_TM_STOP:
        return nlx_drv_tm_stop(file, ((struct m0_lnet_dev_tm_stop_params *)arg)->dts_ktm);
    case M0_LNET_BEV_BLESS:
        return bless_one(file, arg);
    case M0_LNET_BEV_BLESS_N: {
        const struct m0_lnet_dev_bev_bless_n_params *params = arg;

        return nlx_drv_bless(file, params->dbn_ktm, params->dbn_nr, params->dbn_bevs);
    }
    case M0_LNET_SQ_SETUP:
        return nlx_drv_sq_setup(file, arg);
    case M0_LNET_SQ_SUBMIT:
        return submit(file, ((struct m0_lnet_dev_tm_params *)arg)->dtp_ktm);
    case M0_LNET_SQ_SUBMIT_AND_WAIT:
        return submit_and_wait(file, arg);
    case M0_LNET_TM_WAKE:
        return tm_wake(file, ((struct m0_lnet_dev_tm_params *)arg)->dtp_ktm);
    default:
        return -ENOTTY;
    }
}

static int verb(struct nlx_dd_file *file, unsigned cmd, void *arg)
{
    if (cmd == M0_LNET_DOM_INIT)
        return dom_init(file, arg);
    if (cmd == M0_LNET_LIMITS)
        return limits(file, arg);
    if (file->df_cd_page == NULL)
        return -EBADR;
    return verb_of_domain(file, cmd, arg);
}

long nlx_dd_read(struct nlx_dd_file *file, uint64_t to, size_t bytes)
{
    (void)file, (void)to, (void)bytes;
    return -EINVAL;
}

long nlx_dd_write(struct nlx_dd_file *file, uint64_t from, size_t bytes)
{
    (void)file, (void)from, (void)bytes;
    return -EINVAL;
}

long nlx_dd_ioctl(struct nlx_dd_file *file, unsigned cmd, void *arg)
{
    unsigned nr = _IOC_NR(cmd);
    uint64_t pinned, more = 0;
    long rc = -EBADR;

    if (_IOC_TYPE(cmd) != M0_LNET_IOC_MAGIC || nr < M0_LNET_IOC_MIN_NR || nr > M0_LNET_IOC_MAX_NR)
        return -ENOTTY;
    count(&file->df_dd->dd_stats.ds_verbs[nr]);
    port_spend(PORT_COST_SYSCALL, 1);
    m0_mutex_lock(&file->df_mutex);
    if (!file->df_closing) {
        file->df_inside++;
        pinned = file->df_pinned;
        rc = verb(file, cmd, arg);
        if (file->df_pinned > pinned)
            more = file->df_pinned - pinned;
        file->df_inside--;
        if (file->df_closing)
            m0_cond_signal(&file->df_left);
    }
    m0_mutex_unlock(&file->df_mutex);
    if (more != 0)
        port_spend(PORT_COST_PIN, more);
    return rc;
}
