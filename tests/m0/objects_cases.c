/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "objects_cases.h"

#include "lib/bob.h"
#include "lib/buf.h"
#include "lib/byteorder.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/misc.h"
#include "lib/rwlock.h"
#include "lib/string.h"
#include "lib/thread.h"
#include "lib/timer.h"
#include "lib/tlist.h"

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)
#define MSEC ((m0_time_t)M0_TIME_ONE_MSEC)

static void sleep_for(m0_time_t duration)
{
    m0_nanosleep(duration, NULL);
}

/* ---- buffers --------------------------------------------------------------------------------- */

int m0_159_buffers_are_compared_and_copied(void)
{
    static char text[] = "storage";
    static const uint32_t number = 7;
    struct m0_buf a = M0_BUF_INIT(sizeof(text), text), b = M0_BUF_INIT0, c, d = M0_BUF_INIT0;
    char high[] = {(char)0xff, 1}, low[] = {1, 1};
    char *copy;

    EXPECT(m0_buf_is_set(&a) && !m0_buf_is_set(&b));
    EXPECT(M0_BUF_INIT_PTR_CONST(&number).b_nob == 4 && M0_BUF_INITS(text).b_nob == 7);
    EXPECT(m0_buf_copy(&b, &a) == 0 && b.b_addr != a.b_addr && m0_buf_eq(&a, &b));
    EXPECT(m0_buf_cmp(&a, &b) == 0);
    ((char *)b.b_addr)[6] = 'd';
    EXPECT(!m0_buf_eq(&a, &b) && m0_buf_cmp(&a, &b) == 1 && m0_buf_cmp(&b, &a) == -1);
    m0_buf_memcpy(&b, &a);
    EXPECT(m0_buf_eq(&a, &b));
    /* Bytes are unsigned, and a longer buffer follows its own beginning. */
    m0_buf_init(&c, high, 2);
    EXPECT(m0_buf_cmp(&c, &M0_BUF_INIT(2, low)) == 0xfe);
    EXPECT(m0_buf_cmp(&M0_BUF_INIT(3, text), &a) < 0 && m0_buf_cmp(&a, &M0_BUF_INIT(3, text)) > 0);
    EXPECT(m0_buf_eq(&M0_BUF_INIT0, &M0_BUF_INIT(0, text)));
    EXPECT(m0_buf_streq(&a, "storage") && !m0_buf_streq(&a, "storages"));
    EXPECT(m0_buf_streq(&M0_BUF_INIT(3, text), "sto") && !m0_buf_streq(&a, "sto"));
    copy = m0_buf_strdup(&M0_BUF_INIT(3, text));
    EXPECT(m0_streq(copy, "sto"));
    m0_free(copy);
    m0_buf_free(&b);
    EXPECT(b.b_nob == 0 && b.b_addr == NULL);
    EXPECT(m0_buf_alloc(&b, 100) == 0 && b.b_nob == 100 && m0_is_zeroed(b.b_addr, 100));
    m0_buf_free(&b);
    EXPECT(m0_buf_copy_aligned(&d, &a, 12) == 0);
    EXPECT(m0_addr_is_aligned(d.b_addr, 12) && m0_buf_eq(&d, &a));
    m0_free_aligned(d.b_addr, d.b_nob, 12);
    return 0;
}

int m0_159_texts_become_buffers_and_come_back(void)
{
    const char *texts[] = {"192.168.1.1@tcp", "", "10@gni", NULL},
               *shorter[] = {"192.168.1.1@tcp", NULL};
    const char **back;
    struct m0_bufs bufs;

    EXPECT(m0_bufs_from_strings(&bufs, texts) == 0);
    EXPECT(bufs.ab_count == 3 && bufs.ab_elems[0].b_nob == 15 && bufs.ab_elems[1].b_nob == 0);
    EXPECT(m0_bufs_streq(&bufs, texts) && !m0_bufs_streq(&bufs, shorter));
    EXPECT(m0_bufs_to_strings(&back, &bufs) == 0);
    EXPECT(m0_streq(back[0], texts[0]) && m0_streq(back[1], "") && m0_streq(back[2], texts[2]));
    EXPECT(back[3] == NULL);
    m0_strings_free(back);
    m0_bufs_free(&bufs);
    EXPECT(bufs.ab_count == 0 && bufs.ab_elems == NULL);
    EXPECT(m0_bufs_from_strings(&bufs, &texts[3]) == 0 && bufs.ab_count == 0);
    back = m0_strings_dup(texts);
    EXPECT(back != NULL && m0_streq(back[2], "10@gni") && back[2] != texts[2] && back[3] == NULL);
    m0_strings_free(back);
    return 0;
}

int m0_159_integers_have_the_order_of_bytes(void)
{
    uint8_t bytes[8];
    uint16_t be16 = m0_byteorder_cpu_to_be16(0x0102);
    uint32_t le32 = m0_byteorder_cpu_to_le32(0x01020304);
    uint64_t be64 = m0_byteorder_cpu_to_be64(0x0102030405060708);

    memcpy(bytes, &be16, 2);
    EXPECT(bytes[0] == 1 && bytes[1] == 2 && m0_byteorder_be16_to_cpu(be16) == 0x0102);
    memcpy(bytes, &le32, 4);
    EXPECT(bytes[0] == 4 && bytes[3] == 1 && m0_byteorder_le32_to_cpu(le32) == 0x01020304);
    memcpy(bytes, &be64, 8);
    EXPECT(bytes[0] == 1 && bytes[7] == 8);
    EXPECT(m0_byteorder_be64_to_cpu(be64) == 0x0102030405060708);
    EXPECT(m0_byteorder_le16_to_cpu(m0_byteorder_cpu_to_le16(0x0102)) == 0x0102);
    EXPECT(m0_byteorder_be32_to_cpu(m0_byteorder_cpu_to_be32(7)) == 7);
    EXPECT(m0_byteorder_le64_to_cpu(m0_byteorder_cpu_to_le64(7)) == 7);
    return 0;
}

/* ---- brands ---------------------------------------------------------------------------------- */

struct volume {
    int count;
    uint64_t magic;
    struct m0_tlink link;
};

M0_TL_DESCR_DEFINE(volume, "volumes", static, struct volume, link, magic, 0x33b0111e77,
                   0x33b0111e78);
static bool is_counted(const void *object)
{
    return ((const struct volume *)object)->count >= 0;
}
static struct m0_bob_type volume_bob = {.bt_check = is_counted};
M0_BOB_DECLARE(static, volume);
M0_BOB_DEFINE(static, &volume_bob, volume);

int m0_159_brands_show_the_type(void)
{
    struct volume volume = {.count = 3};

    m0_bob_type_tlist_init(&volume_bob, &volume_tl);
    EXPECT(m0_streq(volume_bob.bt_name, "volumes") && volume_bob.bt_magix == 0x33b0111e77);
    EXPECT(!volume_bob_check(&volume));
    volume_bob_init(&volume);
    EXPECT(volume_bob_check(&volume) && volume.magic == volume_bob.bt_magix);
    EXPECT(bob_of(&volume.link, struct volume, link, &volume_bob) == &volume);
    volume.count = -1;
    EXPECT(!volume_bob_check(&volume));
    volume.count = 0;
    volume_bob_fini(&volume);
    EXPECT(!volume_bob_check(&volume) && volume.magic == 0);
    return 0;
}

/* ---- readers and writers --------------------------------------------------------------------- */

struct shared {
    struct m0_rwlock lock;
    struct m0_semaphore inside; /* readers that have it */
    struct m0_semaphore leave; /* what they wait for then */
    int writers; /* that have it: changed by them only */
    int64_t value; /* both halves of it are equal outside of a writer */
    bool torn;
};

static void reader(struct shared *shared)
{
    m0_rwlock_read_lock(&shared->lock);
    m0_semaphore_up(&shared->inside);
    m0_semaphore_down(&shared->leave);
    m0_rwlock_read_lock(&shared->lock); /* although a writer may wait */
    if ((shared->value >> 32) != (int32_t)shared->value)
        shared->torn = true;
    m0_rwlock_read_unlock(&shared->lock);
    m0_rwlock_read_unlock(&shared->lock);
}

static void writer(struct shared *shared)
{
    int64_t half;
    int i;

    for (i = 0; i < 3; i++) {
        m0_rwlock_write_lock(&shared->lock);
        if (++shared->writers != 1)
            shared->torn = true;
        half = (shared->value >> 32) + 1;
        shared->value = half << 32;
        sleep_for(MSEC / 10);
        shared->value |= half;
        shared->writers--;
        m0_rwlock_write_unlock(&shared->lock);
    }
}

int m0_159_readers_share_and_a_writer_excludes(void)
{
    struct shared shared = {.value = 0};
    struct m0_thread threads[5] = {{.t_state = TS_PARKED}};
    int i;

    m0_rwlock_init(&shared.lock);
    m0_semaphore_init(&shared.inside, 0);
    m0_semaphore_init(&shared.leave, 0);
    for (i = 0; i < 3; i++)
        EXPECT(M0_THREAD_INIT(&threads[i], struct shared *, NULL, &reader, &shared, "r%d", i) == 0);
    for (i = 0; i < 3; i++) /* all at once, or this would wait for ever */
        m0_semaphore_down(&shared.inside);
    for (i = 3; i < 5; i++)
        EXPECT(M0_THREAD_INIT(&threads[i], struct shared *, NULL, &writer, &shared, "w%d", i) == 0);
    sleep_for(2 * MSEC);
    EXPECT(shared.value == 0); /* no writer among readers */
    for (i = 0; i < 3; i++)
        m0_semaphore_up(&shared.leave);
    for (i = 0; i < 5; i++) {
        m0_thread_join(&threads[i]);
        m0_thread_fini(&threads[i]);
    }
    EXPECT(!shared.torn && shared.value == (6ll << 32 | 6));
    m0_semaphore_fini(&shared.leave);
    m0_semaphore_fini(&shared.inside);
    m0_rwlock_fini(&shared.lock);
    return 0;
}

/* ---- timers ---------------------------------------------------------------------------------- */

struct called {
    struct m0_semaphore times;
    m0_time_t at;
    m0_time_t takes;
    bool ended;
};

static unsigned long on_time(unsigned long data)
{
    struct called *called = (struct called *)data;

    called->at = m0_time_now();
    m0_semaphore_up(&called->times);
    if (called->takes > 0)
        sleep_for(called->takes);
    called->ended = true;
    return 0;
}

int m0_159_a_timer_calls_once_at_its_time(void)
{
    struct called called = {.at = 0};
    struct m0_timer timer;
    m0_time_t expire;

    m0_semaphore_init(&called.times, 0);
    EXPECT(m0_timer_init(&timer, M0_TIMER_SOFT, NULL, on_time, (unsigned long)&called) == 0);
    EXPECT(!m0_timer_is_started(&timer));
    expire = m0_time_from_now(0, 5 * MSEC);
    m0_timer_start(&timer, expire);
    EXPECT(m0_timer_is_started(&timer));
    m0_semaphore_down(&called.times);
    EXPECT(called.at >= expire && called.at < m0_time_add(expire, 60000 * MSEC));
    EXPECT(!m0_semaphore_timeddown(&called.times, m0_time_from_now(0, 10 * MSEC)));
    EXPECT(m0_timer_is_started(&timer)); /* until it is stopped */
    m0_timer_stop(&timer);
    EXPECT(!m0_timer_is_started(&timer));
    m0_timer_start(&timer, 1); /* long ago */
    m0_semaphore_down(&called.times);
    m0_timer_stop(&timer);
    m0_timer_callback_execute(&timer);
    EXPECT(m0_semaphore_trydown(&called.times));
    m0_timer_fini(&timer);
    m0_semaphore_fini(&called.times);
    return 0;
}

int m0_159_a_stopped_timer_does_not_call(void)
{
    struct called called = {.at = 0};
    struct m0_timer timer;

    m0_semaphore_init(&called.times, 0);
    EXPECT(m0_timer_init(&timer, M0_TIMER_HARD, NULL, on_time, (unsigned long)&called) == 0);
    m0_timer_start(&timer, m0_time_from_now(0, 30 * MSEC));
    m0_timer_stop(&timer);
    m0_semaphore_trydown(&called.times); /* on a busy machine, it may have called before */
    EXPECT(!m0_semaphore_timeddown(&called.times, m0_time_from_now(0, 60 * MSEC)));
    called.at = 0;
    m0_timer_start(&timer, M0_TIME_NEVER);
    m0_timer_stop(&timer);
    m0_timer_fini(&timer);
    m0_timer_init(&timer, M0_TIMER_SOFT, NULL, on_time, (unsigned long)&called);
    m0_timer_fini(&timer); /* was never started */
    EXPECT(called.at == 0);
    m0_semaphore_fini(&called.times);
    return 0;
}

int m0_159_stopping_waits_for_the_function(void)
{
    struct called called = {.takes = 20 * MSEC};
    struct m0_timer timer;

    m0_semaphore_init(&called.times, 0);
    EXPECT(m0_timer_init(&timer, M0_TIMER_SOFT, NULL, on_time, (unsigned long)&called) == 0);
    m0_timer_start(&timer, m0_time_now());
    m0_semaphore_down(&called.times);
    m0_timer_stop(&timer);
    EXPECT(called.ended && m0_time_now() >= called.at + called.takes);
    m0_timer_fini(&timer);
    m0_semaphore_fini(&called.times);
    return 0;
}

int m0_159_threads_are_attached_to_a_locality(void)
{
    struct called called = {.at = 0};
    struct m0_timer_locality locality;
    struct m0_timer timer;

    m0_semaphore_init(&called.times, 0);
    m0_timer_locality_init(&locality);
    EXPECT(m0_timer_thread_attach(&locality) == 0);
    EXPECT(m0_timer_init(&timer, M0_TIMER_HARD, &locality, on_time, (unsigned long)&called) == 0);
    m0_timer_start(&timer, m0_time_from_now(0, MSEC));
    m0_semaphore_down(&called.times);
    m0_timer_stop(&timer);
    m0_timer_fini(&timer);
    m0_timer_thread_detach(&locality);
    m0_timer_locality_fini(&locality);
    m0_semaphore_fini(&called.times);
    return 0;
}

/* ---- together, as a server uses them --------------------------------------------------------- */

/* A connection that ends when nothing has come for a while. */
struct connection {
    uint64_t magic;
    struct m0_tlink link;
    struct m0_buf peer;
    struct m0_timer idle;
    struct server *server;
    bool expired;
};
struct server {
    struct m0_rwlock lock; /* of the connections */
    struct m0_tl connections;
    struct m0_semaphore expired;
};

M0_TL_DESCR_DEFINE(connection, "connections", static, struct connection, link, magic, 0x33c01177,
                   0x33c01178);
M0_TL_DEFINE(connection, static, struct connection);
static struct m0_bob_type connection_bob;
M0_BOB_DEFINE(static, &connection_bob, connection);

static unsigned long on_idle(unsigned long data)
{
    struct connection *connection = (struct connection *)data;

    m0_rwlock_write_lock(&connection->server->lock);
    if (connection_bob_check(connection))
        connection->expired = true;
    m0_rwlock_write_unlock(&connection->server->lock);
    m0_semaphore_up(&connection->server->expired);
    return 0;
}

static int connection_count(struct server *server, bool expired)
{
    struct connection *connection;
    int count = 0;

    m0_rwlock_read_lock(&server->lock);
    m0_tl_for(connection, &server->connections, connection)
    {
        count += connection->expired == expired;
    }
    m0_tl_endfor;
    m0_rwlock_read_unlock(&server->lock);
    return count;
}

int m0_159_a_server_with_timers_for_its_connections(void)
{
    static const char *const peers[] = {"10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.3@tcp"};
    struct connection connections[3], *connection;
    struct server server;
    int i;

    M0_SET_ARR0(connections);
    m0_bob_type_tlist_init(&connection_bob, &connection_tl);
    m0_rwlock_init(&server.lock);
    m0_semaphore_init(&server.expired, 0);
    connection_tlist_init(&server.connections);
    for (i = 0; i < 3; i++) {
        connection = &connections[i];
        connection->server = &server;
        EXPECT(m0_buf_copy(&connection->peer, &M0_BUF_INIT_CONST(strlen(peers[i]), peers[i])) == 0);
        EXPECT(m0_timer_init(&connection->idle, M0_TIMER_SOFT, NULL, on_idle,
                             (unsigned long)connection) == 0);
        connection_bob_init(connection);
        connection_tlink_init_at_tail(connection, &server.connections);
        m0_timer_start(&connection->idle, m0_time_from_now(0, i == 1 ? 5000000 * MSEC : 5 * MSEC));
    }
    m0_semaphore_down(&server.expired);
    m0_semaphore_down(&server.expired);
    EXPECT(connection_count(&server, true) == 2 && connection_count(&server, false) == 1);
    EXPECT(m0_buf_streq(&connections[1].peer, peers[1]) && !connections[1].expired);
    while ((connection = connection_tlist_pop(&server.connections)) != NULL) {
        m0_timer_stop(&connection->idle);
        m0_timer_fini(&connection->idle);
        m0_buf_free(&connection->peer);
        connection_bob_fini(connection);
    }
    connection_tlist_fini(&server.connections);
    m0_semaphore_fini(&server.expired);
    m0_rwlock_fini(&server.lock);
    return 0;
}
