/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include "cluster/cluster.h"
#include "fi/objects.h"
#include "report/report.h"
#include "verdict/verdict.h"

/* ---- the machine ----------------------------------------------------------------------------- */

static int (*current)(struct rank *rank);

static int run_current(struct rank *rank)
{
    return current(rank) != 0;
}

static const struct workload_arg no_args[] = {{NULL}};
static const struct workload tested = {
    .name = "gni_test_body",
    .meaning = "what is tested",
    .metrics = "",
    .args = no_args,
    .main = run_current,
};

static json_t *run(const struct gni_machine *machine, int (*body)(struct rank *rank))
{
    const struct scenario_options options = {.no_programs = true};
    struct cluster_options cluster_options = {.seed = machine->seed != 0 ? machine->seed : 1};
    uint32_t ranks = machine->ranks != 0 ? machine->ranks : 1;
    uint32_t per_node = machine->per_node != 0 ? machine->per_node : 1;
    uint32_t nodes = (ranks + per_node - 1) / per_node;
    char *text, *error = NULL;
    struct scenario *scenario;
    json_t *result;

    if (current == NULL)
        program_add(&tested);
    cluster_findings_register();
    current = body;
    text = g_strdup_printf("fabric: {topology: dragonfly, preset: %s}\n"
                           "limits: {stack: 256KiB, no_progress: 2000s}\n"
                           "jobs: [{name: j, nodes: 0-%u, ranks_per_node: %u, ranks: %u, "
                           "workload: gni_test_body%s%s}]\n%s",
                           nodes <= 4    ? "blade"
                           : nodes <= 64 ? "chassis"
                                         : "xc-2-groups",
                           nodes - 1, per_node, ranks, machine->env != NULL ? ", env: " : "",
                           machine->env != NULL ? machine->env : "",
                           machine->yaml != NULL ? machine->yaml : "");
    scenario = scenario_parse(text, strlen(text), "test", &options, &error);
    if (scenario == NULL)
        fail_msg("%s\n%s", error, text);
    result = report_run(scenario, &cluster_options, &error);
    if (result == NULL)
        fail_msg("%s", error);
    scenario_free(scenario);
    g_free(text);
    return result;
}

/* What ranks booked; a run that did not end counts, too. */
static json_int_t found_wrong(const json_t *result)
{
    const json_t *job = json_array_get(json_object_get(result, "jobs"), 0);

    if (json_integer_value(json_object_get(result, "exit")) == EXIT_STUCK)
        return 1;
    return json_integer_value(json_object_get(job, "failures"));
}

void gni_run(const struct gni_machine *machine, int (*body)(struct rank *rank))
{
    json_t *result = run(machine, body);
    GString *summary;

    if (machine->killed ? found_wrong(result) != 0
                        : json_integer_value(json_object_get(result, "exit")) != EXIT_HOLDS) {
        summary = g_string_new(NULL);
        report_summary_print(result, false, summary);
        fputs(summary->str, stderr);
        g_string_free(summary, TRUE);
        json_decref(result);
        fail();
    }
    json_decref(result);
}

uint64_t gni_digest(const struct gni_machine *machine, int (*body)(struct rank *rank))
{
    json_t *result = run(machine, body);
    const char *digest = json_string_value(json_object_get(result, "digest"));
    uint64_t number = digest != NULL ? g_ascii_strtoull(digest, NULL, 16) : 0;

    json_decref(result);
    return number;
}

/* ---- opening and closing --------------------------------------------------------------------- */

#define CALL(what)                                                                              \
    do {                                                                                        \
        int call_result_ = (int)(what);                                                         \
        if (call_result_ < 0)                                                                   \
            return rank_fail(rank, "%s:%d: rank %u: %s: %s", __FILE__, __LINE__, rank_id(rank), \
                             #what, fi_strerror(-call_result_));                                \
    } while (0)

static void hints_fill(struct fi_info *hints, const struct gni_how *how)
{
    hints->fabric_attr->prov_name = strdup("gni");
    hints->ep_attr->type = how->type != FI_EP_UNSPEC ? how->type : FI_EP_RDM;
    hints->caps = how->caps != 0 ? how->caps : FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SOURCE;
    hints->mode = how->mode;
    hints->addr_format = how->addr_format;
    hints->tx_attr->op_flags = how->tx_op_flags;
    hints->rx_attr->op_flags = how->rx_op_flags;
    hints->tx_attr->size = how->tx_size;
    hints->rx_attr->size = how->rx_size;
    hints->domain_attr->threading = how->threading;
    hints->domain_attr->control_progress = how->manual ? FI_PROGRESS_MANUAL : how->control_progress;
    hints->domain_attr->data_progress = how->manual ? FI_PROGRESS_MANUAL : how->data_progress;
    hints->domain_attr->mr_mode =
        (int)(how->mr_mode != 0 ? how->mr_mode
                                : FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
}

static int open_cq(struct gni_side *side, const struct gni_how *how, struct fid_cq **cq)
{
    struct rank *rank = side->rank;
    struct fi_cq_attr attr = {
        .size = how->cq_size,
        .format = how->cq_format != FI_CQ_FORMAT_UNSPEC ? how->cq_format : FI_CQ_FORMAT_TAGGED,
        .wait_obj = how->wait_obj,
    };

    CALL(fi_cq_open(side->domain, &attr, cq, NULL));
    return 0;
}

static const uint64_t counted[6] = {FI_SEND, FI_RECV,         FI_WRITE,
                                    FI_READ, FI_REMOTE_WRITE, FI_REMOTE_READ};

static int open_endpoint(struct gni_side *side, const struct fi_objects *objects,
                         struct fid_ep **ep)
{
    const char *call;
    int status = fi_objects_endpoint(objects, ep, &call);

    return status == 0
               ? 0
               : rank_fail(side->rank, "rank %u: %s: %s", side->id, call, fi_strerror(-status));
}

static int bind_counters(struct gni_side *side, const struct gni_how *how)
{
    struct rank *rank = side->rank;
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = how->wait_obj};
    int i;

    for (i = 0; how->counters && i < 6; i++) {
        CALL(fi_cntr_open(side->domain, &attr, &side->cntr[i], NULL));
        CALL(fi_ep_bind(side->ep, &side->cntr[i]->fid, counted[i]));
    }
    return 0;
}

int gni_open(struct gni_side *side, struct rank *rank, const struct gni_how *how)
{
    struct fi_av_attr av = {.type = how->av_type};
    struct fi_objects objects;

    memset(side, 0, sizeof(*side));
    side->rank = rank;
    side->id = rank_id(rank);
    side->size = rank_size(rank);
    side->peers = calloc(side->size, sizeof(*side->peers));
    side->hints = fi_allocinfo();
    hints_fill(side->hints, how);
    CALL(fi_getinfo(how->version != 0 ? how->version : FI_VERSION(1, 17), NULL, NULL, 0,
                    side->hints, &side->info));
    CALL(fi_fabric(side->info->fabric_attr, &side->fabric, NULL));
    CALL(fi_domain(side->fabric, side->info, &side->domain, NULL));
    CALL(fi_av_open(side->domain, &av, &side->av, NULL));
    TRY(open_cq(side, how, &side->tx_cq));
    side->rx_cq = side->tx_cq;
    if (how->two_cqs)
        TRY(open_cq(side, how, &side->rx_cq));
    if (how->before_ep != NULL)
        TRY(how->before_ep(side));
    objects = (struct fi_objects){.domain = side->domain,
                                  .info = side->info,
                                  .tx_cq = side->tx_cq,
                                  .rx_cq = side->rx_cq,
                                  .cq_flags = how->cq_bind_flags,
                                  .av = side->info->ep_attr->type != FI_EP_MSG ? side->av : NULL};
    TRY(open_endpoint(side, &objects, &side->ep));
    TRY(bind_counters(side, how));
    if (how->not_enabled)
        return 0;
    CALL(fi_enable(side->ep));
    return how->no_peers ? 0 : gni_exchange(side, side->ep, side->peers);
}

int gni_close(struct gni_side *side)
{
    struct fid *const fids[] = {
        FI_OBJECT(side->ep),
        FI_OBJECT(side->cntr[0]),
        FI_OBJECT(side->cntr[1]),
        FI_OBJECT(side->cntr[2]),
        FI_OBJECT(side->cntr[3]),
        FI_OBJECT(side->cntr[4]),
        FI_OBJECT(side->cntr[5]),
        FI_OBJECT(side->av),
        side->rx_cq != side->tx_cq ? FI_OBJECT(side->rx_cq) : NULL,
        FI_OBJECT(side->tx_cq),
        FI_OBJECT(side->domain),
        FI_OBJECT(side->fabric),
    };
    size_t failed = 0;
    int status = fi_objects_close(fids, sizeof(fids) / sizeof(fids[0]), &failed);

    if (status != 0)
        status = rank_fail(side->rank, "closing object %zu of the side: %s", failed,
                           fi_strerror(-status));
    fi_freeinfo(side->info);
    fi_freeinfo(side->hints);
    free(side->peers);
    memset(side, 0, sizeof(*side));
    return status;
}

int gni_endpoint(struct gni_side *side, struct fid_ep **ep)
{
    const struct fi_objects objects = {.domain = side->domain,
                                       .info = side->info,
                                       .tx_cq = side->tx_cq,
                                       .rx_cq = side->tx_cq,
                                       .av = side->av};
    struct rank *rank = side->rank;

    TRY(open_endpoint(side, &objects, ep));
    CALL(fi_enable(*ep));
    return 0;
}

#define NAME_ROOM 80

int gni_exchange(struct gni_side *side, struct fid_ep *ep, fi_addr_t *addresses)
{
    struct rank *rank = side->rank;
    char mine[NAME_ROOM] = {0}, *all = calloc(side->size, NAME_ROOM);
    size_t bytes = sizeof(mine);
    uint32_t i;

    CALL(fi_getname(&ep->fid, mine, &bytes));
    rank_allgather(rank, mine, all, NAME_ROOM);
    for (i = 0; i < side->size; i++)
        EXPECT_IS(fi_av_insert(side->av, all + (size_t)i * NAME_ROOM, 1, &addresses[i], 0, NULL),
                  1);
    free(all);
    return 0;
}

/* ---- completions ----------------------------------------------------------------------------- */

static int complain(struct rank *rank, struct fid_cq *cq)
{
    struct fi_cq_err_entry entry = {0};
    char text[128];

    fi_cq_readerr(cq, &entry, 0);
    return rank_fail(rank, "rank %u: an error entry: %s (%s), flags %#llx, context %p",
                     rank_id(rank), fi_strerror(entry.err),
                     fi_cq_strerror(cq, entry.prov_errno, NULL, text, sizeof(text)),
                     (unsigned long long)entry.flags, entry.op_context);
}

int gni_entry_from(struct gni_side *side, struct fid_cq *cq, struct fi_cq_tagged_entry *entry,
                   fi_addr_t *source)
{
    ssize_t result;

    while ((result = fi_cq_readfrom(cq, entry, 1, source)) == -FI_EAGAIN)
        ;
    if (result == -FI_EAVAIL)
        return complain(side->rank, cq);
    return result == 1 ? 0 : rank_fail(side->rank, "fi_cq_readfrom: %zd", result);
}

int gni_entry(struct gni_side *side, struct fid_cq *cq, struct fi_cq_tagged_entry *entry)
{
    fi_addr_t source;

    return gni_entry_from(side, cq, entry, &source);
}

int gni_error(struct gni_side *side, struct fid_cq *cq, struct fi_cq_err_entry *entry)
{
    struct fi_cq_tagged_entry good;
    ssize_t result;

    while ((result = fi_cq_read(cq, &good, 1)) == -FI_EAGAIN)
        ;
    if (result != -FI_EAVAIL)
        return rank_fail(side->rank, "rank %u: fi_cq_read: %zd, no error entry", side->id, result);
    memset(entry, 0, sizeof(*entry));
    result = fi_cq_readerr(cq, entry, 0);
    return result == 1 ? 0 : rank_fail(side->rank, "fi_cq_readerr: %zd", result);
}

int gni_silence(struct gni_side *side, struct fid_cq *cq, uint64_t us)
{
    struct fi_cq_tagged_entry entry;
    ssize_t result;

    rank_alarm(side->rank, us * 1000000);
    while (!rank_alarm_rang(side->rank)) {
        result = fi_cq_read(cq, &entry, 1);
        if (result != -FI_EAGAIN)
            return rank_fail(side->rank, "rank %u: fi_cq_read: %zd, nothing was expected", side->id,
                             result);
    }
    return 0;
}

int gni_count(struct gni_side *side, struct fid_cntr *cntr, uint64_t value)
{
    while (fi_cntr_read(cntr) < value)
        if (fi_cntr_readerr(cntr) != 0)
            return rank_fail(side->rank, "the counter has an error");
    return 0;
}

static bool never(const void *nothing)
{
    (void)nothing;
    return false;
}

void gni_pause(struct rank *rank, uint64_t ps)
{
    rank_wait(rank, never, NULL, ps);
}

/* ---- memory ---------------------------------------------------------------------------------- */

int gni_memory_open(struct gni_side *side, struct gni_memory *memory, size_t size, uint64_t access)
{
    struct rank *rank = side->rank;
    struct gni_place mine;

    memory->size = size;
    memory->bytes = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    memory->all = calloc(side->size, sizeof(*memory->all));
    memset(memory->bytes, 0, size);
    CALL(fi_mr_reg(side->domain, memory->bytes, size, access, 0, 0, 0, &memory->mr, NULL));
    mine.address = (uintptr_t)memory->bytes;
    mine.key = fi_mr_key(memory->mr);
    rank_allgather(rank, &mine, memory->all, sizeof(mine));
    return 0;
}

int gni_memory_close(struct gni_side *side, struct gni_memory *memory)
{
    int status = fi_close(&memory->mr->fid);

    if (status != 0)
        status = rank_fail(side->rank, "closing the memory region: %s", fi_strerror(-status));
    free(memory->bytes);
    free(memory->all);
    return status;
}

int gni_finish(struct gni_side *side)
{
    rank_barrier(side->rank);
    return gni_close(side);
}

int gni_finish_with(struct gni_side *side, struct gni_memory *memory)
{
    int status;

    rank_barrier(side->rank);
    status = gni_memory_close(side, memory);
    return status != 0 ? status : gni_close(side);
}

void gni_fill(void *bytes, size_t size, uint64_t seed)
{
    uint8_t *at = bytes;
    size_t i;

    for (i = 0; i < size; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        at[i] = (uint8_t)(seed >> 56);
    }
}

bool gni_filled(const void *bytes, size_t size, uint64_t seed)
{
    const uint8_t *at = bytes;
    size_t i;

    for (i = 0; i < size; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        if (at[i] != (uint8_t)(seed >> 56))
            return false;
    }
    return true;
}
