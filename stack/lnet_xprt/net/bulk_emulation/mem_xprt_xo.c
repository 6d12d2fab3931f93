/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The transport in memory, as one compilation unit in which everything below the transport's vector
 * is static: tests of others include it to reach the statics. Each machine has threads that carry
 * out its operations and deliver its events, in order with one thread. Whoever looks at another
 * machine has the fabric's lock, which is taken before any ntm_mutex, and one ntm_mutex at a time.
 */
#include <stdio.h>

#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "net/bulk_emulation/mem_xprt.h"
#include "net/bulk_emulation/mem_xprt_pvt.h"

#include "net/bulk_emulation/mem_dom.c"

/* ---- operations ------------------------------------------------------------------------------ */

/* The buffer's event is to be delivered; with its machine's ntm_mutex. */
static void mem_end(struct mem_buffer *buffer, int status, m0_bcount_t length)
{
    struct mem_tm *machine = mem_tm_of(buffer->nb->nb_tm);

    buffer->ended = true;
    buffer->status = status;
    buffer->length = length;
    buffer->nb->nb_flags |= M0_NET_BUF_IN_USE;
    if (!m0_list_link_is_in(&buffer->link))
        m0_list_add_tail(&machine->todo, &buffer->link);
    m0_cond_signal(&machine->work);
}

/* A started machine of another domain at this place, with its ntm_mutex; NULL: there is none. With
 * the fabric's lock. */
static struct mem_tm *mem_machine_at(struct mem_fabric *fabric,
                                     const struct m0_net_transfer_mc *from,
                                     const struct mem_place *place)
{
    struct mem_tm *it;

    m0_list_for_each_entry(&fabric->machines, it, struct mem_tm, link)
    {
        if (it->tm->ntm_dom == from->ntm_dom || !mem_same(&it->place, place))
            continue;
        m0_mutex_lock(&it->tm->ntm_mutex);
        if (it->tm->ntm_state == M0_NET_TM_STARTED)
            return it;
        m0_mutex_unlock(&it->tm->ntm_mutex);
    }
    return NULL;
}

static m0_bcount_t mem_room(const struct m0_net_buffer *nb)
{
    return m0_vec_count(&nb->nb_buffer.ov_vec);
}

/* 0; -EFBIG: there is no room. The length that the buffer's user sets stays as it is. */
static int mem_copy_buffer(struct m0_net_buffer *to, struct m0_net_buffer *from, m0_bcount_t bytes)
{
    struct m0_bufvec_cursor there, here;

    if (bytes > mem_room(to))
        return -EFBIG;

    m0_bufvec_cursor_init(&there, &to->nb_buffer);
    m0_bufvec_cursor_init(&here, &from->nb_buffer);
    m0_bufvec_cursor_copy(&there, &here, bytes);
    return 0;
}

/* Into a receive buffer of `to`; its ntm_mutex is held. */
static int mem_put_message(struct mem_tm *to, struct m0_net_buffer *from,
                           const struct mem_place *sender)
{
    struct m0_net_buffer *nb = m0_tl_find(
        m0_net_tm, it, &to->tm->ntm_q[M0_NET_QT_MSG_RECV],
        (it->nb_flags & (M0_NET_BUF_IN_USE | M0_NET_BUF_CANCELLED | M0_NET_BUF_TIMED_OUT)) == 0);
    struct mem_buffer *buffer;

    if (nb == NULL) {
        to->tm->ntm_qstats[M0_NET_QT_MSG_RECV].nqs_num_f_events++;
        return -ENOBUFS;
    }
    buffer = mem_buffer_of(nb);
    if (from->nb_length > mem_room(nb)) {
        mem_end(buffer, -EMSGSIZE, 0);
        return -EMSGSIZE;
    }
    buffer->ep = mem_ep_at(to->tm, sender);
    if (buffer->ep == NULL)
        return -ENOMEM;
    mem_copy_buffer(nb, from, from->nb_length);
    mem_end(buffer, 0, from->nb_length);
    return 0;
}

static int mem_send_message(struct mem_fabric *fabric, struct mem_buffer *mine)
{
    struct m0_net_buffer *nb = mine->nb;
    struct mem_tm *to;
    int rc = -ENETUNREACH;

    m0_mutex_lock(&fabric->lock);
    to = mem_machine_at(fabric, nb->nb_tm, &container_of(nb->nb_ep, struct mem_ep, ep)->place);
    if (to != NULL) {
        rc = mem_put_message(to, nb, &mem_tm_of(nb->nb_tm)->place);
        if (rc == -ENOBUFS)
            m0_net__tm_callback_begin(to->tm); /* the machine stays until it was told */
        m0_mutex_unlock(&to->tm->ntm_mutex);
    }
    m0_mutex_unlock(&fabric->lock);
    if (rc == -ENOBUFS) {
        m0_net_tm_event_post(&(struct m0_net_tm_event){.nte_type = M0_NET_TEV_ERROR,
                                                       .nte_tm = to->tm,
                                                       .nte_time = m0_time_now(),
                                                       .nte_status = rc});
        m0_mutex_lock(&to->tm->ntm_mutex);
        m0_net__tm_post_callback(to->tm);
        m0_mutex_unlock(&to->tm->ntm_mutex);
    }
    return rc;
}

/* The passive operation of the descriptor ends; the machine's ntm_mutex is held. */
static int mem_meet(struct mem_tm *there, const struct mem_desc *desc, struct mem_buffer *mine)
{
    struct m0_net_buffer *active = mine->nb, *passive;
    bool reads = active->nb_qtype == M0_NET_QT_ACTIVE_BULK_RECV;
    m0_bcount_t bytes;
    int rc;

    passive = m0_tl_find(m0_net_tm, it, &there->tm->ntm_q[desc->qtype],
                         mem_buffer_of(it)->id == desc->id && !mem_buffer_of(it)->ended &&
                             (it->nb_flags & M0_NET_BUF_CANCELLED) == 0);
    if (passive == NULL)
        return -ENOENT;
    bytes = reads ? passive->nb_length : active->nb_length;
    rc = reads ? mem_copy_buffer(active, passive, bytes) : mem_copy_buffer(passive, active, bytes);
    if (rc != 0) {
        mem_end(mem_buffer_of(passive), rc, 0);
        return rc;
    }
    mine->length = bytes;
    mem_end(mem_buffer_of(passive), 0, bytes);
    return 0;
}

static int mem_move_bulk(struct mem_fabric *fabric, struct mem_buffer *mine)
{
    struct m0_net_buffer *nb = mine->nb;
    struct mem_desc desc;
    struct mem_tm *there;
    int rc = -ENOENT;

    if (nb->nb_desc.nbd_len != sizeof(desc))
        return -EINVAL;
    memcpy(&desc, nb->nb_desc.nbd_data, sizeof(desc));
    if (desc.qtype != (nb->nb_qtype == M0_NET_QT_ACTIVE_BULK_RECV ? M0_NET_QT_PASSIVE_BULK_SEND
                                                                  : M0_NET_QT_PASSIVE_BULK_RECV))
        return -EPERM;
    m0_mutex_lock(&fabric->lock);
    there = mem_machine_at(fabric, nb->nb_tm, &desc.place);
    if (there != NULL) {
        rc = mem_meet(there, &desc, mine);
        m0_mutex_unlock(&there->tm->ntm_mutex);
    }
    m0_mutex_unlock(&fabric->lock);
    return rc;
}

static int mem_describe(struct mem_buffer *buffer)
{
    struct m0_net_buffer *nb = buffer->nb;
    struct mem_tm *machine = mem_tm_of(nb->nb_tm);
    struct mem_desc *desc;

    M0_ALLOC_PTR(desc);
    if (desc == NULL)
        return -ENOMEM;
    buffer->id = ++machine->last_id;
    desc->place = machine->place;
    desc->qtype = nb->nb_qtype;
    desc->length = nb->nb_qtype == M0_NET_QT_PASSIVE_BULK_SEND ? nb->nb_length : mem_room(nb);
    desc->id = buffer->id;
    nb->nb_desc = (struct m0_net_buf_desc){sizeof(*desc), (uint8_t *)desc};
    return 0;
}

static int mem_buf_add(struct m0_net_buffer *nb)
{
    struct mem_tm *machine = mem_tm_of(nb->nb_tm);
    struct mem_buffer *buffer = mem_buffer_of(nb);

    buffer->ended = false;
    buffer->status = 0;
    buffer->length = 0;
    buffer->ep = NULL;
    if (nb->nb_qtype == M0_NET_QT_MSG_RECV)
        return 0;
    if (nb->nb_qtype == M0_NET_QT_PASSIVE_BULK_RECV || nb->nb_qtype == M0_NET_QT_PASSIVE_BULK_SEND)
        return mem_describe(buffer);
    m0_list_add_tail(&machine->todo, &buffer->link);
    m0_cond_signal(&machine->work);
    return 0;
}

static void mem_buf_del(struct m0_net_buffer *nb)
{
    struct mem_buffer *buffer = mem_buffer_of(nb);

    if ((nb->nb_flags & M0_NET_BUF_IN_USE) != 0)
        return; /* it is too late */
    if ((nb->nb_flags & M0_NET_BUF_TIMED_OUT) == 0)
        nb->nb_flags |= M0_NET_BUF_CANCELLED;
    mem_end(buffer, (nb->nb_flags & M0_NET_BUF_TIMED_OUT) != 0 ? -ETIMEDOUT : -ECANCELED, 0);
}

/* ---- threads of a machine -------------------------------------------------------------------- */

static void mem_post_state(struct m0_net_transfer_mc *tm, enum m0_net_tm_state state,
                           struct m0_net_end_point *ep, int status)
{
    m0_net_tm_event_post(&(struct m0_net_tm_event){.nte_type = M0_NET_TEV_STATE_CHANGE,
                                                   .nte_tm = tm,
                                                   .nte_time = m0_time_now(),
                                                   .nte_status = status,
                                                   .nte_next_state = state,
                                                   .nte_ep = ep});
}

static bool mem_is_taken(struct mem_fabric *fabric, const struct mem_tm *machine)
{
    struct mem_tm *it;

    m0_list_for_each_entry(&fabric->machines, it, struct mem_tm,
                           link) if (it->tm->ntm_dom == machine->tm->ntm_dom &&
                                     mem_same(&it->place, &machine->place)) return true;
    return false;
}

static void mem_report_start(struct mem_fabric *fabric, struct mem_tm *machine)
{
    struct m0_net_transfer_mc *tm = machine->tm;
    struct m0_net_end_point *ep = NULL;
    int rc = 0;

    m0_mutex_lock(&fabric->lock);
    m0_mutex_lock(&tm->ntm_mutex);
    if (mem_is_taken(fabric, machine))
        rc = -EADDRINUSE;
    else if ((ep = mem_ep_at(tm, &machine->place)) == NULL)
        rc = -ENOMEM;
    else
        m0_list_add_tail(&fabric->machines, &machine->link);
    m0_mutex_unlock(&tm->ntm_mutex);
    m0_mutex_unlock(&fabric->lock);
    mem_post_state(tm, rc == 0 ? M0_NET_TM_STARTED : M0_NET_TM_FAILED, ep, rc);
    m0_mutex_lock(&tm->ntm_mutex);
    if (ep != NULL && tm->ntm_ep != ep)
        m0_ref_put(&ep->nep_ref); /* a stop came first */
    m0_mutex_unlock(&tm->ntm_mutex);
}

static void mem_leave(struct mem_fabric *fabric, struct mem_tm *machine)
{
    m0_mutex_lock(&fabric->lock);
    if (m0_list_link_is_in(&machine->link))
        m0_list_del(&machine->link);
    m0_mutex_unlock(&fabric->lock);
}

static bool mem_queues_are_empty(const struct m0_net_transfer_mc *tm)
{
    return m0_forall(i, M0_NET_QT_NR, m0_net_tm_tlist_is_empty(&tm->ntm_q[i]));
}

/* With ntm_mutex, which is released meanwhile. */
static void mem_carry_out(struct mem_fabric *fabric, struct mem_tm *machine,
                          struct mem_buffer *buffer)
{
    struct m0_net_transfer_mc *tm = machine->tm;
    struct m0_net_buffer *nb = buffer->nb;
    struct m0_net_buffer_event event = {.nbe_buffer = nb};

    nb->nb_flags |= M0_NET_BUF_IN_USE;
    m0_mutex_unlock(&tm->ntm_mutex);
    if (!buffer->ended && nb->nb_qtype == M0_NET_QT_MSG_SEND)
        buffer->status = mem_send_message(fabric, buffer);
    else if (!buffer->ended)
        buffer->status = mem_move_bulk(fabric, buffer);
    event.nbe_status = buffer->status;
    event.nbe_length = buffer->length;
    event.nbe_ep = buffer->ep;
    event.nbe_time = m0_time_now();
    m0_net_buffer_event_post(&event);
    m0_mutex_lock(&tm->ntm_mutex);
    /* Who waits to report the end looks again. */
    m0_cond_broadcast(&machine->work);
}

static void mem_machine_main(struct mem_tm *machine)
{
    struct mem_fabric *fabric = mem_fabric_of_process();
    struct m0_net_transfer_mc *tm = machine->tm;
    struct m0_list_link *first;
    bool last;

    m0_mutex_lock(&tm->ntm_mutex);
    for (;;) {
        first = m0_list_first(&machine->todo);
        if (machine->start && tm->ntm_state == M0_NET_TM_STARTING) {
            machine->start = false;
            m0_mutex_unlock(&tm->ntm_mutex);
            mem_report_start(fabric, machine);
            m0_mutex_lock(&tm->ntm_mutex);
        } else if (first != NULL) {
            m0_list_del(first);
            mem_carry_out(fabric, machine, m0_list_entry(first, struct mem_buffer, link));
        } else if (machine->stop && mem_queues_are_empty(tm)) {
            break;
        } else {
            m0_cond_wait(&machine->work);
        }
    }
    /* A machine that failed ends without a word. */
    last = --machine->left == 0 && tm->ntm_state == M0_NET_TM_STOPPING;
    m0_cond_broadcast(&machine->work);
    m0_mutex_unlock(&tm->ntm_mutex);
    if (!last)
        return;
    mem_leave(fabric, machine);
    mem_post_state(tm, M0_NET_TM_STOPPED, NULL, 0);
}

static int mem_run(struct mem_tm *machine)
{
    size_t i;
    int rc;

    M0_ALLOC_ARR(machine->threads, machine->thread_count);
    if (machine->threads == NULL)
        return -ENOMEM;
    for (i = 0; i < machine->thread_count; i++) {
        rc = M0_THREAD_INIT(&machine->threads[i], struct mem_tm *, NULL, mem_machine_main, machine,
                            "m0_mem");
        if (rc != 0 && i == 0)
            return rc;
        if (rc != 0)
            break; /* fewer do as well */
        machine->left++;
    }
    machine->thread_count = i;
    return 0;
}

/* ---- machines -------------------------------------------------------------------------------- */

static int mem_tm_init(struct m0_net_transfer_mc *tm)
{
    struct mem_tm *machine;

    M0_ALLOC_PTR(machine);
    if (machine == NULL)
        return -ENOMEM;
    machine->tm = tm;
    machine->thread_count = 1;
    m0_list_link_init(&machine->link);
    m0_list_init(&machine->todo);
    m0_cond_init(&machine->work, &tm->ntm_mutex);
    tm->ntm_xprt_private = machine;
    return 0;
}

static void mem_tm_fini(struct m0_net_transfer_mc *tm)
{
    struct mem_tm *machine = mem_tm_of(tm);
    size_t i;

    m0_mutex_lock(&tm->ntm_mutex);
    machine->stop = true; /* a machine that failed has threads, too */
    m0_cond_broadcast(&machine->work);
    m0_mutex_unlock(&tm->ntm_mutex);
    for (i = 0; machine->threads != NULL && i < machine->thread_count; i++) {
        if (machine->threads[i].t_state != TS_RUNNING)
            continue;
        m0_thread_join(&machine->threads[i]);
        m0_thread_fini(&machine->threads[i]);
    }
    m0_free(machine->threads);
    m0_cond_fini(&machine->work);
    m0_list_fini(&machine->todo);
    m0_free(machine);
}

static int mem_tm_start(struct m0_net_transfer_mc *tm, const char *addr)
{
    struct mem_tm *machine = mem_tm_of(tm);
    int rc = mem_place_parse(&machine->place, addr);

    machine->start = true;
    return rc != 0 ? rc : mem_run(machine);
}

static int mem_tm_stop(struct m0_net_transfer_mc *tm, bool cancel)
{
    struct mem_tm *machine = mem_tm_of(tm);
    struct m0_net_buffer *nb;
    int i, rc = 0;

    if (machine->threads == NULL)
        rc = mem_run(machine);
    if (rc != 0)
        return rc;
    for (i = 0; i < M0_NET_QT_NR; i++) {
        m0_tl_for(m0_net_tm, &tm->ntm_q[i], nb)
        {
            if (cancel || i == M0_NET_QT_MSG_RECV) {
                tm->ntm_qstats[i].nqs_num_dels += cancel;
                mem_buf_del(nb);
            }
        }
        m0_tl_endfor;
    }
    machine->stop = true;
    m0_cond_broadcast(&machine->work);
    return 0;
}

void m0_net_bulk_mem_tm_set_num_threads(struct m0_net_transfer_mc *tm, size_t num)
{
    m0_mutex_lock(&tm->ntm_mutex);
    M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED);
    M0_PRE(num > 0);
    mem_tm_of(tm)->thread_count = num;
    m0_mutex_unlock(&tm->ntm_mutex);
}

size_t m0_net_bulk_mem_tm_get_num_threads(const struct m0_net_transfer_mc *tm)
{
    return mem_tm_of(tm)->thread_count;
}

/* ---- events that the application would deliver itself ---------------------------------------- */

static int mem_bev_deliver_sync(struct m0_net_transfer_mc *tm)
{
    return 0; /* they still come on the machine's threads */
}

static void mem_bev_deliver_all(struct m0_net_transfer_mc *tm)
{
}

static bool mem_bev_pending(struct m0_net_transfer_mc *tm)
{
    return false;
}

static void mem_bev_notify(struct m0_net_transfer_mc *tm, struct m0_chan *chan)
{
}

static const struct m0_net_xprt_ops mem_ops = {
    .xo_dom_init = mem_dom_init,
    .xo_dom_fini = mem_dom_fini,
    .xo_tm_init = mem_tm_init,
    .xo_tm_start = mem_tm_start,
    .xo_tm_stop = mem_tm_stop,
    .xo_tm_fini = mem_tm_fini,
    .xo_end_point_create = mem_end_point_create,
    .xo_buf_register = mem_buf_register,
    .xo_buf_deregister = mem_buf_deregister,
    .xo_buf_add = mem_buf_add,
    .xo_buf_del = mem_buf_del,
    .xo_bev_deliver_sync = mem_bev_deliver_sync,
    .xo_bev_deliver_all = mem_bev_deliver_all,
    .xo_bev_pending = mem_bev_pending,
    .xo_bev_notify = mem_bev_notify,
    .xo_get_max_buffer_size = mem_max_buffer_size,
    .xo_get_max_buffer_segment_size = mem_max_segment_size,
    .xo_get_max_buffer_segments = mem_max_segments,
    .xo_get_max_buffer_desc_size = mem_max_desc_size,
    .xo_rpc_max_seg_size = default_xo_rpc_max_seg_size,
    .xo_rpc_max_segs_nr = default_xo_rpc_max_segs_nr,
    .xo_rpc_max_msg_size = default_xo_rpc_max_msg_size,
    .xo_rpc_max_recv_msgs = default_xo_rpc_max_recv_msgs,
};
const struct m0_net_xprt m0_net_bulk_mem_xprt = {.nx_name = "bulk-mem", .nx_ops = &mem_ops};

int m0_mem_xprt_init(void)
{
    if (!m0_net_check_xprt(&m0_net_bulk_mem_xprt))
        m0_net_xprt_register(&m0_net_bulk_mem_xprt);
    return 0;
}

void m0_mem_xprt_fini(void)
{
    if (m0_net_check_xprt(&m0_net_bulk_mem_xprt))
        m0_net_xprt_deregister(&m0_net_bulk_mem_xprt);
}
