/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Points of failure of a process. */
#include <stdlib.h>
#include <string.h>

#include "lib/finject.h"
#include "port/port.h"

int m0_fi_armed__;

struct point {
    struct point *next;
    uint32_t pass, fail; /* of each pass + fail checks the first pass; fail 0: only one fails */
    uint64_t checks;
    char name[]; /* the function, 0, the tag */
};

static struct point **points(void)
{
    return (struct point **)(void *)port_slot(PORT_SLOT_M0_FAULTS);
}

static struct point **find(const char *function, const char *tag)
{
    struct point **place = points();

    for (; *place != NULL; place = &(*place)->next)
        if (strcmp((*place)->name, function) == 0 &&
            strcmp((*place)->name + strlen(function) + 1, tag) == 0)
            break;
    return place;
}

void m0_fi_disable(const char *function, const char *tag)
{
    struct point **place = find(function, tag), *point = *place;

    if (point == NULL)
        return;
    *place = point->next;
    free(point);
    __atomic_sub_fetch(&m0_fi_armed__, 1, __ATOMIC_RELAXED);
}

static void arm(const char *function, const char *tag, uint32_t pass, uint32_t fail)
{
    size_t first = strlen(function) + 1, second = strlen(tag) + 1;
    struct point *point;

    m0_fi_disable(function, tag);
    point = calloc(1, sizeof(*point) + first + second);
    if (point == NULL)
        port_panic("there is no memory for a point of failure");
    memcpy(point->name, function, first);
    memcpy(point->name + first, tag, second);
    point->pass = pass;
    point->fail = fail;
    point->next = *points();
    *points() = point;
    __atomic_add_fetch(&m0_fi_armed__, 1, __ATOMIC_RELAXED);
}

bool m0_fi_enabled__(const char *function, const char *tag)
{
    struct point *point = *find(function, tag);
    uint64_t turn;

    if (point == NULL)
        return false;
    if (point->fail == 0) {
        m0_fi_disable(function, tag);
        return true;
    }
    turn = point->checks++ % ((uint64_t)point->pass + point->fail);
    return turn >= point->pass;
}

void m0_fi_enable(const char *function, const char *tag)
{
    arm(function, tag, 0, 1);
}

void m0_fi_enable_once(const char *function, const char *tag)
{
    arm(function, tag, 0, 0);
}

void m0_fi_enable_off_n_on_m(const char *function, const char *tag, uint32_t n, uint32_t m)
{
    arm(function, tag, n, m > 0 ? m : 1);
}

void m0_fi_enable_each_nth_time(const char *function, const char *tag, uint32_t n)
{
    arm(function, tag, n > 0 ? n - 1 : 0, 1);
}
