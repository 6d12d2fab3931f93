/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Client and server over VIPL, with descriptors as version 0.95 spells them, and a completion
 * queue. argv: the server's host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vipl.h>

#define CHECK(call)                                                            \
    do {                                                                       \
        VIP_RETURN returned = (call);                                          \
        if (returned != VIP_SUCCESS) {                                         \
            fprintf(stderr, "line %d: VIPL returns %d\n", __LINE__, returned); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)
#define BYTES 2000
#define ROUNDS 50

VIP_NIC_HANDLE nic;
VIP_PROTECTION_HANDLE tag;
VIP_VI_HANDLE vi;
VIP_CQ_HANDLE cq;
VIP_MEM_HANDLE memory;
char *
    area; /* page 0: descriptors, 0 to 3 for receives; page 1: to be sent; pages 2 to 5: received */
#define DESCRIPTOR(i) ((VIP_DESCRIPTOR *)(area + 64 * (i)))
#define BUFFER(i) (area + 4096 * ((i) + 2))

static VIP_NET_ADDRESS *address(const char *host, int discriminator)
{
    VIP_NET_ADDRESS *made = calloc(1, sizeof(VIP_NET_ADDRESS) + 64);
    VIP_NIC_ATTRIBUTES own;

    CHECK(VipQueryNic(nic, &own));
    if (host != NULL) {
        CHECK(VipNSGetHostByName(nic, host, made, 0));
    } else {
        made->HostAddressLen = own.NicAddressLen;
        memcpy(made->HostAddress, own.LocalNicAddress, own.NicAddressLen);
    }
    made->DiscriminatorLen = sizeof(discriminator);
    memcpy(made->HostAddress + made->HostAddressLen, &discriminator, sizeof(discriminator));
    return made;
}

static VIP_DESCRIPTOR *describe(int i, char *buffer, int control)
{
    VIP_DESCRIPTOR *made = DESCRIPTOR(i);

    memset(made, 0, sizeof(*made));
    made->CS.SegCount = 1;
    made->CS.Control = VIP_CONTROL_OP_SENDRECV | control;
    made->CS.Length = BYTES;
    made->DS[0].Local.Data.Address = buffer;
    made->DS[0].Local.Handle = memory;
    made->DS[0].Local.Length = BYTES;
    return made;
}

static void post(int i)
{
    CHECK(VipPostRecv(vi, describe(i, BUFFER(i), 0), memory));
}

static void send_number(int number)
{
    VIP_DESCRIPTOR *sent = describe(4, area + 4096, VIP_CONTROL_IMMEDIATE), *done;

    memset(area + 4096, number, BYTES);
    sent->CS.ImmediateData = number;
    CHECK(VipPostSend(vi, sent, memory));
    CHECK(VipSendWait(vi, VIP_INFINITE, &done));
}

static int receive_number()
{
    VIP_DESCRIPTOR *done;
    VIP_VI_HANDLE which;
    VIP_BOOLEAN receives;
    int i, number;

    CHECK(VipCQWait(cq, VIP_INFINITE, &which, &receives));
    CHECK(VipRecvDone(which, &done));
    i = done - DESCRIPTOR(0);
    number = done->CS.ImmediateData;
    if (!receives || done->CS.Length != BYTES || BUFFER(i)[BYTES - 1] != (char)number)
        number = -1;
    post(i);
    return number;
}

static void connect_vi(const char *server)
{
    VIP_NET_ADDRESS *local = address(NULL, 17), *remote = calloc(1, sizeof(VIP_NET_ADDRESS) + 64);
    VIP_VI_ATTRIBUTES attributes;
    VIP_CONN_HANDLE connection;
    VIP_RETURN code;

    if (server == NULL) {
        CHECK(VipConnectWait(nic, local, VIP_INFINITE, remote, &attributes, &connection));
        CHECK(VipConnectAccept(connection, vi));
        return;
    }
    while ((code = VipConnectRequest(vi, address(NULL, 18), address(server, 17), 1000,
                                     &attributes)) == VIP_NO_MATCH)
        usleep(1000);
    CHECK(code);
}

int main(int argc, char **argv)
{
    VIP_MEM_ATTRIBUTES protection = {NULL, VIP_FALSE, VIP_FALSE};
    VIP_VI_ATTRIBUTES attributes;
    char host[64];
    int i, server, bad = 0;

    gethostname(host, sizeof(host));
    server = argc < 2 || strcmp(host, argv[1]) == 0;
    CHECK(VipOpenNic("/dev/via_eth0", &nic));
    CHECK(VipNSInit(nic, NULL));
    CHECK(VipCreatePtag(nic, &tag));
    protection.Ptag = tag;
    area = valloc(6 * 4096);
    CHECK(VipRegisterMem(nic, area, 6 * 4096, &protection, &memory));
    CHECK(VipCreateCQ(nic, 16, &cq));
    memset(&attributes, 0, sizeof(attributes));
    attributes.ReliabilityLevel = VIP_SERVICE_UNRELIABLE;
    attributes.MaxTransferSize = 4096;
    attributes.Ptag = tag;
    CHECK(VipCreateVi(nic, &attributes, NULL, cq, &vi));
    for (i = 0; i < 4; i++)
        post(i);
    connect_vi(server ? NULL : argv[1]);
    for (i = 0; i < ROUNDS; i++) {
        if (!server)
            send_number(2 * i);
        bad += receive_number() != 2 * i + !server;
        if (server)
            send_number(2 * i + 1);
    }
    fprintf(stderr, "%s: %d bad\n", server ? "server" : "client", bad);
    return bad;
}
