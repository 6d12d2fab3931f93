/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Channels and clinks. */
#include "lib/chan.h"
#include "motr/magic.h"

M0_TL_DESCR_DEFINE(clink, "clinks of a channel", static, struct m0_clink, cl_linkage, cl_magic,
                   M0_LIB_CHAN_MAGIC, M0_LIB_CHAN_HEAD_MAGIC);
M0_TL_DEFINE(clink, static, struct m0_clink);

void m0_chan_init(struct m0_chan *chan, struct m0_mutex *guard)
{
    chan->ch_guard = guard;
    chan->ch_waiters = 0;
    clink_tlist_init(&chan->ch_links);
}

bool m0_chan_is_locked(const struct m0_chan *chan)
{
    return m0_mutex_is_locked(chan->ch_guard);
}

void m0_chan_lock(struct m0_chan *chan)
{
    m0_mutex_lock(chan->ch_guard);
}

void m0_chan_unlock(struct m0_chan *chan)
{
    m0_mutex_unlock(chan->ch_guard);
}

void m0_chan_fini(struct m0_chan *chan)
{
    M0_PRE(m0_chan_is_locked(chan));
    M0_PRE(chan->ch_waiters == 0);
    clink_tlist_fini(&chan->ch_links);
}

void m0_chan_fini_lock(struct m0_chan *chan)
{
    struct m0_mutex *guard = chan->ch_guard;

    m0_mutex_lock(guard);
    m0_chan_fini(chan);
    m0_mutex_unlock(guard);
}

void m0_clink_signal(struct m0_clink *link)
{
    struct m0_clink *group = link->cl_group;

    if (link->cl_is_oneshot)
        m0_clink_del(link);
    if (link->cl_cb == NULL || !link->cl_cb(link))
        m0_semaphore_up(&group->cl_wait);
}

/* To the first `count` clinks, each of which becomes the last first: a callback may remove its own
 * clink. */
static void announce(struct m0_chan *chan, uint32_t count)
{
    struct m0_clink *link;

    M0_PRE(m0_chan_is_locked(chan));
    for (; count > 0 && (link = clink_tlist_head(&chan->ch_links)) != NULL; count--) {
        clink_tlist_move_tail(&chan->ch_links, link);
        m0_clink_signal(link);
    }
}

void m0_chan_signal(struct m0_chan *chan)
{
    announce(chan, 1);
}

void m0_chan_broadcast(struct m0_chan *chan)
{
    announce(chan, chan->ch_waiters);
}

void m0_chan_signal_lock(struct m0_chan *chan)
{
    struct m0_mutex *guard = chan->ch_guard;

    m0_mutex_lock(guard);
    m0_chan_signal(chan);
    m0_mutex_unlock(guard);
}

void m0_chan_broadcast_lock(struct m0_chan *chan)
{
    struct m0_mutex *guard = chan->ch_guard;

    m0_mutex_lock(guard);
    m0_chan_broadcast(chan);
    m0_mutex_unlock(guard);
}

bool m0_chan_has_waiters(struct m0_chan *chan)
{
    return chan->ch_waiters > 0;
}

/* ---- clinks ---------------------------------------------------------------------------------- */

void m0_clink_init(struct m0_clink *link, m0_chan_cb_t cb)
{
    *link = (struct m0_clink){.cl_cb = cb, .cl_group = link};
    clink_tlink_init(link);
    m0_semaphore_init(&link->cl_wait, 0);
}

void m0_clink_attach(struct m0_clink *link, struct m0_clink *group, m0_chan_cb_t cb)
{
    M0_PRE(group->cl_group == group);
    m0_clink_init(link, cb);
    link->cl_group = group;
}

void m0_clink_fini(struct m0_clink *link)
{
    M0_PRE(!m0_clink_is_armed(link));
    m0_semaphore_fini(&link->cl_wait);
    clink_tlink_fini(link);
}

void m0_clink_add(struct m0_chan *chan, struct m0_clink *link)
{
    M0_PRE(m0_chan_is_locked(chan));
    M0_PRE(!m0_clink_is_armed(link));
    /* Events may come before the head's channel is known otherwise. */
    M0_PRE(link->cl_group == link || m0_clink_is_armed(link->cl_group));
    link->cl_chan = chan;
    chan->ch_waiters++;
    clink_tlist_add_tail(&chan->ch_links, link);
}

void m0_clink_add_lock(struct m0_chan *chan, struct m0_clink *link)
{
    m0_mutex_lock(chan->ch_guard);
    m0_clink_add(chan, link);
    m0_mutex_unlock(chan->ch_guard);
}

void m0_clink_del(struct m0_clink *link)
{
    struct m0_chan *chan = link->cl_chan;

    M0_PRE(m0_clink_is_armed(link));
    M0_PRE(m0_chan_is_locked(chan));
    clink_tlist_del(link);
    chan->ch_waiters--;
    link->cl_chan = NULL;
}

void m0_clink_del_lock(struct m0_clink *link)
{
    struct m0_mutex *guard;

    M0_PRE(m0_clink_is_armed(link));
    guard = link->cl_chan->ch_guard;
    m0_mutex_lock(guard);
    m0_clink_del(link);
    m0_mutex_unlock(guard);
}

bool m0_clink_is_armed(const struct m0_clink *link)
{
    return link->cl_chan != NULL;
}

void m0_clink_cleanup_locked(struct m0_clink *link)
{
    if (m0_clink_is_armed(link))
        m0_clink_del(link);
}

void m0_clink_cleanup(struct m0_clink *link)
{
    struct m0_chan *chan = link->cl_chan;

    if (chan == NULL)
        return;
    m0_mutex_lock(chan->ch_guard);
    m0_clink_cleanup_locked(link);
    m0_mutex_unlock(chan->ch_guard);
}

void m0_chan_wait(struct m0_clink *link)
{
    m0_semaphore_down(&link->cl_group->cl_wait);
}

bool m0_chan_trywait(struct m0_clink *link)
{
    return m0_semaphore_trydown(&link->cl_group->cl_wait);
}

bool m0_chan_timedwait(struct m0_clink *link, m0_time_t absolute)
{
    return m0_semaphore_timeddown(&link->cl_group->cl_wait, absolute);
}
