/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A forked child does not inherit its parent's membership. Shared mappings are not inherited
 * (MADV_DONTFORK), and a word that the kernel clears in children (MADV_WIPEONFORK) tells a child
 * that it is one. Descriptors are closed in the child; otherwise the daemon would not see the
 * parent's end while the child lives.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct shm *memberships; /* memberships of this process */
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

void shm_close_all(struct shm *shm)
{
    struct peer *peer;

    close_one(&shm->socket);
    close_one(&shm->doorbell);
    close_one(&shm->helper_event);
    close_one(&shm->wake_event);
    for (peer = shm->peers; peer != NULL; peer = peer->next)
        shm_peer_close(peer);
}

void shm_peer_close(struct peer *peer)
{
    int memory = atomic_exchange(&peer->memory, -1);

    close_one(&memory);
    close_one(&peer->doorbell);
    close_one(&peer->pidfd);
}

void shm_fork_hold(void)
{
    pthread_mutex_lock(&lock);
}

void shm_fork_release(void)
{
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    struct shm *shm;

    for (shm = memberships; shm != NULL; shm = shm->next_shm)
        shm_close_all(shm);
    memberships = NULL;
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    once_error = -pthread_atfork(before, in_parent, in_child);
}

int shm_expect_forks(void)
{
    pthread_once(&once, watch_forks);
    return once_error;
}

int shm_fork_watch(struct shm *shm)
{
    int error = shm_expect_forks();
    uint32_t *page;

    if (error != 0)
        return error;
    page = mmap(NULL, SHM_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return -errno;
    if (madvise(page, SHM_PAGE, MADV_WIPEONFORK) != 0) {
        error = -errno;
        munmap(page, SHM_PAGE);
        return error;
    }
    *page = 1;
    shm->not_forked = page;
    pthread_mutex_lock(&lock);
    shm->next_shm = memberships;
    memberships = shm;
    pthread_mutex_unlock(&lock);
    return 0;
}

void shm_fork_forget(struct shm *shm)
{
    struct shm **at;

    if (shm->not_forked == NULL)
        return;
    pthread_mutex_lock(&lock);
    for (at = &memberships; *at != NULL; at = &(*at)->next_shm) {
        if (*at == shm) {
            *at = shm->next_shm;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    munmap((void *)(uintptr_t)shm->not_forked, SHM_PAGE);
    shm->not_forked = NULL;
}

bool shm_forked(const struct shm *shm)
{
    return *shm->not_forked == 0;
}
