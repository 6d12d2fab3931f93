/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event queues: written by the application and read in that order, looked at with FI_PEEK, waited
 * for, with the sizes of entries that the API says; errors are a queue of their own.
 */
#include <pthread.h>
#include <unistd.h>

#include "common.h"

#define COUNT 40u

static struct fid_eq *open_eq(struct side *side, enum fi_wait_obj wait)
{
    struct fi_eq_attr attr = {.size = 2 * COUNT, .flags = FI_WRITE, .wait_obj = wait};
    struct fid_eq *eq;

    CHECK(fi_eq_open(side->fabric, &attr, &eq, side));
    return eq;
}

static void in_order(struct side *side)
{
    struct fid_eq *eq = open_eq(side, FI_WAIT_NONE);
    struct fi_eq_entry entry;
    uint32_t event;
    unsigned i;

    step("events in order");
    EXPECT(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
    for (i = 0; i < COUNT; i++) {
        entry = (struct fi_eq_entry){.fid = &side->fabric->fid, .context = &i, .data = i};
        EXPECT(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
    }
    for (i = 0; i < COUNT; i++) {
        if (i % 2 == 0) {
            EXPECT(fi_eq_read(eq, &event, &entry, sizeof(entry), FI_PEEK), sizeof(entry));
            EXPECT(entry.data, i);
        }
        EXPECT(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
        EXPECT(event, FI_NOTIFY);
        EXPECT(entry.data, i);
        HOLDS(entry.context == &i && entry.fid == &side->fabric->fid);
    }
    EXPECT(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
    close_fid(&eq->fid);
}

struct writer {
    struct fid_eq *eq;
    unsigned number;
};

static void *write_later(void *arg)
{
    struct writer *writer = arg;
    struct fi_eq_entry entry = {.data = writer->number};

    usleep(20000); /* tested: the reader sleeps by then, else it finds the event at once */
    EXPECT(fi_eq_write(writer->eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
    return NULL;
}

static void waited_for(struct side *side)
{
    struct fid_eq *eq = open_eq(side, FI_WAIT_UNSPEC);
    struct writer writer = {eq, 77};
    struct fi_eq_entry entry;
    pthread_t thread;
    uint32_t event;

    step("waiting for an event");
    EXPECT(fi_eq_sread(eq, &event, &entry, sizeof(entry), 10, 0), -FI_EAGAIN);
    HOLDS(pthread_create(&thread, NULL, write_later, &writer) == 0);
    EXPECT(fi_eq_sread(eq, &event, &entry, sizeof(entry), 20000, 0), sizeof(entry));
    EXPECT(entry.data, 77);
    pthread_join(thread, NULL);
    close_fid(&eq->fid);
}

int main(int argc, char **argv)
{
    struct side side;

    side_begin(&side, argc, argv);
    side_open(&side);
    in_order(&side);
    waited_for(&side);
    return side_end(&side);
}
