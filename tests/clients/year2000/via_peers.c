/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any number of equal processes over VIPL, as communication libraries of the time connected them:
 * each makes a request to each other one (VipConnectPeerRequest) and then waits for all of them.
 * argv: the hosts.
 */
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
#define PEERS_MAX 16

typedef struct {
    VIP_VI_HANDLE vi;
    VIP_NET_ADDRESS *local, *remote;
} peer_t;

VIP_NIC_HANDLE nic;
VIP_MEM_HANDLE memory;
peer_t peers[PEERS_MAX];
char *area; /* page i: of peer i, a descriptor of a receive, one of a send, then the data */

/* The discriminator is the same for both sides of a pair. */
static VIP_NET_ADDRESS *address(const char *host, int one, int other)
{
    VIP_NET_ADDRESS *made = calloc(1, sizeof(VIP_NET_ADDRESS) + 64);
    int discriminator[2];

    CHECK(VipNSGetHostByName(nic, host, made, 0));
    discriminator[0] = one < other ? one : other;
    discriminator[1] = one < other ? other : one;
    made->DiscriminatorLen = sizeof(discriminator);
    memcpy(made->HostAddress + made->HostAddressLen, discriminator, sizeof(discriminator));
    return made;
}

static VIP_DESCRIPTOR *describe(int i, int send)
{
    VIP_DESCRIPTOR *made = (VIP_DESCRIPTOR *)(area + 4096 * i + 64 * send);

    memset(made, 0, sizeof(*made));
    made->CS.SegCount = 1;
    made->CS.Control = VIP_CONTROL_OP_SENDRECV;
    made->CS.Length = sizeof(int);
    made->DS[0].Local.Data.Address = area + 4096 * i + 256 + 64 * send;
    made->DS[0].Local.Handle = memory;
    made->DS[0].Local.Length = sizeof(int);
    return made;
}

int main(int argc, char **argv)
{
    VIP_MEM_ATTRIBUTES protection = {NULL, VIP_FALSE, VIP_FALSE};
    int i, me = 0, size = argc - 1, bad = 0, polls = 0;
    VIP_VI_ATTRIBUTES attributes, found;
    VIP_DESCRIPTOR *done;
    VIP_RETURN code;
    char host[64];

    gethostname(host, sizeof(host));
    for (i = 0; i < size; i++)
        if (strcmp(host, argv[i + 1]) == 0)
            me = i;
    CHECK(VipOpenNic("/dev/via_eth0", &nic));
    CHECK(VipNSInit(nic, NULL));
    CHECK(VipCreatePtag(nic, &protection.Ptag));
    area = valloc(PEERS_MAX * 4096);
    CHECK(VipRegisterMem(nic, area, PEERS_MAX * 4096, &protection, &memory));
    memset(&attributes, 0, sizeof(attributes));
    attributes.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
    attributes.MaxTransferSize = 4096;
    attributes.Ptag = protection.Ptag;
    for (i = 0; i < size; i++) {
        if (i == me)
            continue;
        CHECK(VipCreateVi(nic, &attributes, NULL, NULL, &peers[i].vi));
        CHECK(VipPostRecv(peers[i].vi, describe(i, 0), memory));
        peers[i].local = address(argv[me + 1], me, i);
        peers[i].remote = address(argv[i + 1], me, i);
        CHECK(VipConnectPeerRequest(peers[i].vi, peers[i].local, peers[i].remote, VIP_INFINITE));
    }
    for (i = 0; i < size; i++) { /* every other one polls */
        if (i == me)
            continue;
        if (i % 2 == 0) {
            CHECK(VipConnectPeerWait(peers[i].vi, &found));
        } else {
            while ((code = VipConnectPeerDone(peers[i].vi, &found)) == VIP_NOT_DONE)
                polls++;
            CHECK(code);
        }
        bad += found.MaxTransferSize != 4096;
    }
    for (i = 0; i < size; i++) {
        if (i == me)
            continue;
        *(int *)(area + 4096 * i + 256 + 64) = 100 * me + i;
        CHECK(VipPostSend(peers[i].vi, describe(i, 1), memory));
        CHECK(VipSendWait(peers[i].vi, VIP_INFINITE, &done));
    }
    for (i = 0; i < size; i++) {
        if (i == me)
            continue;
        CHECK(VipRecvWait(peers[i].vi, VIP_INFINITE, &done));
        bad += *(int *)(area + 4096 * i + 256) != 100 * i + me;
    }
    fprintf(stderr, "%s of %d: %d bad\n", host, size, bad);
    usleep(100000); /* the others may not have read theirs */
    return bad;
}
