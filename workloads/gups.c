/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random one-sided access: a table of words lies distributed over all ranks; every rank updates
 * words chosen at random, a window of operations in flight. `add`: atomic additions of one, the sum
 * is verified. `put`: each rank writes its own words in the tables of all ranks, every word is
 * verified.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"words", ARG_COUNT, "4096", "1", "16777216", NULL, "of the table per rank, 8 bytes each"},
    {"updates", ARG_COUNT, "1000", "1", "1000000000", NULL, "of each rank"},
    {"operation", ARG_CHOICE, "add", NULL, NULL, "add|put", "atomic additions, or puts of a word"},
    {"window", ARG_COUNT, "64", "1", "4096", NULL, "operations in flight per rank"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL, "time of software above uGNI, per update"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

struct gups {
    struct wl_domain domain;
    bool add;
    uint64_t words, updates, window, software;
    uint64_t *table;
    struct wl_region mine, values;
    const struct wl_region *regions; /* by rank */
    uint64_t *value; /* put: the word to write, per operation of the window */
    struct wl_operation *operations;
    uint64_t done;
};

/* What rank `writer` puts into word `index` of a table. */
static uint64_t word_of(uint32_t writer, uint64_t index)
{
    return (writer + 1) * 0x9e3779b97f4a7c15ull ^ (index + 1) * 0xbf58476d1ce4e5b9ull;
}

static int update(struct gups *test, struct wl_operation *operation)
{
    size_t slot = (size_t)(operation - test->operations);
    uint64_t draw = rank_random(test->domain.rank);
    uint32_t target = (uint32_t)(draw >> 32) % test->domain.size;
    uint64_t index = (uint32_t)draw % test->words;
    gni_post_descriptor_t *desc = &operation->desc;

    memset(operation, 0, sizeof(*operation));
    operation->ep = wl_domain_ep(&test->domain, target);
    desc->type = test->add ? GNI_POST_AMO : GNI_POST_FMA_PUT;
    desc->remote_mem_hndl = test->regions[target].handle;
    desc->length = 8;
    if (test->add) {
        desc->amo_cmd = GNI_FMA_ATOMIC_ADD;
        desc->first_operand = 1;
    } else { /* a word that belongs to us */
        index = (index * test->domain.size + test->domain.id);
        test->value[slot] = word_of(test->domain.id, index);
        desc->local_addr = (uintptr_t)&test->value[slot];
    }
    desc->remote_addr = test->regions[target].address + 8 * index;
    rank_compute(test->software);
    return wl_operation_post(&test->domain, operation);
}

static int update_all(struct gups *test)
{
    uint64_t posted = 0, ended = 0, began = rank_now();
    struct wl_operation *operation;
    int status = 0;

    while (ended < test->updates && status == 0) {
        operation = &test->operations[posted];
        if (posted >= test->window || posted == test->updates) {
            operation = wl_operation_wait(&test->domain);
            if (operation == NULL)
                break;
            ended++;
            test->done += !operation->failed;
            rank_progress(test->domain.rank);
        }
        if (posted < test->updates) {
            status = update(test, operation);
            posted++;
        }
    }
    rank_record_rate(test->domain.rank, "rate", ended, rank_now() - began);
    return status;
}

/* Counts words that have neither their first value nor the one that their owner writes. */
static uint64_t wrong_words(const struct gups *test)
{
    uint64_t index, wrong = 0, size = test->domain.size;

    for (index = 0; index < test->words * size; index++)
        wrong += test->table[index] != 0 &&
                 test->table[index] != word_of((uint32_t)(index % size), index);
    return wrong;
}

/*
 * All additions, counted. A failed transaction may have been carried out all the same, so errors
 * may have added more.
 */
static int verify_sum(struct gups *test)
{
    struct report {
        uint64_t present, sum, done, errors;
    } mine = {1, 0, test->done, test->domain.errors}, total = {0};
    const struct report *all;
    uint64_t index;
    uint32_t i;

    for (index = 0; index < test->words; index++)
        mine.sum += test->table[index];
    all = rank_exchange(test->domain.rank, &mine, sizeof(mine));
    for (i = 0; i < test->domain.size && all != NULL; i++) {
        total.present += all[i].present;
        total.sum += all[i].sum;
        total.done += all[i].done;
        total.errors += all[i].errors;
    }
    if (all == NULL || total.present < test->domain.size) /* part of the table died */
        return all == NULL ? -1 : 0;
    if (total.sum < total.done || total.sum > total.done + total.errors)
        return rank_fail(test->domain.rank, "the table sums up to %llu, %llu were added",
                         (unsigned long long)total.sum, (unsigned long long)total.done);
    return 0;
}

static int run(struct rank *rank)
{
    struct gups test = {
        .add = strcmp(rank_arg_choice(rank, "operation"), "add") == 0,
        .words = rank_arg_count(rank, "words"),
        .updates = rank_arg_count(rank, "updates"),
        .window = rank_arg_count(rank, "window"),
        .software = rank_arg_ps(rank, "software"),
    };
    uint64_t wrong = 0;
    int status = wl_domain_open(&test.domain, rank, 4096, 0);

    wl_domain_set_timeout(&test.domain, rank_arg_ps(rank, "give_up"));
    test.operations = calloc(test.window, sizeof(*test.operations));
    test.value = calloc(test.window, sizeof(*test.value));
    if (status == 0) {
        test.table = wl_region_alloc(
            &test.domain, 8 * test.words * (test.add ? 1 : rank_size(rank)), 0, &test.mine);
        test.regions = rank_exchange(rank, &test.mine, sizeof(test.mine));
        status = test.table != NULL && test.regions != NULL ? update_all(&test) : -1;
    }
    rank_barrier(rank); /* no rank writes any more */
    if (status == 0 && test.add)
        status = verify_sum(&test);
    else if (status == 0)
        wrong = wrong_words(&test);
    if (wl_domain_finish(&test.domain, wrong) != 0)
        status = -1;
    wl_region_free(&test.domain, test.table, &test.mine);
    wl_domain_close(&test.domain);
    free(test.operations);
    free(test.value);
    return status != 0;
}

static const struct workload gups = {
    .name = "gups",
    .meaning = "random one-sided updates of a distributed table, verified",
    .metrics = "rate (1/s, updates per rank)",
    .args = args,
    .main = run,
};
WORKLOAD(gups)
