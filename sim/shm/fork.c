/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A forked child has none of its parent's membership: shared mappings are not inherited
 * (MADV_DONTFORK), a word that the kernel clears in children says so (MADV_WIPEONFORK), and
 * descriptors are closed, else the daemon would not see the parent's end while the child lives.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct live *lives; /* of this process */
static int once_error;

static void before(void)
{
    pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void close_one(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

void live_close_all(struct live *live)
{
    struct peer *peer;

    close_one(&live->socket);
    close_one(&live->doorbell);
    close_one(&live->helper_bell);
    close_one(&live->wake_bell);
    for (peer = live->peers; peer != NULL; peer = peer->next)
        live_peer_close(peer);
}

void live_peer_close(struct peer *peer)
{
    int memory = atomic_exchange(&peer->memory, -1);

    close_one(&memory);
    close_one(&peer->doorbell);
    close_one(&peer->pidfd);
}

void live_fork_hold(void)
{
    pthread_mutex_lock(&lock);
}

void live_fork_release(void)
{
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    struct live *live;

    for (live = lives; live != NULL; live = live->next_live)
        live_close_all(live);
    lives = NULL;
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    once_error = -pthread_atfork(before, in_parent, in_child);
}

int live_expect_forks(void)
{
    pthread_once(&once, watch_forks);
    return once_error;
}

int live_fork_watch(struct live *live)
{
    int error = live_expect_forks();
    uint32_t *page;

    if (error != 0)
        return error;
    page = mmap(NULL, LIVE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return -errno;
    if (madvise(page, LIVE_PAGE, MADV_WIPEONFORK) != 0) {
        error = -errno;
        munmap(page, LIVE_PAGE);
        return error;
    }
    *page = 1;
    live->mine = page;
    pthread_mutex_lock(&lock);
    live->next_live = lives;
    lives = live;
    pthread_mutex_unlock(&lock);
    return 0;
}

void live_fork_forget(struct live *live)
{
    struct live **at;

    if (live->mine == NULL)
        return;
    pthread_mutex_lock(&lock);
    for (at = &lives; *at != NULL; at = &(*at)->next_live) {
        if (*at == live) {
            *at = live->next_live;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    munmap((void *)(uintptr_t)live->mine, LIVE_PAGE);
    live->mine = NULL;
}

bool live_forked(const struct live *live)
{
    return *live->mine == 0;
}
