/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A fabric of a test's own: a folder for its socket, which the processes find by the environment.
 */
#ifndef JACQUARD_TESTS_LIVE_FOLDER_H
#define JACQUARD_TESTS_LIVE_FOLDER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER_TEMPLATE "/tmp/jacquard-XXXXXX" /* short: the path of a socket has 107 bytes */

struct folder {
    char name[sizeof(FOLDER_TEMPLATE)];
    char socket[sizeof(FOLDER_TEMPLATE) + 8];
};

static inline bool folder_new(struct folder *folder)
{
    *folder = (struct folder){.name = FOLDER_TEMPLATE};
    if (mkdtemp(folder->name) == NULL)
        return false;
    snprintf(folder->socket, sizeof(folder->socket), "%s/fabric", folder->name);
    return setenv("JACQUARD_FABRIC", folder->socket, 1) == 0;
}

/* When its last process has gone: the daemon takes socket and lock away a moment later. False: it
 * did not in twenty seconds. */
static inline bool folder_remove(const struct folder *folder)
{
    char lock[sizeof(folder->socket) + 8];
    unsigned tries;

    for (tries = 0; tries < 20000; tries++) {
        if (rmdir(folder->name) == 0)
            return true;
        usleep(1000);
    }
    snprintf(lock, sizeof(lock), "%s.lock", folder->socket);
    unlink(folder->socket);
    unlink(lock);
    rmdir(folder->name);
    return false;
}

#endif
