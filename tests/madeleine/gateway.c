/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A virtual channel over the first two adapters: ranks 0 to 2 are in the first network, 2 to 4 in
 * the second one, 4 and up in the third (the first adapter again). So ranks 2 and 4 are gateways. A
 * rank prints the case's name when all is good, and ends with 1 otherwise.
 */
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include <madeleine.h>

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static p_mad_madeleine_t session;
static p_mad_channel_t channel;
static int size, rank, failures, last_code;

static void on_failure(const mad_failure_t *failure, void *arg)
{
    failures++;
    last_code = failure->code;
}

static p_mad_channel_t open_part(const char *name, int adapter, int first, int last)
{
    ntbx_host_id_t ranks[64];
    int count = 0;

    for (int i = first; i <= last && i < size; i++)
        ranks[count++] = i;
    return mad_open_channel_of(session, name, adapter, count, ranks);
}

static void open_all(void)
{
    p_mad_channel_t parts[3];
    int count = 2;

    if (getenv("MAD_CONF") != NULL) { /* it has the same channels */
        channel = mad_get_channel(session, (char[]){"all"});
        CHECK(channel != NULL);
        return;
    }
    parts[0] = open_part("one", 0, 0, 2);
    parts[1] = open_part("two", 1, 2, 4);
    if (size > 5)
        parts[count++] = open_part("three", 0, 4, size - 1);
    channel = mad_open_virtual_channel(session, "all", count, parts);
    CHECK(channel != NULL);
}

/* ---- all modes ------------------------------------------------------------------------------- */

static const size_t lengths[] = {1, 1024, 1025, 4096, 4097, 70000, 262144, 262145, 1000000};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static const struct {
    mad_send_mode_t send;
    mad_receive_mode_t receive;
} modes[] = {{mad_send_SAFER, mad_receive_EXPRESS},   {mad_send_SAFER, mad_receive_CHEAPER},
             {mad_send_LATER, mad_receive_CHEAPER},   {mad_send_CHEAPER, mad_receive_EXPRESS},
             {mad_send_CHEAPER, mad_receive_CHEAPER}, {mad_send_LATER, mad_receive_EXPRESS}};
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

static void fill(char *memory, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        memory[i] = (char)(seed + (int)(i % 251));
}

static bool is(const char *memory, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        if (memory[i] != (char)(seed + (int)(i % 251)))
            return false;
    return true;
}

static void send_all(char *memory, int to)
{
    for (int i = 0; i < LENGTHS; i++) {
        p_mad_connection_t out = mad_begin_packing(channel, to);
        int numbers[MODES];

        CHECK(out != NULL && out->channel == channel && out->remote_host_id == to);
        fill(memory, lengths[i], rank + i);
        for (int mode = 0; mode < MODES; mode++) {
            numbers[mode] = modes[mode].send == mad_send_LATER ? -1 : rank * 100 + mode;
            mad_pack(out, &numbers[mode], sizeof(int), modes[mode].send, modes[mode].receive);
            if (modes[mode].send == mad_send_SAFER)
                numbers[mode] = -1;
        }
        mad_pack(out, memory, lengths[i], modes[i % 5].send, modes[i % 5].receive);
        for (int mode = 0; mode < MODES; mode++)
            if (modes[mode].send == mad_send_LATER)
                numbers[mode] = rank * 100 + mode;
        mad_end_packing(out);
    }
}

static void receive_one(char *memory, p_mad_connection_t in, int i)
{
    int numbers[MODES] = {0}, from = in->remote_host_id;

    for (int mode = 0; mode < MODES; mode++) {
        mad_unpack(in, &numbers[mode], sizeof(int), modes[mode].send, modes[mode].receive);
        if (modes[mode].receive == mad_receive_EXPRESS)
            CHECK(numbers[mode] == from * 100 + mode);
    }
    mad_unpack(in, memory, lengths[i], modes[i % 5].send, modes[i % 5].receive);
    mad_end_unpacking(in);
    for (int mode = 0; mode < MODES; mode++)
        CHECK(numbers[mode] == from * 100 + mode);
    CHECK(is(memory, lengths[i], from + i));
}

/* Others' messages come meanwhile, each sender's in order. */
static void receive_all(char *memory, int from)
{
    static int got[64]; /* by rank */

    while (got[from] < LENGTHS) {
        p_mad_connection_t in = mad_begin_unpacking(channel);

        CHECK(in != NULL && in->channel == channel);
        receive_one(memory, in, got[in->remote_host_id]++);
    }
}

/* Pair by pair; the lower rank sends first. */
static void every_mode(void)
{
    char *memory = malloc(1000000);

    CHECK(memory != NULL);
    for (int low = 0; low < size; low++)
        for (int high = low + 1; high < size; high++) {
            if (rank == low) {
                send_all(memory, high);
                receive_all(memory, high);
            } else if (rank == high) {
                receive_all(memory, low);
                send_all(memory, low);
            }
        }
    free(memory);
}

/* Rank 0 sends more than the packets that may be in flight, to a receiver that is late. */
static void flow(void)
{
    enum { MESSAGES = 200 };
    p_mad_connection_t connection;
    int number;

    for (int i = 0; i < MESSAGES && (rank == 0 || rank == size - 1); i++) {
        if (rank == 0) {
            connection = mad_begin_packing(channel, size - 1);
            mad_pack(connection, &i, sizeof(i), mad_send_CHEAPER, mad_receive_CHEAPER);
            mad_end_packing(connection);
            continue;
        }
        while (i == 0 && (connection = mad_message_ready(channel)) == NULL)
            ;
        if (i == 0)
            usleep(20000);
        else
            connection = mad_begin_unpacking(channel);
        CHECK(connection->remote_host_id == 0);
        mad_unpack(connection, &number, sizeof(number), mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_unpacking(connection);
        CHECK(number == i);
    }
}

/* An empty message, and one whose blocks the receiver expects otherwise. */
static void wrong(void)
{
    p_mad_connection_t connection;
    char block[100] = {0};

    mad_set_failure_handler(on_failure, NULL);
    if (rank == 0) {
        connection = mad_begin_packing(channel, 4);
        mad_end_packing(connection);
        CHECK(failures == 1 && last_code == MAD_EEMPTY);
        for (int i = 0; i < 2; i++) {
            connection = mad_begin_packing(channel, 4);
            mad_pack(connection, block, 100, mad_send_CHEAPER, mad_receive_CHEAPER);
            mad_end_packing(connection);
        }
    }
    if (rank == 4) {
        connection = mad_begin_unpacking(channel);
        mad_unpack(connection, block, 100, mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_unpacking(connection);
        CHECK(failures == 0);
        connection = mad_begin_unpacking(channel);
        mad_unpack(connection, block, 50, mad_send_CHEAPER, mad_receive_CHEAPER);
        CHECK(failures == 1 && last_code == MAD_ESYMM);
        mad_end_unpacking(connection);
    }
}

static void exchange_number(int from, int to)
{
    p_mad_connection_t connection;
    int number = 5;

    if (rank == from) {
        connection = mad_begin_packing(channel, to);
        CHECK(connection != NULL);
        mad_pack(connection, &number, sizeof(number), mad_send_CHEAPER, mad_receive_EXPRESS);
        mad_end_packing(connection);
    }
    if (rank != to)
        return;
    number = 0;
    connection = mad_begin_unpacking(channel);
    CHECK(connection != NULL && connection->remote_host_id == from);
    mad_unpack(connection, &number, sizeof(number), mad_send_CHEAPER, mad_receive_EXPRESS);
    CHECK(number == 5);
    mad_end_unpacking(connection);
}

/*
 * A check level finds that the receiver's blocks are others, of a message that a gateway forwards
 * and of a direct one: the sender of a long block does not wait, and other connections get on.
 */
static void violation(void)
{
    static char large[16 << 20];
    p_mad_connection_t connection;
    int number = 1, to;

    mad_set_failure_handler(on_failure, NULL);
    for (int i = 1; i <= 2; i++) {
        to = i == 1 ? 4 : 2;
        if (rank == 0) {
            connection = mad_begin_packing(channel, to);
            mad_pack(connection, &number, sizeof(number), mad_send_SAFER, mad_receive_EXPRESS);
            mad_pack(connection, large, sizeof(large), mad_send_CHEAPER, mad_receive_EXPRESS);
            mad_end_packing(connection);
            CHECK(failures == i && (last_code == MAD_ESYMM || last_code == MAD_EPEER));
        }
        if (rank == to) {
            connection = mad_begin_unpacking(channel);
            mad_unpack(connection, large, 2, mad_send_SAFER, mad_receive_EXPRESS);
            CHECK(failures == 1 && last_code == MAD_ESYMM);
            mad_end_unpacking(connection);
        }
    }
    mad_set_failure_handler(NULL, NULL);
    exchange_number(0, 3); /* through the gateway that has refused */
    exchange_number(3, 4);
    exchange_number(4, 0);
}

/* The gateway is killed. Both sides learn it, whether they wait for a message or send. */
static void killed(void)
{
    p_mad_connection_t connection;
    static char block[100000];

    mad_set_failure_handler(on_failure, NULL);
    if (rank == 2)
        raise(SIGKILL);
    if (rank == 0) {
        while (last_code == MAD_OK) {
            connection = mad_begin_packing(channel, 4);
            if (connection == NULL)
                break;
            mad_pack(connection, block, sizeof(block), mad_send_CHEAPER, mad_receive_CHEAPER);
            mad_end_packing(connection);
        }
        connection = mad_begin_packing(channel, 1); /* in the same network */
        mad_pack(connection, block, sizeof(block), mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_packing(connection);
        mad_begin_unpacking(channel); /* until rank 1 has it, and has gone */
    }
    if (rank == 1) {
        connection = mad_begin_unpacking(channel);
        CHECK(connection != NULL && connection->remote_host_id == 0);
        mad_unpack(connection, block, sizeof(block), mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_unpacking(connection);
        CHECK(mad_connection_error(connection) == MAD_OK);
    }
    while ((rank == 3 || rank == 4) &&
           mad_connection_error(channel->input_connection[0]) == MAD_OK) {
        connection = mad_message_ready(channel);
        if (connection == NULL)
            continue;
        mad_unpack(connection, block, sizeof(block), mad_send_CHEAPER, mad_receive_CHEAPER);
        mad_end_unpacking(connection); /* the gateway may have forwarded some of rank 0's */
    }
    if (rank == 1)
        printf("1: from rank 0\n");
    else
        printf("%d: code %d\n", rank,
               mad_connection_error(channel->input_connection[rank == 0 ? 4 : 0]));
    fflush(stdout);
    _exit(0);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"modes", every_mode},
             {"flow", flow},
             {"wrong", wrong},
             {"violation", violation},
             {"killed", killed}};

int main(int argc, char **argv)
{
    signal(SIGUSR1, SIG_IGN); /* by which the process manager tells of a death */
    session = mad_init(&argc, argv, NULL, NULL);
    size = session->configuration.size;
    rank = session->configuration.local_host_id;
    CHECK(argc == 2 && size >= 5);
    open_all();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    mad_exit(session);
    printf("%s\n", argv[1]);
    return 0;
}
