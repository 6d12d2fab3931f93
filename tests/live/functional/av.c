/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address vectors, maps and tables: inserting one, many, none and nonsense; looking up; text;
 * removing; and that messages go to whom the address says, also after others were removed.
 */
#include "common.h"

#define MANY 200u
#define NAME 256u

struct names {
    uint8_t own[NAME], peer[NAME];
    size_t size;
};

static void lookup(struct fid_av *av, fi_addr_t address, const void *name, size_t size)
{
    uint8_t found[NAME];
    size_t found_size = sizeof(found);

    CHECK(fi_av_lookup(av, address, found, &found_size));
    EXPECT(found_size, size);
    HOLDS(memcmp(found, name, size) == 0);
    found_size = 1; /* too small: what fits, and how much it would be */
    fi_av_lookup(av, address, found, &found_size);
    EXPECT(found_size, size);
}

static void text(struct fid_av *av, const void *name, bool strict)
{
    char whole[512], part[8];
    size_t size = sizeof(whole), needed;

    HOLDS(fi_av_straddr(av, name, whole, &size) == whole);
    HOLDS(size == strlen(whole) + 1 && size > 4);
    needed = sizeof(part);
    fi_av_straddr(av, name, part, &needed);
    EXPECT(needed, size);
    if (strict)
        HOLDS(strlen(part) == sizeof(part) - 1 && strncmp(part, whole, sizeof(part) - 1) == 0);
}

/* There and back, to this address. */
static void talk(struct side *side, fi_addr_t to, unsigned seed)
{
    struct memory memory = memory_new(side, 100, FI_SEND | FI_RECV);

    if (side->server) {
        POST(side, fi_recv(side->ep, memory.bytes, 100, memory.desc, FI_ADDR_UNSPEC, NULL));
        take(side, side->rx_cq);
        verify(memory.bytes, 100, seed);
    } else {
        fill(memory.bytes, 100, seed);
        POST(side, fi_send(side->ep, memory.bytes, 100, memory.desc, to, NULL));
        take(side, side->tx_cq);
    }
    side_sync(side);
    memory_free(&memory);
}

static void insertions(struct side *side, struct names *names)
{
    fi_addr_t one, many[MANY];
    uint8_t *list = calloc(MANY, names->size);
    unsigned i;

    step("inserting nobody");
    EXPECT(fi_av_insert(side->av, names->peer, 0, &one, 0, NULL), 0);
    step("inserting one");
    EXPECT(fi_av_insert(side->av, names->peer, 1, &one, 0, NULL), 1);
    HOLDS(one != FI_ADDR_NOTAVAIL);
    if (side->av_attr.type == FI_AV_TABLE)
        EXPECT(one, 0);
    lookup(side->av, one, names->peer, names->size);
    text(side->av, names->peer, side->strict);
    talk(side, one, 1);

    step("inserting many at once");
    for (i = 0; i < MANY; i++)
        memcpy(list + i * names->size, i % 2 ? names->peer : names->own, names->size);
    EXPECT(fi_av_insert(side->av, list, MANY, many, 0, NULL), (int)MANY);
    for (i = 0; i < MANY; i++)
        lookup(side->av, many[i], list + i * names->size, names->size);
    talk(side, many[MANY - 1], 2);

    step("inserting one by one");
    if (side->av_attr.type == FI_AV_TABLE) {
        EXPECT(fi_av_remove(side->av, many, MANY - 1, 0), 0);
        talk(side, many[MANY - 1], 3);
        talk(side, one, 4);
        for (i = 0; i < MANY; i++) {
            fi_addr_t address;

            EXPECT(fi_av_insert(side->av, i % 2 ? names->peer : names->own, 1, &address, 0, NULL),
                   1);
            lookup(side->av, address, i % 2 ? names->peer : names->own, names->size);
            HOLDS(!side->strict || (address != one && address != many[MANY - 1]));
            if (i == MANY - 1)
                talk(side, address, 5);
        }
    }
    step("removed and inserted again");
    if (side->av_attr.type == FI_AV_TABLE)
        EXPECT(fi_av_remove(side->av, &many[MANY - 1], 1, 0), 0);
    EXPECT(fi_av_remove(side->av, &one, 1, 0), 0);
    EXPECT(fi_av_insert(side->av, names->peer, 1, &one, 0, NULL), 1);
    talk(side, one, 6);
    free(list);
}

static void vector(struct side *side, enum fi_av_type type)
{
    struct names names;
    size_t size = NAME;

    side->av_attr.type = type;
    side->av_attr.count = MANY;
    side_endpoint(side);
    CHECK(fi_getname(&side->ep->fid, names.own, &size));
    names.size = size;
    side_exchange(side, names.own, names.peer, NAME);
    insertions(side, &names);
    side_sync(side);
    close_fid(&side->ep->fid);
    unwatch(side, &side->tx_cq->fid);
    unwatch(side, &side->rx_cq->fid);
    close_fid(&side->tx_cq->fid);
    close_fid(&side->rx_cq->fid);
    close_fid(&side->av->fid);
    side->ep = NULL;
    side->tx_cq = side->rx_cq = NULL;
    side->av = NULL;
}

int main(int argc, char **argv)
{
    struct side side;

    side_begin(&side, argc, argv);
    side_open(&side);
    vector(&side, FI_AV_TABLE);
    vector(&side, FI_AV_MAP);
    return side_end(&side);
}
