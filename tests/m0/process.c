/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process that calls the driver without the user core. */
#include "process.h"

#include <fcntl.h>

#include "lib/memory.h"
#include "net/lnet/linux_kernel/klnet_local.h"

static struct nlx_dd_file *open_as(unsigned node, uint64_t id)
{
    struct nlx_dd_file *file;
    struct nlx_dd_proc proc;

    nlx_dd_local_proc(&proc);
    proc.dp_id = id;
    assert_int_equal(nlx_dd_open(drivers[node], &proc, O_RDWR, &file), 0);
    return file;
}

struct process process_new(unsigned node, uint64_t id)
{
    struct process p = {.id = id};

    host(node);
    p.file = open_as(node, id);
    p.cd = m0_alloc_aligned(sizeof(*p.cd), 5);
    p.ctm = m0_alloc_aligned(sizeof(*p.ctm), 7);
    p.cb = m0_alloc_aligned(sizeof(*p.cb), 7);
    p.slots = m0_alloc_aligned(4096, 12);
    p.sq = m0_alloc_aligned(8192, 12);
    p.memory = m0_alloc_aligned(8192, 12);
    p.segments[0] = p.memory;
    p.segments[1] = p.memory + 4096;
    p.counts[0] = p.counts[1] = 4096;
    return p;
}

void process_free_memory(struct process *p)
{
    m0_free_aligned(p->cd, sizeof(*p->cd), 5);
    m0_free_aligned(p->ctm, sizeof(*p->ctm), 7);
    m0_free_aligned(p->cb, sizeof(*p->cb), 7);
    m0_free_aligned(p->slots, 4096, 12);
    m0_free_aligned(p->sq, 8192, 12);
    m0_free_aligned(p->memory, 8192, 12);
}

struct nlx_core_buffer_event *process_slot(const struct process *p, unsigned i)
{
    return (void *)(p->slots + (size_t)i * 128);
}

int process_dom_init(const struct process *p)
{
    struct m0_lnet_dev_dom_init_params params = {.ddi_cd = p->cd};
    int rc = (int)nlx_dd_ioctl(p->file, M0_LNET_DOM_INIT, &params);

    if (rc == 0) {
        assert_int_equal(params.ddi_max_buffer_size, 1 << 20);
        assert_int_equal(params.ddi_max_buffer_segment_size, 4096);
        assert_int_equal(params.ddi_max_buffer_segments, 256);
    }
    return rc;
}

int process_tm_start(struct process *p, unsigned node, uint32_t tmid)
{
    struct m0_lnet_dev_tm_start_params params = {.dts_ctm = p->ctm};

    p->ctm->ctm_addr = (struct nlx_core_ep_addr){nid_of(node), 12345, PORTAL_M0, tmid};
    p->ctm->ctm_upvt = p;
    return (int)nlx_dd_ioctl(p->file, M0_LNET_TM_START, &params);
}

int process_bless(const struct process *p, unsigned nr)
{
    struct m0_lnet_dev_bev_bless_n_params params = {.dbn_ktm = p->ctm->ctm_kpvt, .dbn_nr = nr};
    unsigned i;

    for (i = 0; i < nr && i < SLOTS; i++) {
        params.dbn_bevs[i] = process_slot(p, i);
        process_slot(p, i)->cbe_tm_link.cbl_p_next_loc.kl_page = NULL;
    }
    return (int)nlx_dd_ioctl(p->file, M0_LNET_BEV_BLESS_N, &params);
}

/* Links the blessed slots to a circle, as the user core does. */
static void link_slots(struct process *p, unsigned nr)
{
    unsigned i;

    for (i = 0; i < nr; i++)
        process_slot(p, i)->cbe_tm_link.cbl_p_next_loc =
            process_slot(p, (i + 1) % nr)->cbe_tm_link.cbl_p_self_loc;
    p->ctm->ctm_bevq.cbcq_nr = nr;
}

int process_register(const struct process *p)
{
    struct m0_lnet_dev_buf_register_params params = {
        .dbr_lcbuf = p->cb,
        .dbr_buffer_id = 0x1234,
        .dbr_bvec = {.ov_vec = {2, (m0_bcount_t *)p->counts}, .ov_buf = (void **)p->segments},
    };

    return (int)nlx_dd_ioctl(p->file, M0_LNET_BUF_REGISTER, &params);
}

int process_operation(const struct process *p, unsigned cmd)
{
    struct m0_lnet_dev_buf_queue_params params = {p->ctm->ctm_kpvt, p->cb->cb_kpvt};

    return (int)nlx_dd_ioctl(p->file, cmd, &params);
}

static int process_receive(const struct process *p)
{
    p->cb->cb_qtype = M0_NET_QT_MSG_RECV;
    p->cb->cb_length = 8192;
    p->cb->cb_min_receive_size = 4096;
    p->cb->cb_max_operations = 2;
    return process_operation(p, M0_LNET_BUF_MSG_RECV);
}

static int process_sq_setup(const struct process *p)
{
    struct m0_lnet_dev_sq_setup_params params = {p->ctm->ctm_kpvt, p->sq, 64};

    return (int)nlx_dd_ioctl(p->file, M0_LNET_SQ_SETUP, &params);
}

long process_tm_verb(const struct process *p, unsigned cmd)
{
    struct m0_lnet_dev_tm_params params = {p->ctm->ctm_kpvt};

    return nlx_dd_ioctl(p->file, cmd, &params);
}

int process_wait(const struct process *p, m0_time_t timeout)
{
    struct m0_lnet_dev_buf_event_wait_params params = {p->ctm->ctm_kpvt, timeout};

    return (int)nlx_dd_ioctl(p->file, M0_LNET_BUF_EVENT_WAIT, &params);
}

int process_deregister(const struct process *p)
{
    struct m0_lnet_dev_buf_deregister_params params = {p->cb->cb_kpvt};

    return (int)nlx_dd_ioctl(p->file, M0_LNET_BUF_DEREGISTER, &params);
}

/* The calls of a process that works, in order. */
int process_step(struct process *p, unsigned node, unsigned number)
{
    switch (number) {
    case 0:
        return process_dom_init(p);
    case 1:
        return process_register(p);
    case 2:
        return process_tm_start(p, node, 9);
    case 3: {
        int rc = process_bless(p, SLOTS) == SLOTS ? 0 : -EIO;

        link_slots(p, SLOTS);
        return rc;
    }
    case 4:
        return process_sq_setup(p);
    case 5:
        return process_receive(p);
    case 6:
        return process_wait(p, m0_time_from_now(0, 1000)) == -ETIMEDOUT ? 0 : -EIO;
    case 7:
        return process_operation(p, M0_LNET_BUF_DEL);
    default:
        return 1; /* no more */
    }
}

struct process process_up(unsigned node, uint64_t id)
{
    struct process p = process_new(node, id);
    unsigned i;

    for (i = 0; i <= 5; i++)
        assert_int_equal(process_step(&p, node, i), 0);
    return p;
}

void process_close(struct process *p, unsigned node)
{
    host(node);
    nlx_dd_close(p->file);
    driver_is_unused(node);
    process_free_memory(p);
}
