/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of endpoints: 48 bytes, or a text with the same fields
 *
 *   gni;NONE;NONE;0001;0x0000012c;0x00001000;01;0x000fff;0x00500000;00
 *
 * of version, NIC address, cdm_id, type, cdm_id of the cm_nic, cookie, number of receive contexts.
 */
#include "ctx.h"
#include "gnip.h"
#include "name.h"

#define NAME_VERSION 1
#define CDM_MAX 0xffffffu /* ids of ours fit into 24 bits */

/* ---- writing --------------------------------------------------------------------------------- */

static char *put_text(char *at, const char *text)
{
    while (*text != '\0')
        *at++ = *text++;
    return at;
}

/* Writes at least `width` digits. */
static char *put_number(char *at, uint32_t value, uint32_t base, uint32_t width)
{
    char digits[10];
    uint32_t count = 0;

    while (value != 0 || count < width) {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    }
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

/* Writes the fields with this separator; returns the end. */
static char *put_fields(char *at, const struct gnip_name *name, char separator)
{
    const struct {
        uint32_t value, base, width;
    } fields[] = {{NAME_VERSION, 10, 4},    {name->device_addr, 16, 8},   {name->cdm_id, 16, 8},
                  {name->name_type, 10, 2}, {name->cm_nic_cdm_id, 16, 6}, {name->cookie, 16, 8},
                  {name->rx_ctx_cnt, 10, 2}};
    size_t i;

    for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (i > 0)
            *at++ = separator;
        if (fields[i].base == 16)
            at = put_text(at, "0x");
        at = put_number(at, fields[i].value, fields[i].base, fields[i].width);
    }
    return at;
}

void gnip_name_write(const struct gnip_name *name, uint32_t addr_format, void *buffer)
{
    if (addr_format != FI_ADDR_STR) {
        memcpy(buffer, name, sizeof(*name));
        return;
    }
    memset(buffer, 0, GNIP_STRING_NAME);
    put_fields(put_text(buffer, GNIP_NAME ";NONE;NONE;"), name, ';');
}

int gnip_name_copy(const struct gnip_name *name, uint32_t addr_format, void *buffer, size_t *bytes)
{
    char whole[GNIP_STRING_NAME];
    size_t needed = gnip_name_bytes(addr_format), room = *bytes;

    *bytes = needed;
    if (buffer == NULL)
        return -FI_ETOOSMALL;
    gnip_name_write(name, addr_format, whole);
    memcpy(buffer, whole, room < needed ? room : needed);
    return room < needed ? -FI_ETOOSMALL : 0;
}

const char *gnip_name_print(const struct gnip_name *name, char *buffer, size_t *bytes)
{
    char whole[GNIP_STRING_NAME];
    char *end = put_fields(whole, name, ':');
    size_t needed, room = *bytes;

    *end = '\0';
    needed = (size_t)(end - whole) + 1;
    *bytes = needed;
    if (buffer == NULL || room == 0)
        return buffer;
    if (room > needed)
        room = needed;
    memcpy(buffer, whole, room);
    buffer[room - 1] = '\0';
    return buffer;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

/* Reads a number of at most `limit` that ends with `end`. NULL: it is something else. */
static const char *get_number(const char *at, int base, char end, uint32_t limit, uint32_t *value)
{
    uint64_t number = 0;

    if (base == 16 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
        at += 2;
    if (digit(*at) >= base)
        return NULL;
    for (; digit(*at) < base; at++) {
        number = number * (uint64_t)base + (uint64_t)digit(*at);
        if (number > limit)
            return NULL;
    }
    if (*at != end)
        return NULL;
    *value = (uint32_t)number;
    return end == '\0' ? at : at + 1;
}

static int read_text(struct gnip_name *name, const char *text)
{
    static const char start[] = GNIP_NAME ";NONE;NONE;";
    static const struct {
        int base;
        uint32_t limit;
    } fields[] = {{10, NAME_VERSION}, {16, UINT32_MAX}, {16, UINT32_MAX}, {10, UINT8_MAX},
                  {16, CDM_MAX},      {16, UINT32_MAX}, {10, UINT8_MAX}};
    const size_t count = sizeof(fields) / sizeof(fields[0]);
    uint32_t values[sizeof(fields) / sizeof(fields[0])];
    size_t i;

    if (strncmp(text, start, sizeof(start) - 1) != 0)
        return -FI_EINVAL;
    text += sizeof(start) - 1;
    for (i = 0; i < count && text != NULL; i++)
        text = get_number(text, fields[i].base, i + 1 < count ? ';' : '\0', fields[i].limit,
                          &values[i]);
    if (text == NULL || values[0] != NAME_VERSION)
        return -FI_EINVAL;
    memset(name, 0, sizeof(*name));
    name->device_addr = values[1];
    name->cdm_id = values[2];
    name->name_type = values[3] & 0xff;
    name->cm_nic_cdm_id = values[4] & CDM_MAX;
    name->cookie = values[5];
    name->rx_ctx_cnt = values[6] & 0xff;
    return 0;
}

bool gnip_name_type_known(uint32_t type)
{
    const uint32_t both = GNIP_UNBOUND | GNIP_BOUND;

    return type != 0 && (type & ~(both | GNIP_SEP)) == 0 && (type & both) != both;
}

int gnip_name_read_any(struct gnip_name *name, uint32_t addr_format, const void *buffer)
{
    struct gnip_name read;

    if (buffer == NULL)
        return -FI_EINVAL;
    if (addr_format == FI_ADDR_STR) {
        if (strnlen(buffer, GNIP_STRING_NAME) == GNIP_STRING_NAME || read_text(&read, buffer) != 0)
            return -FI_EINVAL;
    } else {
        memcpy(&read, buffer, sizeof(read));
    }
    if (read.device_addr == UINT32_MAX)
        return -FI_EINVAL;
    *name = read;
    return 0;
}

int gnip_name_read(struct gnip_name *name, uint32_t addr_format, const void *buffer)
{
    struct gnip_name read;
    int rc = gnip_name_read_any(&read, addr_format, buffer);

    if (rc != 0 || !gnip_name_type_known(read.name_type))
        return -FI_EINVAL;
    *name = read;
    return 0;
}

bool gnip_name_count_up(char *to, size_t room, const char *text, size_t step)
{
    size_t length = strlen(text), at = length;

    if (length + 2 > room)
        return false;
    memcpy(to, text, length + 1);
    while (step > 0) {
        if (at == 0 || to[at - 1] < '0' || to[at - 1] > '9') {
            if (at == length || length + 2 > room)
                return false;
            memmove(to + at + 1, to + at, length - at + 1); /* the number has one digit more */
            to[at++] = '0';
            length++;
        }
        step += (size_t)(to[at - 1] - '0');
        to[at - 1] = (char)('0' + step % 10);
        step /= 10;
        at--;
    }
    return true;
}

int gnip_name_peer(const struct fi_info *info, bool strict, void *address, size_t *bytes)
{
    struct gnip_name name;

    if (bytes == NULL)
        return -FI_EINVAL;
    if (strict || info->dest_addr == NULL ||
        gnip_name_read_any(&name, info->addr_format, info->dest_addr) != 0)
        return address == NULL ? -FI_EINVAL : -FI_ENOTCONN;
    return gnip_name_copy(&name, info->addr_format, address, bytes);
}

/* ---- resolving ------------------------------------------------------------------------------- */

int gnip_name_resolve(uint32_t addr_format, const char *node, const char *service,
                      struct gnip_name *name)
{
    struct gnip_place place;
    uint32_t cdm_id = UINT32_MAX;
    int rc;

    if (addr_format == FI_ADDR_STR && node != NULL)
        return service != NULL ? -FI_EINVAL : gnip_name_read(name, addr_format, node);
    rc = gnip_place_find(&place);
    if (rc != 0)
        return rc;
    memset(name, 0, sizeof(*name));
    name->name_type = GNIP_UNBOUND;
    name->device_addr = place.nic_address;
    name->cookie = place.cookie;
    if (service != NULL) {
        if (get_number(service, 10, '\0', CDM_MAX, &cdm_id) == NULL)
            return -FI_EINVAL;
        name->name_type = GNIP_BOUND;
        name->cdm_id = cdm_id;
        name->cm_nic_cdm_id = cdm_id & CDM_MAX;
    }
    return node != NULL ? port_resolve(node, cdm_id, &name->device_addr) : 0;
}
