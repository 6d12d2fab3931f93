/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of hosts, for programs that know each other by such names. Emulated nodes have the names
 * and addresses of a Cray system (nid00005, c0-0c0s1n1, 10.128.0.6), and 127.128.0.6, which a
 * socket can reach, too. Every other name of this machine may mean any of its nodes: the node that
 * has the wanted instance, if there is one now or soon, otherwise the own node.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "aries/machine.h"
#include "backend.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "lock.h"

#define TIMEOUT_MS 1000
#define EXPORTED __attribute__((visibility("default")))

/* Whether the name is one of this machine: a socket can have its address. */
static bool is_local(const char *host)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list = NULL, *each;
    bool local = false;

    if (getaddrinfo(host, NULL, &hints, &list) != 0)
        return false;
    for (each = list; each != NULL && !local; each = each->ai_next) {
        int trial = socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (trial < 0)
            continue;
        local = bind(trial, each->ai_addr, each->ai_addrlen) == 0;
        close(trial);
    }
    freeaddrinfo(list);
    return local;
}

/* Searches the jobs of all attached processes: this process need not be attached. */
static bool find_instance(uint32_t instance, uint32_t *node)
{
    struct shm_name found;
    uint32_t ptag, cookie;

    for (ptag = 1; ptag < GNI_FIND_ALLOC_PTAG; ptag++) {
        if (!aries_live_job_at((uint8_t)ptag, &cookie))
            continue;
        for (*node = 0; *node < aries_live.fabric->nodes; ++*node) {
            const struct shm_key key = {
                *node, ARIES_LIVE_NAME_INSTANCE, {(uint64_t)cookie << 32 | instance, ptag}};

            if (shm_lookup(aries_live.shm, &key, &found) == 0)
                return true;
        }
    }
    return false;
}

/* The caller holds the lock. */
static uint32_t node_with(uint32_t instance)
{
    uint32_t node, waited;

    for (waited = 0; instance != UINT32_MAX && aries_live.shm != NULL && waited < TIMEOUT_MS;
         waited++) {
        if (find_instance(instance, &node))
            return node;
        aries_live_leave();
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        aries_live_enter();
    }
    return aries_live.hw->node;
}

EXPORTED int gni_machine_resolve(const char *host, uint32_t instance, uint32_t *nic_address)
{
    bool local = is_local(host);
    uint32_t node = UINT32_MAX;
    int result = -ENODATA;

    aries_live_enter();
    if (aries_process_self() == NULL) {
        result = -ENODEV;
    } else if (aries_node_of_host(aries_live.fabric, host, &node) || local) {
        if (node == UINT32_MAX)
            node = node_with(instance);
        if (node < aries_live.fabric->nodes) {
            *nic_address = aries_live.fabric->pe_addrs[node];
            result = 0;
        }
    }
    aries_live_leave();
    return result;
}
