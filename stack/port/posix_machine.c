/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port on POSIX: memory, names of hosts, descriptors, random numbers, reports. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port/machine.h"
#include "port/port.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

void port_host_name(char *name, size_t size)
{
    name[0] = name[size - 1] = '\0';
    gethostname(name, size - 1);
}

uint64_t port_random(void)
{
    static uint64_t last;
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) == (ssize_t)sizeof(number))
        return number;
    /* A kernel without getrandom(2): a number that differs in each process and call. */
    number = port_now() ^ (uint64_t)getpid() << 40;
    return number + __atomic_add_fetch(&last, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * Uses huge pages where the system has some. The kernel reserves them when it maps them, so that
 * none is missing later.
 */
static void *map_huge(size_t bytes, size_t page)
{
    int size;

    if (page <= (size_t)sysconf(_SC_PAGESIZE) || (page & (page - 1)) != 0 || bytes % page != 0)
        return MAP_FAILED;
    size = (int)((unsigned)__builtin_ctzl(page) << MAP_HUGE_SHIFT);
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | size, -1, 0);
}

void *port_pages_alloc(size_t bytes, size_t page)
{
    void *pages = map_huge(bytes, page);

    if (pages == MAP_FAILED)
        pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages != MAP_FAILED ? pages : NULL;
}

void port_pages_free(void *pages, size_t bytes)
{
    if (pages != NULL)
        munmap(pages, bytes);
}

/* ---- names ----------------------------------------------------------------------------------- */

/*
 * Aries carries IP over an interface whose hardware address contains that of the NIC:
 * 00:01:01 and three bytes, of which 18 bits count.
 */
#define PE_MASK 0x3ffffu
static const char *const interfaces[] = {"ipogif0", "br0"};
enum { INTERFACES = sizeof(interfaces) / sizeof(interfaces[0]) };

static bool address_of_mac(const uint8_t mac[6], uint32_t *nic_address)
{
    static const uint8_t aries[] = {0, 1, 1};

    if (memcmp(mac, aries, sizeof(aries)) != 0)
        return false;
    *nic_address = ((uint32_t)mac[3] << 16 | (uint32_t)mac[4] << 8 | mac[5]) & PE_MASK;
    return true;
}

static bool is_ours(int socket_fd, const char *interface, struct in_addr wanted,
                    uint32_t *nic_address)
{
    struct ifreq request = {0};
    struct sockaddr_in mine;

    strncpy(request.ifr_name, interface, sizeof(request.ifr_name) - 1);
    if (ioctl(socket_fd, SIOCGIFADDR, &request) != 0)
        return false;
    memcpy(&mine, &request.ifr_addr, sizeof(mine));
    if (mine.sin_addr.s_addr != wanted.s_addr || ioctl(socket_fd, SIOCGIFHWADDR, &request) != 0)
        return false;
    return address_of_mac((const uint8_t *)request.ifr_hwaddr.sa_data, nic_address);
}

/* Lines of /proc/net/arp: IP, type, flags, hardware address, mask, device. */
static bool is_neighbour(FILE *table, struct in_addr wanted, uint32_t *nic_address)
{
    char line[256], ip[64], hardware[64];
    unsigned mac[6];
    uint8_t bytes[6];
    struct in_addr found;
    int i;

    while (fgets(line, sizeof(line), table) != NULL) {
        if (sscanf(line, "%63s %*s %*s %63s", ip, hardware) != 2 ||
            inet_pton(AF_INET, ip, &found) != 1 || found.s_addr != wanted.s_addr ||
            sscanf(hardware, "%x:%x:%x:%x:%x:%x", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4],
                   &mac[5]) != 6)
            continue;
        for (i = 0; i < 6; i++)
            bytes[i] = (uint8_t)mac[i];
        if (address_of_mac(bytes, nic_address))
            return true;
    }
    return false;
}

/* Finds the NIC behind an IPv4 address. */
static int resolve_ip(struct in_addr wanted, uint32_t *nic_address)
{
    int socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found = false;
    FILE *table;
    size_t i;

    for (i = 0; socket_fd >= 0 && i < INTERFACES && !found; i++)
        found = is_ours(socket_fd, interfaces[i], wanted, nic_address);
    if (socket_fd >= 0)
        close(socket_fd);
    if (found)
        return 0;
    table = fopen("/proc/net/arp", "re");
    if (table != NULL) {
        found = is_neighbour(table, wanted, nic_address);
        fclose(table);
    }
    return found ? 0 : -ENODATA;
}

static const struct port_machine *machine_ops; /* NULL: only the operating system is asked */

void port_machine_set(const struct port_machine *machine)
{
    machine_ops = machine;
}

void port_connection(const void *id, uint32_t nic_address, uint32_t instance, const char *state)
{
    if (machine_ops != NULL && machine_ops->connection != NULL)
        machine_ops->connection(id, nic_address, instance, state);
}

int port_resolve(const char *host, uint32_t instance, uint32_t *nic_address)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *list = NULL, *each;
    int status = -ENOSYS;

    assert(host != NULL && nic_address != NULL);
    if (machine_ops != NULL && machine_ops->resolve != NULL)
        status = machine_ops->resolve(host, instance, nic_address);
    if (status != -ENOSYS)
        return status;
    status = -ENODATA;
    if (getaddrinfo(host, NULL, &hints, &list) != 0)
        return -ENODATA;
    for (each = list; each != NULL && status != 0; each = each->ai_next) {
        struct sockaddr_in address;

        memcpy(&address, each->ai_addr, sizeof(address));
        status = resolve_ip(address.sin_addr, nic_address);
    }
    freeaddrinfo(list);
    return status;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

int port_event_open(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void port_event_set(int event)
{
    uint64_t one = 1;
    ssize_t written = write(event, &one, sizeof(one));

    (void)written; /* the counter is full only if the descriptor is readable already */
}

void port_event_clear(int event)
{
    uint64_t count;
    ssize_t got = read(event, &count, sizeof(count));

    (void)got; /* it fails only if the descriptor is clear already */
}

void port_event_close(int event)
{
    close(event);
}
