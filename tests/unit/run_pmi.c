/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The environment of ranks, starting by PMI as programs do, and the end of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <gni_pub.h>
#include <pmi.h>
#include <pmi2.h>
#include <stdio.h>
#include "port/port.h"
#include "rank_programs.h"

/* ---- the environment ------------------------------------------------------------------------- */

static int read_environment(struct rank *rank)
{
    uint32_t address, pe;
    const char *text = port_getenv("PMI_GNI_LOC_ADDR");

    if (GNI_CdmGetNicAddress(0, &address, &pe) != GNI_RC_SUCCESS)
        return rank_fail(rank, "no address");
    return SAYS(rank, programs_variable_is("PMI_GNI_PTAG", rank_ptag(rank))) |
           SAYS(rank, programs_variable_is("PMI_GNI_COOKIE", rank_cookie(rank))) |
           SAYS(rank, programs_variable_is("CRAY_COOKIES", rank_cookie(rank))) |
           SAYS(rank, programs_variable_is("CRAY_NUM_COOKIES", 1)) |
           SAYS(rank, programs_variable_is("PMI_GNI_DEV_ID", 0)) |
           SAYS(rank, programs_variable_is("PMI_GNI_LOC_ADDR", address)) |
           SAYS(rank, port_getenv("PMI_GNI_LOC_ADDR") == text) |
           SAYS(rank, programs_variable_is("PMI_FORK_RANK", rank_id(rank))) |
           SAYS(rank, programs_variable_is("PMI_NO_FORK", 1)) |
           SAYS(rank, programs_variable_is("PMI_LOCAL_RANK", rank_on_node(rank))) |
           SAYS(rank, programs_variable_is("MPI_LOCALRANKID", rank_on_node(rank))) |
           SAYS(rank, programs_variable_is("PMI_LOCAL_SIZE", rank_id(rank) < 6 ? 3 : 1)) |
           SAYS(rank, programs_variable_is("MPI_LOCALNRANKS", rank_id(rank) < 6 ? 3 : 1)) |
           SAYS(rank, strcmp(port_getenv("FI_GNI_NAME"), "a text") == 0) |
           SAYS(rank, programs_variable_is("ALPS_APP_PE", 77)) |
           SAYS(rank, port_getenv("PMI_SPAWNED") == NULL) | SAYS(rank, port_getenv("PATH") == NULL);
}

/* Those of the scenario count more than what is found out. */
static void pmi2_109_environment_of_every_rank(void **state)
{
    program_main *const mains[] = {read_environment};

    (void)state;
    assert_int_equal(programs_run(FABRIC
                                  "jobs: [{name: a, nodes: '9,3,4', ranks_per_node: 3, ranks: 7, "
                                  "workload: barrier,\n"
                                  "  env: {FI_GNI_NAME: a text, ALPS_APP_PE: 77}}]\n",
                                  mains),
                     EXIT_HOLDS);
}

static int read_less(struct rank *rank)
{
    return SAYS(rank, port_getenv("PMI_GNI_PTAG") == NULL) |
           SAYS(rank, port_getenv("PMI_GNI_LOC_ADDR") == NULL) |
           SAYS(rank, port_getenv("CRAY_COOKIES") == NULL) |
           SAYS(rank, programs_variable_is("PMI_FORK_RANK", rank_id(rank)));
}

static void no_credentials_without_nics(void **state)
{
    program_main *const mains[] = {read_less};

    (void)state;
    assert_int_equal(programs_run("fabric: {topology: single-switch}\n"
                                  "jobs: [{name: a, nodes: 0-1, workload: barrier}]\n",
                                  mains),
                     EXIT_HOLDS);
}

/* Element of a list such as "16:80", or its last one. */
static uint32_t element(const char *name, int index)
{
    gchar **list = g_strsplit(port_getenv(name), ":", -1);
    guint last = g_strv_length(list) - 1;
    uint32_t value = (uint32_t)strtoul(list[MIN((guint)index, last)], NULL, 10);

    g_strfreev(list);
    return value;
}

struct card {
    int rank;
    uint32_t address;
    uint64_t memory;
    gni_mem_handle_t handle;
};

/* Nobody knows whose part comes first. */
static const struct card *find_card(const struct card *cards, int size, int rank)
{
    int i;

    for (i = 0; i < size; i++)
        if (cards[i].rank == rank)
            return &cards[i];
    return NULL;
}

static int put_to(gni_nic_handle_t nic, const struct card *mine, const struct card *next)
{
    gni_post_descriptor_t desc = {.type = GNI_POST_FMA_PUT,
                                  .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
                                  .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
                                  .local_addr = mine->memory,
                                  .remote_addr = next->memory + 8,
                                  .remote_mem_hndl = next->handle,
                                  .length = 8},
                          *done;
    gni_cq_handle_t cq;
    gni_ep_handle_t ep;
    gni_cq_entry_t entry;

    return GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &cq) != GNI_RC_SUCCESS ||
           GNI_EpCreate(nic, cq, &ep) != GNI_RC_SUCCESS ||
           GNI_EpBind(ep, next->address, (uint32_t)next->rank) != GNI_RC_SUCCESS ||
           GNI_PostFma(ep, &desc) != GNI_RC_SUCCESS ||
           GNI_CqWaitEvent(cq, UINT64_MAX, &entry) != GNI_RC_SUCCESS ||
           GNI_GetCompleted(cq, entry, &done) != GNI_RC_SUCCESS || done != &desc;
}

/* As public uGNI tests begin: all they know comes from PMI and its variables. */
static int use_nic(struct rank *rank)
{
    uint64_t words[512] = {0};
    int spawned, size, id, local;
    struct card mine = {.memory = (uintptr_t)words}, *cards;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    uint32_t address;

    if (PMI_Init(&spawned) != PMI_SUCCESS || PMI_Get_size(&size) != PMI_SUCCESS ||
        PMI_Get_rank(&id) != PMI_SUCCESS || PMI_Get_numpes_in_app_on_smp(&local) != PMI_SUCCESS)
        return rank_fail(rank, "no PMI");
    words[0] = 1000 + (uint64_t)id;
    if (GNI_CdmCreate((uint32_t)id, (uint8_t)element("PMI_GNI_PTAG", 1),
                      element("PMI_GNI_COOKIE", 1), 0, &cdm) != GNI_RC_SUCCESS ||
        GNI_CdmAttach(cdm, 0, &address, &nic) != GNI_RC_SUCCESS ||
        GNI_MemRegister(nic, mine.memory, sizeof(words), NULL, GNI_MEM_READWRITE, UINT32_MAX,
                        &mine.handle) != GNI_RC_SUCCESS)
        return rank_fail(rank, "the credentials are not good");
    mine.rank = id;
    mine.address = element("PMI_GNI_LOC_ADDR", 0);
    cards = g_new(struct card, size);
    if (SAYS(rank, mine.address == address) != 0 ||
        SAYS(rank, programs_variable_is("PMI_LOCAL_SIZE", local)) != 0 ||
        PMI_Allgather(&mine, cards, (int)sizeof(mine)) != PMI_SUCCESS ||
        find_card(cards, size, (id + 1) % size) == NULL ||
        put_to(nic, &mine, find_card(cards, size, (id + 1) % size)) != 0 ||
        PMI_Barrier() != PMI_SUCCESS)
        return rank_fail(rank, "the put to the next rank");
    g_free(cards);
    return SAYS(rank, words[1] == 1000 + (uint64_t)((id + size - 1) % size)) | PMI_Finalize();
}

static void pmi2_109_public_style_start_up(void **state)
{
    program_main *const mains[] = {use_nic, use_nic};

    (void)state;
    assert_int_equal(
        programs_run("fabric: {preset: mini2}\nlimits: {stack: 256KiB}\n"
                     "jobs:\n- {name: a, nodes: 0-7, ranks_per_node: 2, workload: barrier}\n"
                     "- {name: b, nodes: 4-11, workload: barrier}\n",
                     mains),
        EXIT_HOLDS);
}

/* ---- the ends of jobs ------------------------------------------------------------------------ */

static int publish(struct rank *rank)
{
    int spawned, size, id, appnum;

    return SAYS(rank, PMI2_Init(&spawned, &size, &id, &appnum) == PMI2_SUCCESS) ||
           (id == 0 && SAYS(rank, PMI2_Nameserv_publish("service", NULL, "port") == PMI2_SUCCESS));
}

/* What another job has published is there as long as that job is. */
static int publish_later(struct rank *rank)
{
    int spawned, size, id, appnum;
    char port[64];

    if (SAYS(rank, PMI2_Init(&spawned, &size, &id, &appnum) == PMI2_SUCCESS) != 0)
        return 1;
    if (id == 0 && SAYS(rank, PMI2_Nameserv_lookup("service", NULL, port, 64) != PMI2_SUCCESS) != 0)
        return 1;
    return publish(rank) || PMI2_Finalize();
}

static void pmi2_59_names_end_with_their_job(void **state)
{
    program_main *const mains[] = {publish, publish_later};

    (void)state;
    assert_int_equal(programs_run(FABRIC
                                  "jobs:\n- {name: a, nodes: 0-40, workload: barrier}\n"
                                  "- {name: b, nodes: 7-50, start: 5ms, workload: barrier}\n",
                                  mains),
                     EXIT_HOLDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_109_environment_of_every_rank),
        cmocka_unit_test(no_credentials_without_nics),
        cmocka_unit_test(pmi2_109_public_style_start_up),
        cmocka_unit_test(pmi2_59_names_end_with_their_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
