/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "common.h"
#include "fi/objects.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT "9310"
#define SKIPPED 77
#define EAGER_YIELD 32u
#define POLL_AFTER 256u

static struct {
    const char *program, *role;
    char step[128];
} self = {.program = "?", .role = "?"};

/* ---- errors ---------------------------------------------------------------------------------- */

void fail(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "%s (%s): %s%s%s\n", self.program, self.role, self.step,
            self.step[0] != '\0' ? ": " : "", text);
    /* Not exit(): destructors of providers are not what is tested, after an error. */
    fflush(NULL);
    _exit(1);
}

void step(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(self.step, sizeof(self.step), format, args);
    va_end(args);
}

void check_at(const char *file, int line, const char *what, ssize_t status)
{
    if (status < 0)
        fail("%s:%d: %s: %s (%zd)", file, line, what, fi_strerror((int)-status), status);
}

void expect_at(const char *file, int line, const char *what, ssize_t status, ssize_t expected)
{
    if (status != expected)
        fail("%s:%d: %s is %zd (%s), expected %zd (%s)", file, line, what, status,
             status < 0 ? fi_strerror((int)-status) : "a number", expected,
             expected < 0 ? fi_strerror((int)-expected) : "a number");
}

static void on_alarm(int number)
{
    static const char text[] = ": took too long\n";
    ssize_t ignored = write(2, self.program, strlen(self.program));

    (void)number;
    ignored += write(2, " (", 2);
    ignored += write(2, self.role, strlen(self.role));
    ignored += write(2, "): ", 3);
    ignored += write(2, self.step, strlen(self.step));
    ignored += write(2, text, sizeof(text) - 1);
    (void)ignored;
    _exit(1);
}

double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- the other side -------------------------------------------------------------------------- */

/* Everything on the socket is a frame. */
struct frame {
    uint32_t kind, size;
};
enum { FRAME_DATA = 1, FRAME_SKIP = 2 };

static void write_all(struct side *side, const void *bytes, size_t size)
{
    const char *at = bytes;
    ssize_t done;

    while (size > 0) {
        done = send(side->socket, at, size, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            fail("the other side does not listen any more: %s", strerror(errno));
        at += done;
        size -= (size_t)done;
    }
}

static void read_all(struct side *side, void *bytes, size_t size)
{
    char *at = bytes;
    ssize_t done;

    while (size > 0) {
        done = recv(side->socket, at, size, 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            fail("the other side has ended");
        at += done;
        size -= (size_t)done;
    }
}

static void end_skipped(const char *why)
{
    printf("skipped: %s\n", why);
    fflush(stdout);
    _exit(SKIPPED);
}

void skip(struct side *side, const char *format, ...)
{
    char why[256];
    struct frame frame = {.kind = FRAME_SKIP};
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    frame.size = (uint32_t)strlen(why);
    /* The other side may have come to the same conclusion, and be gone. */
    if (send(side->socket, &frame, sizeof(frame), MSG_NOSIGNAL) == (ssize_t)sizeof(frame) &&
        send(side->socket, why, frame.size, MSG_NOSIGNAL) < 0)
        perror("send");
    end_skipped(why);
    abort();
}

static void skip_too(struct side *side, const struct frame *frame)
{
    char why[256] = "";

    HOLDS(frame->kind == FRAME_SKIP && frame->size < sizeof(why));
    read_all(side, why, frame->size);
    end_skipped(why);
}

void side_send(struct side *side, const void *bytes, size_t size)
{
    const struct frame frame = {FRAME_DATA, (uint32_t)size};

    write_all(side, &frame, sizeof(frame));
    write_all(side, bytes, size);
}

size_t side_receive(struct side *side, void *bytes, size_t size)
{
    struct pollfd readable = {.fd = side->socket, .events = POLLIN};
    struct frame frame;

    while (poll(&readable, 1, 0) == 0)
        drive(side);
    read_all(side, &frame, sizeof(frame));
    if (frame.kind != FRAME_DATA)
        skip_too(side, &frame);
    HOLDS(frame.size <= size);
    read_all(side, bytes, frame.size);
    return frame.size;
}

void side_exchange(struct side *side, const void *mine, void *theirs, size_t bytes)
{
    side_send(side, mine, bytes);
    HOLDS(side_receive(side, theirs, bytes) == bytes);
}

void side_sync(struct side *side)
{
    char here = 1, there;

    side_exchange(side, &here, &there, 1);
}

/* Has the other side ended, or skipped, while something is waited for that it should do? */
static void poll_socket(struct side *side)
{
    struct pollfd readable = {.fd = side->socket, .events = POLLIN};
    struct frame frame;
    ssize_t found;

    if (poll(&readable, 1, 0) <= 0)
        return;
    found = recv(side->socket, &frame, sizeof(frame), MSG_PEEK | MSG_DONTWAIT);
    if (found == 0)
        fail("the other side has ended");
    if (found == (ssize_t)sizeof(frame) && frame.kind == FRAME_SKIP) {
        read_all(side, &frame, sizeof(frame));
        skip_too(side, &frame);
    }
}

void drive(struct side *side)
{
    struct fi_eq_cm_entry entry;
    uint32_t event;
    unsigned i;

    if (side->eq != NULL)
        fi_eq_read(side->eq, &event, &entry, sizeof(entry), FI_PEEK);
    for (i = 0; i < side->watched_count; i++) {
        if (side->watched[i]->fclass == FI_CLASS_CQ)
            fi_cq_read((struct fid_cq *)side->watched[i], NULL, 0);
        else
            fi_cntr_read((struct fid_cntr *)side->watched[i]);
    }
    if (++side->idle % EAGER_YIELD == 0)
        sched_yield();
    if (side->idle % POLL_AFTER == 0)
        poll_socket(side);
}

void watch(struct side *side, struct fid *fid)
{
    HOLDS(side->watched_count < WATCHED_MAX);
    side->watched[side->watched_count++] = fid;
}

void unwatch(struct side *side, struct fid *fid)
{
    unsigned i;

    for (i = 0; i < side->watched_count; i++)
        if (side->watched[i] == fid) {
            side->watched[i] = side->watched[--side->watched_count];
            return;
        }
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int tcp_listen(const char *port)
{
    const struct addrinfo hints = {
        .ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    int listener, one = 1, end;

    if (getaddrinfo(NULL, port, &hints, &found) != 0)
        fail("not a port: %s", port);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listener, found->ai_addr, found->ai_addrlen) != 0 || listen(listener, 1) != 0)
        fail("port %s: %s", port, strerror(errno));
    end = accept(listener, NULL, NULL);
    if (end < 0)
        fail("port %s: %s", port, strerror(errno));
    freeaddrinfo(found);
    close(listener);
    return end;
}

static int tcp_connect(const char *host, const char *port)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int end;

    if (getaddrinfo(host, port, &hints, &found) != 0)
        fail("no such host: %s", host);
    for (;;) { /* until the server is there, or the time is up */
        end = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(end, found->ai_addr, found->ai_addrlen) == 0)
            break;
        close(end);
        usleep(20000);
    }
    freeaddrinfo(found);
    return end;
}

static enum fi_ep_type type_of(const char *name)
{
    if (strcmp(name, "rdm") == 0)
        return FI_EP_RDM;
    if (strcmp(name, "dgram") == 0)
        return FI_EP_DGRAM;
    if (strcmp(name, "msg") == 0)
        return FI_EP_MSG;
    fail("-e %s: rdm, dgram or msg", name);
}

void side_begin(struct side *side, int argc, char **argv)
{
    const char *port = PORT, *slash = strrchr(argv[0], '/');
    int option, seconds = 60, one = 1;
    bool manual = false;

    *side = (struct side){.type = FI_EP_RDM, .socket = -1, .server = true};
    self.program = side->program = slash != NULL ? slash + 1 : argv[0];
    while ((option = getopt(argc, argv, "p:e:a:b:t:mxS:C:")) != -1) {
        switch (option) {
        case 'p':
            side->provider = optarg;
            break;
        case 'e':
            side->type = type_of(optarg);
            break;
        case 'a':
            side->source = optarg;
            break;
        case 'b':
            port = optarg;
            break;
        case 't':
            seconds = atoi(optarg);
            break;
        case 'm':
            manual = true;
            break;
        case 'x':
            side->strict = true;
            break;
        case 'S':
        case 'C':
            side->server = option == 'S';
            side->socket = atoi(optarg);
            break;
        default:
            fail("usage: %s -p PROVIDER [-e rdm|dgram|msg] [-a SOURCE] [-t SECONDS] [-m] [-x] [-b "
                 "PORT] "
                 "[SERVER]",
                 side->program);
        }
    }
    if (optind < argc)
        side->server = false;
    self.role = side->server ? "server" : "client";
    if (side->provider == NULL)
        fail("-p PROVIDER is missing");
    signal(SIGALRM, on_alarm);
    alarm((unsigned)seconds);
    step("meeting the other side");
    if (side->socket < 0)
        side->socket = side->server ? tcp_listen(port) : tcp_connect(argv[optind], port);
    setsockopt(side->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));

    side->hints = fi_allocinfo();
    side->hints->fabric_attr->prov_name = strdup(side->provider);
    side->hints->ep_attr->type = side->type;
    side->hints->caps = FI_MSG;
    side->hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    side->hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    if (manual)
        side->hints->domain_attr->control_progress = side->hints->domain_attr->data_progress =
            FI_PROGRESS_MANUAL;
    side->cq_attr = (struct fi_cq_attr){.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE};
    side->av_attr.type = FI_AV_TABLE;
    step("%s", "");
}

void side_info(struct side *side)
{
    int status = fi_getinfo(API_VERSION, side->source, NULL, side->source != NULL ? FI_SOURCE : 0,
                            side->hints, &side->info);

    if (status == -FI_ENODATA)
        skip(side, "%s has no such endpoint", side->provider);
    CHECK(status);
    HOLDS(strcmp(side->info->fabric_attr->prov_name, side->provider) == 0);
}

struct fid_cq *cq_new(struct side *side)
{
    struct fi_cq_attr attr = side->cq_attr;
    struct fid_cq *cq;

    CHECK(fi_cq_open(side->domain, &attr, &cq, NULL));
    if (attr.wait_obj != FI_WAIT_SET)
        watch(side, &cq->fid);
    return cq;
}

struct fid_cntr *cntr_new(struct side *side, enum fi_wait_obj wait)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = wait};
    struct fid_cntr *cntr;

    CHECK(fi_cntr_open(side->domain, &attr, &cntr, NULL));
    watch(side, &cntr->fid);
    return cntr;
}

struct fid_av *av_new(struct side *side)
{
    struct fi_av_attr attr = side->av_attr;
    struct fid_av *av;

    CHECK(fi_av_open(side->domain, &attr, &av, NULL));
    return av;
}

void side_forget(const struct side *side, pid_t process)
{
    char name[64];
    int removed = 0, i;

    for (i = 0; strcmp(side->provider, "shm") == 0 && removed == 0; i++) {
        snprintf(name, sizeof(name), "/%ld:%u:%d", (long)process, getuid(), i);
        removed = shm_unlink(name);
        HOLDS(removed == 0 || errno == ENOENT);
    }
}

void side_open(struct side *side)
{
    if (side->domain != NULL)
        return;
    side_forget(side, getpid());
    if (side->info == NULL)
        side_info(side);
    CHECK(fi_fabric(side->info->fabric_attr, &side->fabric, NULL));
    if (side->type == FI_EP_MSG) {
        struct fi_eq_attr attr = {.wait_obj = FI_WAIT_UNSPEC};

        CHECK(fi_eq_open(side->fabric, &attr, &side->eq, NULL));
    }
    CHECK(fi_domain(side->fabric, side->info, &side->domain, NULL));
}

struct fid_ep *endpoint_new(struct side *side, struct fi_info *info, struct fid_cq *tx_cq,
                            struct fid_cq *rx_cq)
{
    const struct fi_objects objects = {
        .domain = side->domain,
        .info = info,
        .tx_cq = tx_cq,
        .rx_cq = rx_cq,
        .av = side->type == FI_EP_MSG ? NULL : side->av,
        .eq = side->type == FI_EP_MSG ? side->eq : NULL,
    };
    struct fid_ep *ep;
    const char *call;
    int status;

    status = fi_objects_endpoint(&objects, &ep, &call);
    check_at(__FILE__, __LINE__, call, status);
    if (side->writes != NULL)
        CHECK(fi_ep_bind(ep, &side->writes->fid, FI_WRITE));
    return ep;
}

/* ---- connections of MSG endpoints ------------------------------------------------------------ */

size_t take_event(struct side *side, uint32_t event, struct fi_eq_cm_entry *entry, size_t size)
{
    struct fi_eq_err_entry error = {.err_data_size = 0};
    uint32_t found;
    ssize_t got;

    while ((got = fi_eq_read(side->eq, &found, entry, size, 0)) == -FI_EAGAIN)
        drive(side);
    if (got == -FI_EAVAIL) {
        CHECK(fi_eq_readerr(side->eq, &error, 0));
        fail("event queue: %s (%d, provider's %d)", fi_strerror(error.err), error.err,
             error.prov_errno);
    }
    check_at(__FILE__, __LINE__, "fi_eq_read", got);
    if (found != event)
        fail("event %u came, expected was %u", found, event);
    return (size_t)got;
}

static void connect_server(struct side *side)
{
    uint8_t name[256];
    size_t size = sizeof(name);
    struct fi_eq_cm_entry entry;

    CHECK(fi_passive_ep(side->fabric, side->info, &side->pep, NULL));
    CHECK(fi_pep_bind(side->pep, &side->eq->fid, 0));
    CHECK(fi_listen(side->pep));
    CHECK(fi_getname(&side->pep->fid, name, &size));
    side_send(side, name, size);
    step("waiting for a request");
    take_event(side, FI_CONNREQ, &entry, sizeof(entry));
    HOLDS(entry.fid == &side->pep->fid);
    side->ep = endpoint_new(side, entry.info, side->tx_cq, side->rx_cq);
    CHECK(fi_enable(side->ep));
    CHECK(fi_accept(side->ep, NULL, 0));
    fi_freeinfo(entry.info);
    step("waiting for the end of accepting");
    take_event(side, FI_CONNECTED, &entry, sizeof(entry));
    HOLDS(entry.fid == &side->ep->fid);
}

static void connect_client(struct side *side)
{
    uint8_t name[256];
    size_t size = side_receive(side, name, sizeof(name));
    struct fi_eq_cm_entry entry;

    side->info->dest_addr = realloc(side->info->dest_addr, size);
    memcpy(side->info->dest_addr, name, size);
    side->info->dest_addrlen = size;
    side->ep = endpoint_new(side, side->info, side->tx_cq, side->rx_cq);
    CHECK(fi_enable(side->ep));
    CHECK(fi_connect(side->ep, name, NULL, 0));
    step("connecting");
    take_event(side, FI_CONNECTED, &entry, sizeof(entry));
    HOLDS(entry.fid == &side->ep->fid);
}

void side_endpoint(struct side *side)
{
    side->tx_cq = cq_new(side);
    side->rx_cq = cq_new(side);
    if (side->type == FI_EP_MSG) {
        if (side->server)
            connect_server(side);
        else
            connect_client(side);
        return;
    }
    side->av = av_new(side);
    side->ep = endpoint_new(side, side->info, side->tx_cq, side->rx_cq);
    CHECK(fi_enable(side->ep));
}

fi_addr_t exchange_names(struct side *side, struct fid_ep *mine, struct fid_av *av)
{
    uint8_t name[256];
    size_t size = sizeof(name);
    fi_addr_t address;

    CHECK(fi_getname(&mine->fid, name, &size));
    HOLDS(size <= sizeof(name));
    side_send(side, name, size);
    side_receive(side, name, sizeof(name));
    EXPECT(fi_av_insert(av, name, 1, &address, 0, NULL), 1);
    return address;
}

void side_meet(struct side *side)
{
    if (side->type != FI_EP_MSG)
        side->peer = exchange_names(side, side->ep, side->av);
}

void side_start(struct side *side)
{
    side_open(side);
    side_endpoint(side);
    step("meeting");
    side_meet(side);
    side_sync(side);
    step("%s", "");
}

void close_fid(struct fid *fid)
{
    if (fid != NULL)
        CHECK(fi_close(fid));
}

int side_end(struct side *side)
{
    struct fid *const fids[] = {
        FI_OBJECT(side->ep),     FI_OBJECT(side->pep),    FI_OBJECT(side->tx_cq),
        FI_OBJECT(side->rx_cq),  FI_OBJECT(side->writes), FI_OBJECT(side->av),
        FI_OBJECT(side->domain), FI_OBJECT(side->eq),     FI_OBJECT(side->fabric),
    };
    size_t failed;

    step("closing");
    side_sync(side);
    side->watched_count = 0;
    CHECK(fi_objects_close(fids, sizeof(fids) / sizeof(fids[0]), &failed));
    fi_freeinfo(side->info);
    fi_freeinfo(side->hints);
    close(side->socket);
    printf("ok\n");
    return 0;
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct fi_cq_tagged_entry take_from(struct side *side, struct fid_cq *cq, fi_addr_t *source)
{
    struct fi_cq_tagged_entry entry = {.op_context = NULL};
    ssize_t got;

    while ((got = source != NULL ? fi_cq_readfrom(cq, &entry, 1, source)
                                 : fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        drive(side);
    if (got == -FI_EAVAIL) {
        struct fi_cq_err_entry error = {.err_data_size = 0};

        CHECK(fi_cq_readerr(cq, &error, 0));
        fail("error entry: %s (%d), flags %#llx, provider: %s", fi_strerror(error.err), error.err,
             (unsigned long long)error.flags,
             fi_cq_strerror(cq, error.prov_errno, error.err_data, NULL, 0));
    }
    expect_at(__FILE__, __LINE__, "fi_cq_read", got, 1);
    return entry;
}

struct fi_cq_tagged_entry take(struct side *side, struct fid_cq *cq)
{
    return take_from(side, cq, NULL);
}

struct fi_cq_tagged_entry take_of(struct side *side, struct fid_cq *cq, const void *context)
{
    struct fi_cq_tagged_entry entry = take(side, cq);

    if (entry.op_context != context)
        fail("an entry of context %p came, expected was %p", entry.op_context, context);
    return entry;
}

struct fi_cq_err_entry take_error(struct side *side, struct fid_cq *cq)
{
    struct fi_cq_err_entry error = {.err_data_size = 0};
    struct fi_cq_tagged_entry entry;
    ssize_t got;

    while ((got = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        drive(side);
    expect_at(__FILE__, __LINE__, "fi_cq_read", got, -FI_EAVAIL);
    EXPECT(fi_cq_readerr(cq, &error, 0), 1);
    return error;
}

void nothing_comes(struct side *side, struct fid_cq *cq)
{
    struct fi_cq_tagged_entry entry;
    double until = now_seconds() + 0.02;

    do {
        EXPECT(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
        drive(side);
    } while (now_seconds() < until);
}

void count_to(struct side *side, struct fid_cntr *cntr, uint64_t value)
{
    uint64_t found;

    while ((found = fi_cntr_read(cntr)) < value && fi_cntr_readerr(cntr) == 0)
        drive(side);
    if (found != value || fi_cntr_readerr(cntr) != 0)
        fail("a counter is %llu with %llu errors, expected were %llu", (unsigned long long)found,
             (unsigned long long)fi_cntr_readerr(cntr), (unsigned long long)value);
}

/* ---- memory ---------------------------------------------------------------------------------- */

#define PAGE 4096u

struct memory memory_new(struct side *side, size_t size, uint64_t access)
{
    static uint64_t key = 1;
    struct memory memory = {.size = size};
    const uint64_t remote = FI_REMOTE_READ | FI_REMOTE_WRITE;

    memory.bytes = mmap(NULL, (size + PAGE) & ~(size_t)(PAGE - 1), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(memory.bytes != MAP_FAILED);
    if ((access & remote) || (side->info->domain_attr->mr_mode & FI_MR_LOCAL)) {
        CHECK(fi_mr_reg(side->domain, memory.bytes, size, access, 0, key++, 0, &memory.mr, NULL));
        memory.desc = fi_mr_desc(memory.mr);
    }
    return memory;
}

void memory_free(struct memory *memory)
{
    if (memory->mr != NULL)
        CHECK(fi_close(&memory->mr->fid));
    munmap(memory->bytes, (memory->size + PAGE) & ~(size_t)(PAGE - 1));
}

struct window memory_window(struct side *side, const struct memory *memory)
{
    struct window window = {.key = fi_mr_key(memory->mr)};

    if (side->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ||
        side->info->domain_attr->mr_mode == FI_MR_BASIC)
        window.address = (uint64_t)(uintptr_t)memory->bytes;
    return window;
}

struct window exchange_windows(struct side *side, const struct memory *mine)
{
    struct window here = memory_window(side, mine), there;

    side_exchange(side, &here, &there, sizeof(here));
    return there;
}

static uint8_t pattern(size_t at, uint64_t seed)
{
    return (uint8_t)(at * 131 + (at >> 8) * 7 + seed * 29 + 1);
}

void fill(void *bytes, size_t size, uint64_t seed)
{
    uint8_t *to = bytes;
    size_t i;

    for (i = 0; i < size; i++)
        to[i] = pattern(i, seed);
}

void verify(const void *bytes, size_t size, uint64_t seed)
{
    const uint8_t *from = bytes;
    size_t i;

    for (i = 0; i < size; i++)
        if (from[i] != pattern(i, seed))
            fail("byte %zu of %zu is %#x, expected %#x (seed %llu)", i, size, from[i],
                 pattern(i, seed), (unsigned long long)seed);
}

void verify_same(const void *bytes, size_t size, uint8_t value)
{
    const uint8_t *from = bytes;
    size_t i;

    for (i = 0; i < size; i++)
        if (from[i] != value)
            fail("byte %zu of %zu is %#x, expected %#x", i, size, from[i], value);
}
