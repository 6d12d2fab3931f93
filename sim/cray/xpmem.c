/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "xpmem.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "clear.h"
#include "cray/host.h"

/* A segment, or (if `of` is set) the right to use one. Both are entries of one table. */
struct entry {
    struct entry *next;
    const struct cray_process *owner;
    int64_t id;
    uintptr_t begin;
    size_t size; /* XPMEM_MAXADDR_SIZE: all memory */
    uint32_t nid;
    bool right;
};

static struct entry *entries;
static int64_t last_id;

static int fail(int why)
{
    errno = why;
    return -1;
}

static uint32_t own_nid(const struct cray_process *self)
{
    return cray_host()->nid_of(self, self->rank);
}

static struct entry **find(int64_t id, bool right)
{
    struct entry **link = &entries;

    while (*link != NULL && ((*link)->id != id || (*link)->right != right))
        link = &(*link)->next;
    return link;
}

static int64_t add(struct entry what)
{
    struct entry *entry = malloc(sizeof(*entry));

    if (entry == NULL)
        return fail(ENOMEM);
    *entry = what;
    assert(last_id < INT64_MAX);
    entry->id = ++last_id;
    entry->next = entries;
    entries = entry;
    return entry->id;
}

/* NULL: the processes have separate address spaces, so there is no XPMEM. */
static struct cray_process *sharing_process(void)
{
    return cray_host()->one_memory ? cray_process_in_job() : NULL;
}

static int take_away(int64_t id, bool right)
{
    const struct cray_process *self = sharing_process();
    struct entry **link, *entry;

    if (self == NULL)
        return fail(ENODEV);
    link = find(id, right);
    entry = *link;
    assert(entry == NULL || (entry->id == id && entry->right == right));
    if (entry == NULL || entry->owner != self)
        return fail(EINVAL);
    *link = entry->next;
    free(entry);
    return 0;
}

void cray_xpmem_forget(const struct cray_process *owner)
{
    struct entry **link = &entries, *entry;

    while ((entry = *link) != NULL) {
        if (entry->owner != owner) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        free(entry);
    }
    if (entries == NULL)
        last_id = 0;
}

int xpmem_version(void)
{
    return sharing_process() != NULL ? XPMEM_CURRENT_VERSION : fail(ENODEV);
}

xpmem_segid_t xpmem_make(void *vaddr, size_t size, int permit_type, void *permit_value)
{
    const struct cray_process *self = sharing_process();

    (void)permit_value; /* all ranks belong to one user */
    if (self == NULL)
        return fail(ENODEV);
    if (size == 0 || permit_type != XPMEM_PERMIT_MODE)
        return fail(EINVAL);
    return add((struct entry){
        .owner = self, .begin = (uintptr_t)vaddr, .size = size, .nid = own_nid(self)});
}

int xpmem_remove(xpmem_segid_t segid)
{
    return take_away(segid, false);
}

xpmem_apid_t xpmem_get(xpmem_segid_t segid, int flags, int permit_type, void *permit_value)
{
    const struct cray_process *self = sharing_process();
    const struct entry *segment;

    (void)permit_value;
    if (self == NULL)
        return fail(ENODEV);
    if ((flags != XPMEM_RDONLY && flags != XPMEM_RDWR) || permit_type != XPMEM_PERMIT_MODE)
        return fail(EINVAL);
    segment = *find(segid, false);
    if (segment == NULL || segment->nid != own_nid(self))
        return fail(ENOENT);
    return add((struct entry){.owner = self,
                              .begin = segment->begin,
                              .size = segment->size,
                              .nid = segment->nid,
                              .right = true});
}

int xpmem_release(xpmem_apid_t apid)
{
    return take_away(apid, true);
}

void *xpmem_attach(struct xpmem_addr addr, size_t size, void *vaddr)
{
    const struct cray_process *self = sharing_process();
    const struct entry *right = self != NULL ? *find(addr.apid, true) : NULL;
    bool everything;

    (void)vaddr; /* only a hint: the address is that of the memory itself */
    if (right == NULL || right->owner != self || addr.offset < 0) {
        errno = self == NULL ? ENODEV : EINVAL;
        return (void *)-1;
    }
    everything = right->size == XPMEM_MAXADDR_SIZE;
    if (!everything &&
        ((size_t)addr.offset > right->size || size > right->size - (size_t)addr.offset)) {
        errno = EINVAL;
        return (void *)-1;
    }
    return (void *)(right->begin + (uintptr_t)addr.offset);
}

int xpmem_detach(void *vaddr)
{
    (void)vaddr;
    return sharing_process() != NULL ? 0 : fail(ENODEV);
}
