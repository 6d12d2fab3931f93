/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A pmproxy connects to the server above it. It has nothing else to do yet, so it may block. */
#include <unistd.h>

#include "proxy_setup.h"
#include "proof.h"
#include "tcp.h"

int pmrun_proxy_setup_connect(const struct pmrun_proxy_setup *setup)
{
    char **addresses = g_strsplit(setup->above, " ", -1), **address;
    int fd = -1;

    for (address = addresses; *address != NULL && fd < 0; address++) {
        fd = pmrun_tcp_connect(*address);
        if (fd >= 0 &&
            !pmrun_proof_send(fd, &pmrun_proof_tree, setup->key, setup->first, setup->last)) {
            close(fd);
            fd = -1;
        }
    }
    g_strfreev(addresses);
    return fd;
}
