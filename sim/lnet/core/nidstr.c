/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Text forms of NIDs, networks and process ids. */
#include "core/nidstr.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lnet/api.h"

/* In the order in which libcfs_str2net tries the names. */
static const struct lnet_net_type types[] = {
    {LOLND, "lo", "klolnd", LNET_ADDRESS_LO},
    {SOCKLND, "tcp", "ksocklnd", LNET_ADDRESS_IP},
    {O2IBLND, "o2ib", "ko2iblnd", LNET_ADDRESS_IP},
    {GNILND, "gni", "kgnilnd", LNET_ADDRESS_NUMBER},
    {GNIIPLND, "gip", "kgnilnd", LNET_ADDRESS_IP},
    {PTL4LND, "ptlf", "kptl4lnd", LNET_ADDRESS_NUMBER},
};
#define TYPES (sizeof(types) / sizeof(types[0]))

const struct lnet_net_type *lnet_net_type(uint32_t type)
{
    size_t i;

    for (i = 0; i < TYPES; i++) {
        if (types[i].type == type)
            return &types[i];
    }
    return NULL;
}

char *libcfs_next_nidstring(void)
{
    static char buffers[LNET_NIDSTR_COUNT][LNET_NIDSTR_SIZE];
    static unsigned next;

    return buffers[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % LNET_NIDSTR_COUNT];
}

int libcfs_isknown_lnd(__u32 lnd)
{
    return lnet_net_type(lnd) != NULL;
}

char *libcfs_lnd2modname(__u32 lnd)
{
    const struct lnet_net_type *type = lnet_net_type(lnd);

    return type != NULL ? (char *)type->module : NULL;
}

char *libcfs_lnd2str_r(__u32 lnd, char *buf, size_t buf_size)
{
    const struct lnet_net_type *type = lnet_net_type(lnd);

    if (type == NULL)
        snprintf(buf, buf_size, "?%u?", lnd);
    else
        snprintf(buf, buf_size, "%s", type->name);

    return buf;
}

char *libcfs_lnd2str(__u32 lnd)
{
    return libcfs_lnd2str_r(lnd, libcfs_next_nidstring(), LNET_NIDSTR_SIZE);
}

int libcfs_str2lnd(const char *str)
{
    size_t i;

    for (i = 0; i < TYPES; i++) {
        if (strcmp(types[i].name, str) == 0)
            return (int)types[i].type;
    }
    return -ENXIO;
}

char *libcfs_net2str_r(__u32 net, char *buf, size_t buf_size)
{
    const struct lnet_net_type *type = lnet_net_type(LNET_NETTYP(net));

    if (type == NULL)
        snprintf(buf, buf_size, "<%u:%u>", LNET_NETTYP(net), LNET_NETNUM(net));
    else if (LNET_NETNUM(net) == 0)
        snprintf(buf, buf_size, "%s", type->name);
    else
        snprintf(buf, buf_size, "%s%u", type->name, LNET_NETNUM(net));

    return buf;
}

char *libcfs_net2str(__u32 net)
{
    return libcfs_net2str_r(net, libcfs_next_nidstring(), LNET_NIDSTR_SIZE);
}

char *libcfs_nid2str_r(lnet_nid_t nid, char *buf, size_t buf_size)
{
    __u32 address = LNET_NIDADDR(nid);
    const struct lnet_net_type *type = lnet_net_type(LNET_NETTYP(LNET_NIDNET(nid)));
    char net[LNET_NIDSTR_SIZE];

    if (nid == LNET_NID_ANY) {
        snprintf(buf, buf_size, "<?>");
        return buf;
    }
    libcfs_net2str_r(LNET_NIDNET(nid), net, sizeof(net));
    if (type == NULL)
        snprintf(buf, buf_size, "%x@%s", address, net);
    else if (type->address == LNET_ADDRESS_IP)
        snprintf(buf, buf_size, "%u.%u.%u.%u@%s", address >> 24, address >> 16 & 0xff,
                 address >> 8 & 0xff, address & 0xff, net);
    else
        snprintf(buf, buf_size, "%u@%s", address, net);

    return buf;
}

char *libcfs_nid2str(lnet_nid_t nid)
{
    return libcfs_nid2str_r(nid, libcfs_next_nidstring(), LNET_NIDSTR_SIZE);
}

/* A decimal number at *text that ends before `end`; moves on behind it. */
static bool parse_decimal(const char **text, const char *end, uint32_t maximum, uint32_t *number)
{
    uint64_t value = 0;
    const char *at = *text;

    while (at < end && isdigit((unsigned char)*at)) {
        value = value * 10 + (uint64_t)(*at++ - '0');
        if (value > maximum)
            return false;
    }
    if (at == *text)
        return false;

    *text = at;
    *number = (uint32_t)value;
    return true;
}

static bool parse_ip(const char *text, const char *end, uint32_t *address)
{
    unsigned field;

    *address = 0;
    for (field = 0; field < 4; field++) {
        uint32_t number;

        if (field > 0 && (text == end || *text++ != '.'))
            return false;
        if (!parse_decimal(&text, end, 255, &number))
            return false;
        *address = *address << 8 | number;
    }
    return text == end;
}

static bool parse_number(const char *text, const char *end, uint32_t *address)
{
    uint64_t value = 0;

    if (end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        for (text += 2; text < end; text++) {
            if (!isxdigit((unsigned char)*text) || value >> 28 != 0)
                return false;
            value =
                value << 4 |
                (uint64_t)(isdigit((unsigned char)*text) ? *text - '0' : (*text | 0x20) - 'a' + 10);
        }
        *address = (uint32_t)value;
        return true;
    }
    return parse_decimal(&text, end, UINT32_MAX, address) && text == end;
}

bool lnet_parse_address(const struct lnet_net_type *type, const char *text, const char *end,
                        uint32_t *address)
{
    switch (type->address) {
    case LNET_ADDRESS_IP:
        return parse_ip(text, end, address);
    case LNET_ADDRESS_NUMBER:
        return parse_number(text, end, address);
    default:
        *address = 0; /* any text */
        return true;
    }
}

__u32 libcfs_str2net(const char *str)
{
    const char *end = str + strlen(str);
    size_t i;

    for (i = 0; i < TYPES; i++) {
        size_t length = strlen(types[i].name);
        const char *rest = str + length;
        uint32_t number = 0;

        if (strncmp(str, types[i].name, length) != 0)
            continue;
        if (*rest == '\0')
            return LNET_MKNET(types[i].type, 0);
        if (types[i].type == LOLND || !parse_decimal(&rest, end, 0xffff, &number) || rest != end)
            continue;
        return LNET_MKNET(types[i].type, number);
    }
    return LNET_NIDNET(LNET_NID_ANY);
}

lnet_nid_t libcfs_str2nid(const char *str)
{
    const char *at = strchr(str, '@');
    uint32_t net = LNET_MKNET(SOCKLND, 0);
    const char *end = str + strlen(str);
    uint32_t address;

    if (at != NULL) {
        net = libcfs_str2net(at + 1);
        end = at;
        if (net == LNET_NIDNET(LNET_NID_ANY))
            return LNET_NID_ANY;
    }
    if (!lnet_parse_address(lnet_net_type(LNET_NETTYP(net)), str, end, &address))
        return LNET_NID_ANY;

    return LNET_MKNID(net, address);
}

int libcfs_str2anynid(lnet_nid_t *nid, const char *str)
{
    if (strcmp(str, "*") == 0) {
        *nid = LNET_NID_ANY;
        return 1;
    }
    *nid = libcfs_str2nid(str);
    return *nid != LNET_NID_ANY;
}

char *libcfs_id2str(struct lnet_process_id id)
{
    char *text = libcfs_next_nidstring();
    char nid[LNET_NIDSTR_SIZE], whole[2 * LNET_NIDSTR_SIZE] = "";

    libcfs_nid2str_r(id.nid, nid, sizeof(nid));
    if (id.pid == LNET_PID_ANY)
        snprintf(whole, sizeof(whole), "LNET_PID_ANY-%s", nid);
    else
        snprintf(whole, sizeof(whole), "%s%u-%s", (id.pid & LNET_PID_USERFLAG) != 0 ? "U" : "",
                 id.pid & ~LNET_PID_USERFLAG, nid);
    memcpy(text, whole, LNET_NIDSTR_SIZE - 1); /* cut if it does not fit, as in the original */
    text[LNET_NIDSTR_SIZE - 1] = '\0';
    return text;
}
