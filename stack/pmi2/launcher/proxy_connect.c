/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A pmproxy connects to the server above it: before it has anything else to do, so it may block. */
#include <unistd.h>

#include "proxy_setup.h"
#include "proof.h"
#include "tcp.h"

int pmrun_proxy_setup_connect(const struct orders *orders)
{
    char **addresses = g_strsplit(orders->above, " ", -1), **address;
    int fd = -1;

    for (address = addresses; *address != NULL && fd < 0; address++) {
        fd = pmrun_tcp_connect(*address);
        if (fd >= 0 &&
            !pmrun_proof_send(fd, &pmrun_proof_tree, orders->key, orders->first, orders->last)) {
            close(fd);
            fd = -1;
        }
    }
    g_strfreev(addresses);
    return fd;
}
