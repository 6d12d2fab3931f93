/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Points of failure of a process. */
#include <stdlib.h>
#include <string.h>

#include "lib/arith.h"
#include "lib/finject.h"
#include "port/port.h"

int m0_fi_armed__;

struct point {
    struct point *next;
    uint32_t pass, fail; /* of each pass + fail checks the first pass; fail 0: only one fails */
    uint64_t checks;
    uint32_t percent; /* 0: not by chance */
    uint64_t chance;
    m0_fi_fpoint_state_func_t trigger; /* NULL: none */
    void *data;
    char name[]; /* the function, 0, the tag */
};

/* Threads of a process check points while another one arms some. Nothing waits while it has it. */
static char busy;

static void hold(void)
{
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE)) {
    }
}

static void release(void)
{
    __atomic_clear(&busy, __ATOMIC_RELEASE);
}

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

static void disarm(struct point **place)
{
    struct point *point = *place;

    if (point == NULL)
        return;
    *place = point->next;
    free(point);
    __atomic_sub_fetch(&m0_fi_armed__, 1, __ATOMIC_RELAXED);
}

void m0_fi_disable(const char *function, const char *tag)
{
    hold();
    disarm(find(function, tag));
    release();
}

static void arm(const char *function, const char *tag, const struct point *values)
{
    size_t first = strlen(function) + 1, second = strlen(tag) + 1;
    struct point *point = calloc(1, sizeof(*point) + first + second);

    if (point == NULL)
        port_panic("there is no memory for a point of failure");
    *point = *values;
    memcpy(point->name, function, first);
    memcpy(point->name + first, tag, second);
    hold();
    disarm(find(function, tag));
    point->next = *points();
    *points() = point;
    __atomic_add_fetch(&m0_fi_armed__, 1, __ATOMIC_RELAXED);
    release();
}

bool m0_fi_enabled__(const char *function, const char *tag)
{
    m0_fi_fpoint_state_func_t trigger = NULL;
    struct point **place;
    bool fails = false;
    void *data = NULL;

    hold();
    place = find(function, tag);
    if (*place != NULL) {
        struct point *point = *place;

        trigger = point->trigger;
        data = point->data;
        if (point->percent > 0) {
            fails = m0_rnd(100, &point->chance) < point->percent;
        } else if (point->fail == 0) {
            fails = true;
            disarm(place);
        } else {
            fails = point->checks++ % ((uint64_t)point->pass + point->fail) >= point->pass;
        }
    }
    release();
    return trigger == NULL ? fails : trigger(data);
}

void m0_fi_enable(const char *function, const char *tag)
{
    arm(function, tag, &(const struct point){.fail = 1});
}

void m0_fi_enable_once(const char *function, const char *tag)
{
    arm(function, tag, &(const struct point){.fail = 0});
}

void m0_fi_enable_off_n_on_m(const char *function, const char *tag, uint32_t n, uint32_t m)
{
    arm(function, tag, &(const struct point){.pass = n, .fail = m > 0 ? m : 1});
}

void m0_fi_enable_each_nth_time(const char *function, const char *tag, uint32_t n)
{
    arm(function, tag, &(const struct point){.pass = n > 0 ? n - 1 : 0, .fail = 1});
}

void m0_fi_enable_random(const char *function, const char *tag, uint32_t percent)
{
    M0_PRE(percent > 0 && percent <= 100);
    arm(function, tag, &(const struct point){.percent = percent});
}

void m0_fi_enable_func(const char *function, const char *tag, m0_fi_fpoint_state_func_t trigger,
                       void *data)
{
    arm(function, tag, &(const struct point){.fail = 1, .trigger = trigger, .data = data});
}

int m0_fi_init(void)
{
    return 0;
}

void m0_fi_fini(void)
{
    hold();
    while (*points() != NULL)
        disarm(points());
    release();
}
