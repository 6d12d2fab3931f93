/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two jobs that find each other by a published name and connect: `names server`, `names client`.
 * `names absent` looks up what nobody has published.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int serve(int rank)
{
    char port[MPI_MAX_PORT_NAME] = "", text[32] = "";
    MPI_Comm clients;
    int peers = 0;

    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("jacquard", MPI_INFO_NULL, port);
        printf("published\n");
        fflush(stdout);
    }
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &clients);
    MPI_Comm_remote_size(clients, &peers);
    if (rank == 0) {
        MPI_Recv(text, sizeof(text), MPI_CHAR, 0, 7, clients, MPI_STATUS_IGNORE);
        MPI_Send("answer", 7, MPI_CHAR, 0, 8, clients);
        MPI_Unpublish_name("jacquard", MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    printf("server %d: %d clients%s%s\n", rank, peers, *text != '\0' ? ", told " : "", text);
    return MPI_Comm_disconnect(&clients);
}

static int ask(int rank)
{
    char port[MPI_MAX_PORT_NAME] = "", text[32] = "";
    MPI_Comm servers;
    int peers = 0;

    if (rank == 0)
        MPI_Lookup_name("jacquard", MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &servers);
    MPI_Comm_remote_size(servers, &peers);
    if (rank == 0) {
        MPI_Send("question", 9, MPI_CHAR, 0, 7, servers);
        MPI_Recv(text, sizeof(text), MPI_CHAR, 0, 8, servers, MPI_STATUS_IGNORE);
    }
    printf("client %d: %d servers%s%s\n", rank, peers, *text != '\0' ? ", told " : "", text);
    return MPI_Comm_disconnect(&servers);
}

static int look(void)
{
    char port[MPI_MAX_PORT_NAME];
    int code, class;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Lookup_name("jacquard", MPI_INFO_NULL, port);
    MPI_Error_class(code, &class);
    printf("%s\n", class == MPI_ERR_NAME ? "no such name" : code == 0 ? "found" : "another error");
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(what, "server") == 0)
        serve(rank);
    else if (strcmp(what, "client") == 0)
        ask(rank);
    else
        look();
    return MPI_Finalize();
}
