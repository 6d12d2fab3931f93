/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program of 2000 that uses the toolbox, and names the headers of the original one by one. Its
 * messages on standard error show in which form the macros write.
 */
#include <fcntl.h>
#include <unistd.h>
#include <pm2_common.h>
#include <madeleine.h>
#include <tbx.h>
#include <tbx_list.h>
#include <tbx_malloc.h>
#include <tbx_timing.h>
#include <ntbx.h>
#include <mad_types.h>
#include <mad_modes.h>
#include <mad_pointers.h>
#include <mad_channel.h>
#include <mad_connection.h>
#include <mad_adapter.h>
#include <mad_adapter_description.h>
#include <mad_configuration.h>
#include <mad_communication_interface.h>
#include <mad_channel_interface.h>
#include <mad_driver_interface.h>
#include <mad_registration.h>
#include <mad_main.h>
#include <pm2debug.h>

typedef struct s_job {
    TBX_SHARED;
    int number;
} job_t, *p_job_t;

static void release(void *job)
{
    TBX_FREE(job);
}

static int sum_of(p_tbx_list_t list)
{
    tbx_list_reference_t cursor;
    int sum = 0;

    LOG_IN();
    tbx_list_reference_init(&cursor, list);
    if (!tbx_empty_list(list)) {
        do {
            p_job_t job = tbx_get_list_reference_object(&cursor);

            TBX_LOCK_SHARED(job);
            sum += job->number;
            TBX_UNLOCK_SHARED(job);
        } while (tbx_forward_list_reference(&cursor));
    }
    LOG_VAL("sum", sum);
    LOG_OUT();
    return sum;
}

static void work(p_mad_madeleine_t madeleine, p_mad_channel_t channel)
{
    p_mad_connection_t connection;
    mad_tick_t t1, t2;
    tbx_list_t list;
    int i, sum, rank = madeleine->configuration.local_host_id;

    tbx_list_init(&list);
    for (i = 0; i < max(3, rank); i++) {
        p_job_t job = TBX_CALLOC(1, sizeof(job_t));

        CTRL_ALLOC(job);
        TBX_INIT_SHARED(job);
        job->number = i + 10 * rank;
        tbx_append_list(&list, job);
    }
    sum = sum_of(&list);
    tbx_foreach_destroy_list(&list, release);

    MAD_GET_TICK(t1);
    if (rank == 0) {
        for (i = 1; i < madeleine->configuration.size; i++) {
            int part = 0;

            connection = mad_begin_unpacking(channel);
            mad_unpack(connection, &part, sizeof(int), mad_send_CHEAPER, mad_receive_EXPRESS);
            mad_end_unpacking(connection);
            sum += part;
        }
        DISP("%s: %d processes", channel->adapter->name, madeleine->configuration.size);
        DISP_VAL("sum", sum);
        DISP_STR("text", "words");
        DISP_IN();
        TRACE("not shown");
    } else {
        connection = mad_begin_packing(channel, 0);
        mad_pack(connection, &sum, sizeof(int), mad_send_CHEAPER, mad_receive_EXPRESS);
        mad_end_packing(connection);
    }
    MAD_GET_TICK(t2);
    VERIFY(MAD_TIMING_DELAY(t1, t2) > 0, 1);
}

int main(int argc, char **argv)
{
    p_mad_madeleine_t madeleine;
    int fd;

    madeleine = mad_init(&argc, argv, NULL, mad_adapter_set_init(1, mad_DRIVER_DEFAULT, NULL));
    SYSCALL(fd = open("/dev/null", O_RDONLY));
    SYSCALL(close(fd));
    CTRL(fd >= 0, 1);
    work(madeleine, mad_open_channel(madeleine, 0));
    mad_exit(madeleine);
    return 0;
}
