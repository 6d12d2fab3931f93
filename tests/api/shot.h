/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One operation at a time between two nodes of an idle machine, with the time that it takes. The
 * timing tests share this.
 */
#ifndef JACQUARD_TESTS_API_SHOT_H
#define JACQUARD_TESTS_API_SHOT_H

#include "fixture.h"

#define SHOTS_MAX 512
#define SHOT_BYTES_MAX (4u << 20)

struct shot {
    gni_post_type_t type;
    uint64_t bytes;
    gni_fma_cmd_type_t command; /* of an AMO */
    uint32_t again; /* do it so often before it is measured */
    /* Results, from the call of the post. */
    sim_time_t visible; /* PUT of 8 bytes: the target's CPU sees it */
    sim_time_t complete; /* the completion event can be read */
    sim_time_t called; /* the call of the post has returned */
};

struct shots {
    const char *profile; /* NULL: xc40_hsw */
    bool closed_form; /* F0; else F1 */
    bool colours; /* hops as the colours have them; else 100 ns for all */
    uint32_t hops; /* between the two nodes: 0 to 5 */
    uint32_t count;
    struct shot shot[SHOTS_MAX];
};

/*
 * Fires them one after the other. Up to 4 hops two full groups with 48 links between them; 5 need
 * a machine with few links between its groups.
 */
void shots_fire(struct shots *shots);

/* Places two ranks on nodes that are `hops` links apart, in a machine that has such a pair. */
void place_by_hops(struct machine *machine, uint32_t hops);
/* Two groups with `cables` optical cables between them. */
void configure_two_groups(struct net_config *config, uint32_t cables);

#define assert_time(time, ns, tolerance_ns) \
    assert_in_range(time, ((ns) - (tolerance_ns)) * 1000, ((ns) + (tolerance_ns)) * 1000)

#endif
