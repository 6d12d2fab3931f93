/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Beginning and end of a side: options, objects, connections of MSG endpoints. */
#include "internal.h"
#include "fi/objects.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT "9310"

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
    side->program = slash != NULL ? slash + 1 : argv[0];
    check_begin(side->program, "?", (unsigned)seconds); /* for errors in the options */
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
    check_begin(side->program, side->server ? "server" : "client", (unsigned)seconds);
    if (side->provider == NULL)
        fail("-p PROVIDER is missing");
    step("meeting the other side");
    if (side->socket < 0)
        side->socket = side->server ? peer_listen(port) : peer_connect(argv[optind], port);
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
