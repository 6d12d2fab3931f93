/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One job publishes a name, another one looks it up. `names publish` keeps the name until its
 * standard input ends; `names lookup` prints the port. Debian's MPICH (over UCX) has no
 * MPI_Open_port, so the port is a fixed text.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define PORT "tag#0$description#host$port#4711$ifname#10.0.0.1$"

static int publish(void)
{
    int again;

    MPI_Publish_name("jacquard", MPI_INFO_NULL, PORT);
    again = MPI_Publish_name("jacquard", MPI_INFO_NULL, "another port");
    printf("published, again %s\n", again == MPI_SUCCESS ? "too" : "refused");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    return MPI_Unpublish_name("jacquard", MPI_INFO_NULL, PORT);
}

static int look_up(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int code = MPI_Lookup_name("jacquard", MPI_INFO_NULL, port), class = MPI_SUCCESS;

    MPI_Error_class(code, &class);
    if (class == MPI_ERR_NAME)
        puts("no such name");
    else
        puts(code == MPI_SUCCESS && strcmp(port, PORT) == 0 ? "found" : "something else");
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int code = MPI_SUCCESS, rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && argc > 1)
        code = strcmp(argv[1], "publish") == 0 ? publish() : look_up();
    MPI_Finalize();
    return code == MPI_SUCCESS ? 0 : 1;
}
