/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Remote writes over VIPL, as the libraries for one-sided communication of the time did them: the
 * attributes of the VI are zeroed, so it has no protection tag; network addresses lie in arrays of
 * characters; the target polls its memory, or takes immediate data. argv: the hosts of both
 * processes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#define VIPL095
#include <vipl.h>

#define ADDRESS_ROOM 40
#define PART 4096
#define ROUNDS 20
#define CHECK(call) check(__LINE__, (call))

typedef double discriminator_t;

typedef struct {
    VIP_NET_ADDRESS *local, *remote;
    char local_room[ADDRESS_ROOM], remote_room[ADDRESS_ROOM];
    VIP_VI_HANDLE vi;
} connection_t;

/* What the writer needs to know; the last word is written after everything else. */
typedef struct {
    char *area;
    VIP_MEM_HANDLE handle;
} target_t;

typedef struct {
    VIP_DESCRIPTOR send, receive;
    char bytes[PART];
} part_t;

static VIP_NIC_HANDLE nic;
static VIP_NIC_ATTRIBUTES nic_attributes;
static connection_t connection;
static VIP_MEM_HANDLE handle;
static part_t *parts; /* 0: messages; 1: written by the other one; 2: what is written there */
static int errors;

static void check(int line, VIP_RETURN code)
{
    if (code == VIP_SUCCESS)
        return;
    fprintf(stderr, "line %d: VIPL returns %d\n", line, code);
    exit(1);
}

static void on_error(IN VIP_PVOID context, IN VIP_ERROR_DESCRIPTOR *error)
{
    errors++;
    fprintf(stderr, "error %d of resource %d\n", error->ErrorCode, error->ResourceCode);
}

static void open_nic()
{
    VIP_MEM_ATTRIBUTES memory;
    char *allocated;

    CHECK(VipOpenNic("/dev/via_eth0", &nic));
    CHECK(VipQueryNic(nic, &nic_attributes));
    CHECK(VipNSInit(nic, NULL));
    CHECK(VipErrorCallback(nic, 0, on_error));
    CHECK(VipCreatePtag(nic, &memory.Ptag));
    memory.EnableRdmaWrite = VIP_TRUE;
    memory.EnableRdmaRead = VIP_FALSE;
    allocated = malloc(3 * sizeof(part_t) + VIP_DESCRIPTOR_ALIGNMENT);
    parts = (part_t *)(allocated + VIP_DESCRIPTOR_ALIGNMENT -
                       (unsigned long)allocated % VIP_DESCRIPTOR_ALIGNMENT);
    memset(parts, 0, 3 * sizeof(part_t));
    CHECK(VipRegisterMem(nic, allocated, 3 * sizeof(part_t) + VIP_DESCRIPTOR_ALIGNMENT, &memory,
                         &handle));
}

static void name(VIP_NET_ADDRESS *address, char *host, discriminator_t number)
{
    CHECK(VipNSGetHostByName(nic, host, address, 0));
    address->HostAddressLen = nic_attributes.NicAddressLen;
    address->DiscriminatorLen = sizeof(discriminator_t);
    memcpy(address->HostAddress + nic_attributes.NicAddressLen, &number, sizeof(number));
}

static void describe(VIP_DESCRIPTOR *descriptor, char *bytes, int length)
{
    bzero(descriptor, sizeof(*descriptor));
    descriptor->CS.SegCount = 1;
    descriptor->CS.Control = VIP_CONTROL_OP_SENDRECV;
    descriptor->CS.Length = length;
    descriptor->DS[0].Local.Data.Address = bytes;
    descriptor->DS[0].Local.Handle = handle;
    descriptor->DS[0].Local.Length = length;
}

static void post_receive()
{
    describe(&parts[0].receive, parts[0].bytes + PART / 2, PART / 2);
    CHECK(VipPostRecv(connection.vi, &parts[0].receive, handle));
}

static VIP_DESCRIPTOR *wait_for_receive()
{
    VIP_DESCRIPTOR *done;
    VIP_RETURN code;

    while ((code = VipRecvDone(connection.vi, &done)) == VIP_NOT_DONE)
        ;
    check(__LINE__, code);
    return done;
}

static void wait_for_send()
{
    VIP_DESCRIPTOR *done;

    CHECK(VipSendWait(connection.vi, VIP_INFINITE, &done));
}

static void connect_both(char *own, char *other, int waits)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_CONN_HANDLE request;
    VIP_RETURN code;

    bzero(&attributes, sizeof(VIP_VI_ATTRIBUTES));
    attributes.EnableRdmaWrite = VIP_TRUE;
    attributes.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
    attributes.MaxTransferSize = nic_attributes.MaxTransferSize;
    CHECK(VipCreateVi(nic, &attributes, NULL, NULL, &connection.vi));
    connection.local = (VIP_NET_ADDRESS *)connection.local_room;
    connection.remote = (VIP_NET_ADDRESS *)connection.remote_room;
    name(connection.local, own, 1103.0);
    name(connection.remote, other, 1103.0);
    post_receive();
    if (waits) {
        CHECK(VipConnectWait(nic, connection.local, VIP_INFINITE, connection.remote, &attributes,
                             &request));
        CHECK(VipConnectAccept(request, connection.vi));
        return;
    }
    do
        code = VipConnectRequest(connection.vi, connection.local, connection.remote, VIP_INFINITE,
                                 &attributes);
    while (code == VIP_NO_MATCH);
    check(__LINE__, code);
}

/* Both sides learn where the other one may write. */
static void exchange(target_t *remote)
{
    target_t own;

    own.area = parts[1].bytes;
    own.handle = handle;
    memcpy(parts[0].bytes, &own, sizeof(own));
    describe(&parts[0].send, parts[0].bytes, sizeof(own));
    CHECK(VipPostSend(connection.vi, &parts[0].send, handle));
    wait_for_send();
    wait_for_receive();
    memcpy(remote, parts[0].bytes + PART / 2, sizeof(*remote));
    post_receive();
}

static void write_part(target_t *remote, int number, int control)
{
    VIP_DESCRIPTOR *write = &parts[2].send;

    memset(parts[2].bytes, number, PART);
    bzero(write, sizeof(*write));
    write->CS.SegCount = 2;
    write->CS.Control = VIP_CONTROL_OP_RDMAWRITE | control;
    write->CS.Length = PART;
    write->CS.ImmediateData = number;
    write->DS[0].Remote.Data.Address = remote->area;
    write->DS[0].Remote.Handle = remote->handle;
    write->DS[1].Local.Data.Address = parts[2].bytes;
    write->DS[1].Local.Handle = handle;
    write->DS[1].Local.Length = PART;
    CHECK(VipPostSend(connection.vi, write, handle));
    wait_for_send();
    errors += (write->CS.Status & VIP_STATUS_ERROR_MASK) != 0 ||
              (write->CS.Status & VIP_STATUS_OP_MASK) != VIP_STATUS_OP_RDMA_WRITE;
}

static void wait_for_part(int number, int control)
{
    volatile char *last = parts[1].bytes + PART - 1;
    VIP_DESCRIPTOR *done;

    if (control == 0) {
        while (*last != number)
            usleep(10);
    } else {
        done = wait_for_receive();
        errors += done->CS.ImmediateData != (VIP_UINT32)number ||
                  (done->CS.Status & VIP_STATUS_OP_MASK) != VIP_STATUS_OP_REMOTE_RDMA_WRITE;
        post_receive();
    }
    errors += parts[1].bytes[0] != number || *last != number;
}

int main(int argc, char **argv)
{
    target_t remote;
    char host[64];
    int i, first, control;

    gethostname(host, sizeof(host));
    first = strcmp(host, argv[1]) == 0;
    open_nic();
    connect_both(argv[first ? 1 : 2], argv[first ? 2 : 1], first);
    exchange(&remote);
    for (i = 1; i <= ROUNDS; i++) {
        control = i % 2 == 0 ? VIP_CONTROL_IMMEDIATE : 0;
        if (first)
            write_part(&remote, i, control);
        wait_for_part(first ? i + 50 : i, control);
        if (!first)
            write_part(&remote, i + 50, control);
    }
    fprintf(stderr, "%s: %d errors\n", first ? "first" : "second", errors);
    _exit(errors); /* without a word to the provider */
}
