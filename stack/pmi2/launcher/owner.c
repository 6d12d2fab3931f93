/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "owner.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ANSWER_BYTES 8192 /* the answer is one message with a few attributes */
#define ADDRESS_DIGITS 32 /* of an IPv6 address in the kernel's tables */

static_assert(sizeof(struct inet_diag_sockid) == 48, "as the kernel has it");
static_assert(sizeof(struct inet_diag_req_v2) == 56, "as the kernel has it");

/* ---- addresses --------------------------------------------------------------------------------
 */

static void unmap(struct sockaddr_storage *address)
{
    const struct sockaddr_in6 six = *(struct sockaddr_in6 *)address;
    struct sockaddr_in *four = (struct sockaddr_in *)address;

    if (six.sin6_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&six.sin6_addr))
        return;
    memset(address, 0, sizeof(*address));
    four->sin_family = AF_INET;
    four->sin_port = six.sin6_port;
    memcpy(&four->sin_addr, &six.sin6_addr.s6_addr[12], sizeof(four->sin_addr));
}

gboolean pmrun_owner_ends_of(int fd, struct pmrun_owner_ends *ends)
{
    socklen_t own = sizeof(ends->own), peer = sizeof(ends->peer);

    memset(ends, 0, sizeof(*ends));
    if (getsockname(fd, (struct sockaddr *)&ends->own, &own) != 0 ||
        getpeername(fd, (struct sockaddr *)&ends->peer, &peer) != 0)
        return FALSE;
    unmap(&ends->own);
    unmap(&ends->peer);
    return ends->own.ss_family == ends->peer.ss_family &&
           (ends->own.ss_family == AF_INET || ends->own.ss_family == AF_INET6);
}

/* Port and address, in network byte order. */
static uint16_t read_address(const struct sockaddr_storage *address, uint32_t to[4])
{
    memset(to, 0, 4 * sizeof(*to));
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;

        to[0] = four->sin_addr.s_addr;
        return four->sin_port;
    }
    memcpy(to, &((const struct sockaddr_in6 *)address)->sin6_addr, 4 * sizeof(*to));
    return ((const struct sockaddr_in6 *)address)->sin6_port;
}

/* ---- netlink ----------------------------------------------------------------------------------
 */

enum answer { ANSWER_HELD, ANSWER_NOBODY, ANSWER_REFUSED };

/* It stays open: pmrun asks for each process. */
static struct mnl_socket *open_netlink(void)
{
    static struct mnl_socket *netlink;
    const struct timeval limit = {.tv_sec = 1}; /* the answer is there at once, or never */

    if (netlink != NULL)
        return netlink;
    netlink = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
    if (netlink == NULL)
        return NULL;
    if (mnl_socket_bind(netlink, 0, MNL_SOCKET_AUTOPID) != 0 ||
        setsockopt(mnl_socket_get_fd(netlink), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) !=
            0) {
        mnl_socket_close(netlink);
        netlink = NULL;
    }
    return netlink;
}

/* The socket at `from` that is connected with `to`. A socket that no process holds has no inode;
 * the kernel says that it is root's. */
static enum answer ask(const struct sockaddr_storage *from, const struct sockaddr_storage *to,
                       uid_t *uid)
{
    static unsigned sequence;
    struct mnl_socket *netlink = open_netlink();
    char buffer[ANSWER_BYTES];
    struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
    struct inet_diag_req_v2 *request;
    const struct inet_diag_msg *answer;
    ssize_t length;

    if (netlink == NULL)
        return ANSWER_REFUSED;
    header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    header->nlmsg_flags = NLM_F_REQUEST;
    header->nlmsg_seq = ++sequence;
    request = mnl_nlmsg_put_extra_header(header, sizeof(*request));
    request->sdiag_family = (uint8_t)from->ss_family;
    request->sdiag_protocol = IPPROTO_TCP;
    request->idiag_states = ~0u;
    request->id.idiag_sport = read_address(from, request->id.idiag_src);
    request->id.idiag_dport = read_address(to, request->id.idiag_dst);
    request->id.idiag_cookie[0] = request->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (from->ss_family == AF_INET6)
        request->id.idiag_if = ((const struct sockaddr_in6 *)from)->sin6_scope_id;
    if (mnl_socket_sendto(netlink, header, header->nlmsg_len) < 0)
        return ANSWER_REFUSED;
    do { /* the kernel has answered when sendto returns; an answer to an older question is passed
            over */
        length = mnl_socket_recvfrom(netlink, buffer, sizeof(buffer));
        header = (struct nlmsghdr *)buffer;
        if (length < 0 || !mnl_nlmsg_ok(header, (int)length))
            return ANSWER_REFUSED;
    } while (header->nlmsg_seq != sequence);
    if (header->nlmsg_type == NLMSG_ERROR &&
        mnl_nlmsg_get_payload_len(header) >= sizeof(struct nlmsgerr))
        return ((const struct nlmsgerr *)mnl_nlmsg_get_payload(header))->error == -ENOENT
                   ? ANSWER_NOBODY
                   : ANSWER_REFUSED;
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        mnl_nlmsg_get_payload_len(header) < sizeof(*answer))
        return ANSWER_REFUSED;
    answer = mnl_nlmsg_get_payload(header);
    if (answer->idiag_inode == 0)
        return ANSWER_NOBODY;
    *uid = answer->idiag_uid;
    return ANSWER_HELD;
}

gboolean pmrun_owner_by_netlink(const struct pmrun_owner_ends *ends, uid_t *uid, gboolean *refused)
{
    static gboolean works;
    enum answer answer = ask(&ends->peer, &ends->own, uid);
    uid_t ours;

    /* A kernel without inet_diag also reports our own end as missing, which exists. */
    if (answer == ANSWER_NOBODY && !works)
        answer =
            ask(&ends->own, &ends->peer, &ours) == ANSWER_HELD ? ANSWER_NOBODY : ANSWER_REFUSED;
    works |= answer != ANSWER_REFUSED;
    *refused = answer == ANSWER_REFUSED;
    return answer == ANSWER_HELD;
}

/* ---- the tables -------------------------------------------------------------------------------
 */

static void print_address(const struct sockaddr_storage *address, gboolean six,
                          char text[ADDRESS_DIGITS + 6])
{
    uint32_t words[4];
    uint16_t port = ntohs(read_address(address, words));
    int at = 0, i;

    if (six && address->ss_family == AF_INET) { /* as a socket of IPv6 has it */
        words[3] = words[0];
        words[2] = htonl(0xffff);
        words[0] = 0;
    }
    for (i = 0; i < (six ? 4 : 1); i++)
        at += snprintf(text + at, 9, "%08X", words[i]);
    snprintf(text + at, 6, ":%04X", port);
}

static gboolean find_owner(const char *path, const struct pmrun_owner_ends *ends, gboolean six,
                           uid_t *uid)
{
    char wanted[2 * (ADDRESS_DIGITS + 7)], own[ADDRESS_DIGITS + 6], peer[ADDRESS_DIGITS + 6],
        line[512];
    gboolean found = FALSE;
    FILE *table = fopen(path, "re");

    if (table == NULL)
        return FALSE;
    print_address(&ends->own, six, own);
    print_address(&ends->peer, six, peer);
    snprintf(wanted, sizeof(wanted), "%s %s ", peer, own);
    while (!found && fgets(line, sizeof(line), table) != NULL) {
        const char *at = strstr(line, wanted);
        unsigned user;
        unsigned long inode;

        if (at != NULL &&
            sscanf(at + strlen(wanted), "%*x %*x:%*x %*x:%*x %*x %u %*u %lu", &user, &inode) == 2 &&
            inode != 0) {
            found = TRUE;
            *uid = user;
        }
    }
    fclose(table);
    return found;
}

gboolean pmrun_owner_by_tables(const struct pmrun_owner_ends *ends, uid_t *uid)
{
    return (ends->own.ss_family == AF_INET && find_owner("/proc/net/tcp", ends, FALSE, uid)) ||
           find_owner("/proc/net/tcp6", ends, TRUE, uid);
}

/* ---- both -------------------------------------------------------------------------------------
 */

gboolean pmrun_owner_of(const struct pmrun_owner_ends *ends, uid_t *uid)
{
    gboolean refused, found = pmrun_owner_by_netlink(ends, uid, &refused);

    return refused ? pmrun_owner_by_tables(ends, uid) : found;
}

char *pmrun_owner_name(int fd)
{
    struct pmrun_owner_ends ends;
    char text[INET6_ADDRSTRLEN] = "?";
    uint32_t words[4];
    uid_t uid;

    if (!pmrun_owner_ends_of(fd, &ends))
        return g_strdup("nobody");
    if (pmrun_owner_of(&ends, &uid))
        return g_strdup_printf("user %u", uid);
    read_address(&ends.peer, words);
    if (ends.peer.ss_family == AF_INET6)
        words[2] = words[3] = 0;
    inet_ntop(ends.peer.ss_family, words, text, sizeof(text));
    return g_strdup(text);
}
