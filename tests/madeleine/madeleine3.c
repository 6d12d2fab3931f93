/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program as they were written for Madeleine III: it finds its channels in the session, which a
 * configuration describes, and sends a number and a text round the processes of each one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pm2_common.h"

static ntbx_process_grank_t process_rank = -1;

static void send_to(p_mad_channel_t channel, ntbx_process_lrank_t to, int hops, char *text)
{
    ntbx_pack_buffer_t buffer MAD_ALIGNED;
    p_mad_connection_t out = mad_begin_packing(channel, to);
    int length = (int)strlen(text) + 1;

    ntbx_pack_int(hops, &buffer);
    mad_pack(out, &buffer, sizeof(buffer), mad_send_SAFER, mad_receive_EXPRESS);
    ntbx_pack_int(length, &buffer);
    mad_pack(out, &buffer, sizeof(buffer), mad_send_SAFER, mad_receive_EXPRESS);
    mad_pack(out, text, (size_t)length, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_packing(out);
}

static int receive(p_mad_channel_t channel, char **text)
{
    ntbx_pack_buffer_t buffer MAD_ALIGNED;
    p_mad_connection_t in = mad_begin_unpacking(channel);
    int hops, length;

    mad_unpack(in, &buffer, sizeof(buffer), mad_send_SAFER, mad_receive_EXPRESS);
    hops = ntbx_unpack_int(&buffer);
    mad_unpack(in, &buffer, sizeof(buffer), mad_send_SAFER, mad_receive_EXPRESS);
    length = ntbx_unpack_int(&buffer);
    *text = TBX_CALLOC(1, (size_t)length);
    mad_unpack(in, *text, (size_t)length, mad_send_CHEAPER, mad_receive_CHEAPER);
    mad_end_unpacking(in);
    return hops;
}

static void ring(p_mad_channel_t channel, p_ntbx_process_container_t pc)
{
    ntbx_process_lrank_t own = ntbx_pc_global_to_local(pc, process_rank), first = -1, next = own;
    p_tbx_string_t string;
    tbx_darray_index_t index = -1;
    char *text;
    int hops;

    if (!tbx_darray_first_idx(channel->in_connection_darray, &index) || index == own)
        FAILURE("no process sends to this one");
    ntbx_pc_first_local_rank(pc, &first);
    if (!ntbx_pc_next_local_rank(pc, &next))
        next = first;
    if (own == first) {
        string = tbx_string_init_to_cstring("from ");
        tbx_string_append_int(string, own);
        text = tbx_string_to_cstring_and_free(string);
        send_to(channel, next, 1, text);
        TBX_FREE(text);
    }
    hops = receive(channel, &text);
    if (own != first)
        send_to(channel, next, hops + 1, text);
    else
        LDISP("%s: %s, %d hops of %d", channel->name, text, hops, pc->count);
    TBX_FREE(text);
}

int main(int argc, char **argv)
{
    p_mad_madeleine_t madeleine;
    p_tbx_slist_t names;

    common_pre_init(&argc, argv, NULL);
    common_post_init(&argc, argv, NULL);
    madeleine = mad_get_madeleine();
    process_rank = madeleine->session->process_rank;
    if (process_rank == 0)
        LDISP_VAL("processes", tbx_slist_get_length(madeleine->dir->process_slist));
    names = madeleine->public_channel_slist;
    if (tbx_slist_is_nil(names)) {
        LDISP_STR("no channels", "here");
    } else {
        tbx_slist_ref_to_head(names);
        do {
            char *name = tbx_slist_ref_get(names);
            p_mad_channel_t channel = tbx_htable_get(madeleine->channel_htable, name);
            unsigned sub;

            if (channel == NULL)
                LDISP("rank %d is not in %s", process_rank, name);
            else
                ring(channel, channel->pc);
            for (sub = 1; channel != NULL && sub < channel->max_sub; sub++)
                if (mad_get_sub_channel(channel, sub) == NULL)
                    TBX_FAILURE("a sub-channel is missing");
            mad_leonie_barrier();
        } while (tbx_slist_ref_forward(names));
    }
    common_exit(NULL);
    return 0;
}
