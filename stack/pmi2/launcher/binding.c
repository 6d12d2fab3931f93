/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE /* CPU_ALLOC */
#include "binding.h"

#include <linux/mempolicy.h>
#include <string.h>

#define MEMORY_NODES 1024

struct pmrun_binding {
    GPtrArray *places; /* of the processes one after the other, hwloc_bitmap_t */
    int memory_policy;
    unsigned long memory[MEMORY_NODES / (8 * sizeof(unsigned long))];
};

static void free_bitmap(gpointer bitmap)
{
    hwloc_bitmap_free(bitmap);
}

void pmrun_binding_free(struct pmrun_binding *binding)
{
    if (binding == NULL)
        return;
    g_ptr_array_unref(binding->places);
    g_free(binding);
}

/* ---- kinds of places --------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    hwloc_obj_type_t type;
} kinds[] = {
    {"machine", HWLOC_OBJ_MACHINE}, {"numa", HWLOC_OBJ_NUMANODE},   {"socket", HWLOC_OBJ_PACKAGE},
    {"core", HWLOC_OBJ_CORE},       {"hwthread", HWLOC_OBJ_PU},     {"rr", HWLOC_OBJ_PU},
    {"l1cache", HWLOC_OBJ_L1CACHE}, {"l2cache", HWLOC_OBJ_L2CACHE}, {"l3cache", HWLOC_OBJ_L3CACHE},
    {"l4cache", HWLOC_OBJ_L4CACHE}, {"l5cache", HWLOC_OBJ_L5CACHE},
};

static gboolean bad(GError **error, const char *option, const char *text, const char *reason)
{
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "-%s %s: %s", option, text,
                reason);
    return FALSE;
}

/* `core`, `core:2`: the cpusets of each (two of each) in the machine's order. */
static GPtrArray *places_of(hwloc_topology_t topology, const char *option, const char *text,
                            GError **error)
{
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text), k;
    guint64 group = 1;
    GPtrArray *places;
    hwloc_obj_t object = NULL;
    guint in_group = 0;

    for (k = 0; k < G_N_ELEMENTS(kinds); k++)
        if (strlen(kinds[k].name) == length &&
            g_ascii_strncasecmp(kinds[k].name, text, length) == 0)
            break;
    if (k == G_N_ELEMENTS(kinds)) {
        bad(error, option, text,
            "none, rr, machine, numa, socket, core, hwthread, l1cache to l5cache (each also with "
            ":count) or user:LIST is needed");
        return NULL;
    }
    if (colon != NULL && !g_ascii_string_to_unsigned(colon + 1, 10, 1, 65536, &group, NULL)) {
        bad(error, option, text, "a count from 1 is needed behind the colon");
        return NULL;
    }
    places = g_ptr_array_new_with_free_func(free_bitmap);
    while ((object = hwloc_get_next_obj_by_type(topology, kinds[k].type, object)) != NULL) {
        if (hwloc_bitmap_iszero(object->cpuset))
            continue;
        if (in_group == 0)
            g_ptr_array_add(places, hwloc_bitmap_dup(object->cpuset));
        else
            hwloc_bitmap_or(g_ptr_array_index(places, places->len - 1),
                            g_ptr_array_index(places, places->len - 1), object->cpuset);
        in_group = (in_group + 1) % (guint)group;
    }
    if (places->len == 0) {
        bad(error, option, text, "this machine has none");
        g_clear_pointer(&places, g_ptr_array_unref);
    }
    return places;
}

/* `0+2,1`: the CPUs of each process, as the system numbers them. */
static GPtrArray *places_of_user(hwloc_topology_t topology, const char *text, GError **error)
{
    GPtrArray *places = g_ptr_array_new_with_free_func(free_bitmap);
    char **entries = g_strsplit(text, ",", -1), **entry, **numbers, **number;
    gboolean good = entries[0] != NULL;
    guint64 cpu;

    for (entry = entries; *entry != NULL && good; entry++) {
        hwloc_bitmap_t place = hwloc_bitmap_alloc();

        g_ptr_array_add(places, place);
        numbers = g_strsplit(*entry, "+", -1);
        for (number = numbers; *number != NULL && good; number++) {
            good = g_ascii_string_to_unsigned(*number, 10, 0, 65535, &cpu, NULL) &&
                   hwloc_bitmap_isset(hwloc_topology_get_topology_cpuset(topology), (unsigned)cpu);
            if (good)
                hwloc_bitmap_set(place, (unsigned)cpu);
        }
        good &= numbers[0] != NULL;
        g_strfreev(numbers);
    }
    g_strfreev(entries);
    if (good)
        return places;
    bad(error, "bind-to user:", text, "CPUs of this machine are needed, as in user:0+2,1");
    g_ptr_array_unref(places);
    return NULL;
}

/* ---- placement ---------------------------------------------------------------------
 */

/* Places of one kind in the order of those of another: process k is at mapped place k, and there at
 * the first place to bind to in the first round, at the second in the second. */
static GPtrArray *combine(GPtrArray *bound, GPtrArray *mapped)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(free_bitmap);
    guint round, rounds = 1, m, b;

    for (round = 0; round < rounds; round++) {
        for (m = 0; m < mapped->len; m++) {
            hwloc_const_bitmap_t at = g_ptr_array_index(mapped, m), chosen = NULL, first = NULL;
            guint within = 0;

            for (b = 0; b < bound->len; b++) {
                hwloc_const_bitmap_t place = g_ptr_array_index(bound, b);

                if (first == NULL && hwloc_bitmap_intersects(place, at))
                    first = place;
                if (hwloc_bitmap_isincluded(place, at) && within++ == round)
                    chosen = place;
            }
            rounds = MAX(rounds, within);
            if (chosen == NULL && within > 0) { /* fewer here than elsewhere: from the beginning */
                guint left = round % within;

                for (b = 0; chosen == NULL; b++)
                    if (hwloc_bitmap_isincluded(g_ptr_array_index(bound, b), at) && left-- == 0)
                        chosen = g_ptr_array_index(bound, b);
            }
            g_ptr_array_add(all, hwloc_bitmap_dup(chosen != NULL ? chosen : first));
        }
    }
    return all;
}

static GPtrArray *make_places(hwloc_topology_t topology, const char *bind_to, const char *map_by,
                              GError **error)
{
    GPtrArray *bound, *mapped, *all;

    if (g_ascii_strncasecmp(bind_to, "user:", 5) == 0)
        return places_of_user(topology, bind_to + 5, error);
    bound = places_of(topology, "bind-to", bind_to, error);
    if (bound == NULL || map_by == NULL)
        return bound;
    mapped = places_of(topology, "map-by", map_by, error);
    all = mapped != NULL ? combine(bound, mapped) : NULL;
    g_ptr_array_unref(bound);
    if (mapped != NULL)
        g_ptr_array_unref(mapped);
    return all;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static gboolean memory_nodes(struct pmrun_binding *binding, const char *option, const char *list,
                             GError **error)
{
    char **numbers = g_strsplit_set(list, "+,", -1), **number;
    gboolean good = numbers[0] != NULL;
    guint64 node;

    for (number = numbers; *number != NULL && good; number++) {
        good = g_ascii_string_to_unsigned(*number, 10, 0, MEMORY_NODES - 1, &node, NULL);
        if (good)
            binding->memory[node / (8 * sizeof(unsigned long))] |=
                1ul << node % (8 * sizeof(unsigned long));
    }
    g_strfreev(numbers);
    return good ||
           bad(error, "membind", option, "numbers of NUMA nodes are needed, as in bind:0+1");
}

static gboolean set_memory(struct pmrun_binding *binding, const char *membind, GError **error)
{
    if (membind == NULL || g_ascii_strcasecmp(membind, "none") == 0)
        return TRUE;
    if (g_ascii_strcasecmp(membind, "firsttouch") == 0) {
        binding->memory_policy = MPOL_LOCAL;
        return TRUE;
    }
    if (g_ascii_strncasecmp(membind, "bind:", 5) == 0) {
        binding->memory_policy = MPOL_BIND;
        return memory_nodes(binding, membind, membind + 5, error);
    }
    if (g_ascii_strncasecmp(membind, "interleave:", 11) == 0) {
        binding->memory_policy = MPOL_INTERLEAVE;
        return memory_nodes(binding, membind, membind + 11, error);
    }
    return bad(error, "membind", membind,
               g_ascii_strcasecmp(membind, "nexttouch") == 0
                   ? "Linux cannot move memory at the next touch"
                   : "none, firsttouch, bind:LIST or interleave:LIST is needed");
}

/* ---- the whole --------------------------------------------------------------------------------
 */

struct pmrun_binding *pmrun_binding_new_on_topology(hwloc_topology_t topology, const char *bind_to,
                                                    const char *map_by, const char *membind,
                                                    GError **error)
{
    struct pmrun_binding *binding = g_new0(struct pmrun_binding, 1);

    if (bind_to == NULL)
        bind_to = map_by;
    binding->memory_policy = -1;
    if (bind_to != NULL && g_ascii_strcasecmp(bind_to, "none") != 0)
        binding->places = make_places(topology, bind_to, map_by, error);
    else
        binding->places = g_ptr_array_new_with_free_func(free_bitmap);
    if (binding->places != NULL && set_memory(binding, membind, error))
        return binding;
    if (binding->places != NULL)
        g_ptr_array_unref(binding->places);
    g_free(binding);
    return NULL;
}

struct pmrun_binding *pmrun_binding_new(const char *bind_to, const char *map_by,
                                        const char *membind, GError **error)
{
    static hwloc_topology_t topology;

    if (bind_to == NULL && map_by == NULL && membind == NULL)
        return NULL;
    if (topology == NULL &&
        (hwloc_topology_init(&topology) != 0 || hwloc_topology_load(topology) != 0)) {
        topology = NULL;
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                    "the topology of this machine cannot be read; processes are not bound");
        return NULL;
    }
    return pmrun_binding_new_on_topology(topology, bind_to, map_by, membind, error);
}

hwloc_const_cpuset_t pmrun_binding_cpus(const struct pmrun_binding *binding, uint32_t local)
{
    return binding->places->len > 0
               ? g_ptr_array_index(binding->places, local % binding->places->len)
               : NULL;
}

void pmrun_binding_apply(const struct pmrun_binding *binding, uint32_t local,
                         struct pmrun_process_start *start)
{
    hwloc_const_cpuset_t cpus;
    unsigned cpu, count;

    if (binding == NULL)
        return;
    start->memory_policy = binding->memory_policy;
    if (binding->memory_policy == MPOL_BIND || binding->memory_policy == MPOL_INTERLEAVE) {
        start->memory_nodes = binding->memory;
        start->memory_bits = MEMORY_NODES;
    }
    cpus = pmrun_binding_cpus(binding, local);
    if (cpus == NULL)
        return;
    count = (unsigned)hwloc_bitmap_last(cpus) + 1;
    start->cpus = CPU_ALLOC(count);
    start->cpus_bytes = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(start->cpus_bytes, start->cpus);
    for (cpu = 0; cpu < count; cpu++)
        if (hwloc_bitmap_isset(cpus, cpu))
            CPU_SET_S(cpu, start->cpus_bytes, start->cpus);
}
