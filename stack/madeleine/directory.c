/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The processes and channels of a session, as programs of Madeleine III look for them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "madeleine/directory.h"
#include "mux.h"
#include "session.h"
#include "toolbox/toolbox.h"

/* ---- processes of a channel ------------------------------------------------------------------ */

static tbx_bool_t first_from(const struct s_ntbx_process_container *pc, int from, int *rank)
{
    for (; from < pc->local_array_size; from++)
        if (pc->member[from]) {
            *rank = from;
            return tbx_true;
        }
    return tbx_false;
}

tbx_bool_t ntbx_pc_first_local_rank(p_ntbx_process_container_t pc, p_ntbx_process_lrank_t rank)
{
    return first_from(pc, 0, rank);
}

tbx_bool_t ntbx_pc_next_local_rank(p_ntbx_process_container_t pc, p_ntbx_process_lrank_t rank)
{
    return first_from(pc, *rank < 0 ? 0 : *rank + 1, rank);
}

tbx_bool_t ntbx_pc_first_global_rank(p_ntbx_process_container_t pc, p_ntbx_process_grank_t rank)
{
    return ntbx_pc_first_local_rank(pc, rank);
}

tbx_bool_t ntbx_pc_next_global_rank(p_ntbx_process_container_t pc, p_ntbx_process_grank_t rank)
{
    return ntbx_pc_next_local_rank(pc, rank);
}

ntbx_process_lrank_t ntbx_pc_global_to_local(p_ntbx_process_container_t pc,
                                             ntbx_process_grank_t rank)
{
    return rank >= 0 && rank < pc->global_array_size && pc->member[rank] ? rank : -1;
}

ntbx_process_grank_t ntbx_pc_local_to_global(p_ntbx_process_container_t pc,
                                             ntbx_process_lrank_t rank)
{
    return ntbx_pc_global_to_local(pc, rank);
}

ntbx_process_lrank_t ntbx_pc_local_max(p_ntbx_process_container_t pc)
{
    for (int rank = pc->local_array_size - 1; rank >= 0; rank--)
        if (pc->member[rank])
            return rank;
    return -1;
}

ntbx_process_grank_t ntbx_pc_global_max(p_ntbx_process_container_t pc)
{
    return ntbx_pc_local_max(pc);
}

/* ---- the directory --------------------------------------------------------------------------- */

static p_tbx_darray_t array_of(p_mad_connection_t *connections, int size, int own)
{
    p_tbx_darray_t array = tbx_darray_init();

    for (int rank = 0; rank < size; rank++)
        if (rank != own)
            tbx_darray_expand_and_set(array, rank, connections[rank]);
    return array;
}

static void add_channel(p_mad_madeleine_t madeleine, p_mad_channel_t channel)
{
    int size = madeleine->configuration.size, own = madeleine->configuration.local_host_id;
    const struct mad_mux_sub *sub = mad_mux_sub_of(channel);
    p_ntbx_process_container_t pc = tbx_need(1, sizeof(*pc));

    pc->local_array_size = pc->global_array_size = size;
    pc->member = tbx_need((size_t)size, sizeof(*pc->member));
    for (int rank = 0; rank < size; rank++)
        if (mad_channel_has(channel, rank)) {
            pc->member[rank] = tbx_true;
            pc->count++;
        }
    channel->pc = pc;
    channel->max_sub = sub != NULL && mad_mux_is_main(channel) ? sub->owner->sub_count : 0;
    channel->in_connection_darray = array_of(channel->input_connection, size, own);
    channel->out_connection_darray = array_of(channel->output_connection, size, own);
    tbx_htable_add(madeleine->channel_htable, channel->name, channel);
}

/* Parts of other channels are hidden, and so are sub-channels: mad_get_sub_channel has them. */
static bool is_public(p_mad_channel_t channel)
{
    return mad_channel_full(channel)->part_of == NULL &&
           mad_channel_full(channel)->rail_of == NULL &&
           (mad_mux_sub_of(channel) == NULL || mad_mux_is_main(channel));
}

static void make_directory(p_mad_madeleine_t madeleine)
{
    int own = madeleine->configuration.local_host_id;

    madeleine->session = tbx_need(1, sizeof(*madeleine->session));
    madeleine->session->process_rank = own;
    madeleine->dir = tbx_need(1, sizeof(*madeleine->dir));
    madeleine->dir->process_slist = tbx_slist_nil();
    for (int rank = 0; rank < madeleine->configuration.size; rank++) {
        p_ntbx_process_t process = tbx_need(1, sizeof(*process));

        process->global_rank = rank;
        tbx_slist_append(madeleine->dir->process_slist, process);
    }
    madeleine->public_channel_slist = tbx_slist_nil();
    madeleine->channel_htable = tbx_htable_empty_table();
    for (p_mad_channel_t each = madeleine->channel; each != NULL; each = each->next)
        if (is_public(each)) {
            tbx_slist_append(madeleine->public_channel_slist, tbx_strdup(each->name));
            if (mad_channel_has(each, own))
                add_channel(madeleine, each);
        }
}

p_mad_madeleine_t mad_init_directory(int *argc, char **argv, char *configuration_file,
                                     p_mad_adapter_set_t adapter_set)
{
    p_mad_madeleine_t madeleine = mad_init(argc, argv, configuration_file, adapter_set);

    if (madeleine != NULL)
        make_directory(madeleine);
    return madeleine;
}

static tbx_bool_t is_named(void *wanted, void *name)
{
    return tbx_streq(wanted, name);
}

void mad_directory_remove(p_mad_madeleine_t madeleine, p_mad_channel_t channel)
{
    if (madeleine->dir == NULL)
        return;
    free(tbx_slist_search_and_extract(madeleine->public_channel_slist, is_named, channel->name));
    if (channel->pc == NULL)
        return;
    tbx_htable_extract(madeleine->channel_htable, channel->name);
    tbx_darray_free(channel->in_connection_darray);
    tbx_darray_free(channel->out_connection_darray);
    free(channel->pc->member);
    free(channel->pc);
    channel->pc = NULL;
}

void mad_directory_free(p_mad_madeleine_t madeleine)
{
    if (madeleine->dir == NULL)
        return;
    while (!tbx_slist_is_nil(madeleine->dir->process_slist))
        free(tbx_slist_extract(madeleine->dir->process_slist));
    tbx_slist_free(madeleine->dir->process_slist);
    tbx_slist_free(madeleine->public_channel_slist); /* empty: the channels are closed */
    tbx_htable_free(madeleine->channel_htable);
    free(madeleine->dir);
    free(madeleine->session);
    madeleine->dir = NULL;
}

/* ---- the program that starts all, which is pmrun here ---------------------------------------- */

void mad_leonie_barrier(void)
{
    p_mad_madeleine_t madeleine = mad_get_madeleine();
    int error;

    if (madeleine == NULL) {
        MAD_REPORT(MAD_ESTATE, "mad_leonie_barrier: there is no session", NULL, -1);
        return;
    }
    mad_quiesce(madeleine);
    error = ((struct mad_session *)madeleine)
                ->boot->ops->fence(((struct mad_session *)madeleine)->boot);
    if (error != MAD_OK)
        MAD_REPORT(error, mad_error_text(error), NULL, -1);
}

void mad_leonie_print(const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    printf("%s\n", text);
    fflush(stdout);
}
