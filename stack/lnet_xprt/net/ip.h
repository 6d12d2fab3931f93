/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Types of network addresses, which net/net.h brings to all its users. No address is taken apart
 * into them here. */
#ifndef M0_NET_IP_H
#define M0_NET_IP_H

#include "lib/types.h"

#define M0_NET_IP_STRLEN_MAX 100
#define M0_NET_IP_PORTLEN_MAX 6
#define M0_NET_IP_PORT_MAX 65536

enum m0_net_ip_format {
    M0_NET_IP_INET_IP_FORMAT,
    M0_NET_IP_INET_HOSTNAME_FORMAT,
    M0_NET_IP_LNET_FORMAT,
    M0_NET_IP_FORMAT_MAX
};
enum m0_net_ip_family {
    M0_NET_IP_AF_INET,
    M0_NET_IP_AF_INET6,
    M0_NET_IP_AF_UNIX,
    M0_NET_IP_AF_MAX
};
enum m0_net_ip_proto {
    M0_NET_IP_PROTO_TCP,
    M0_NET_IP_PROTO_VERBS,
    M0_NET_IP_PROTO_STREAM,
    M0_NET_IP_PROTO_DGRAM,
    M0_NET_IP_PROTO_O2IB,
    M0_NET_IP_PROTO_LO,
    M0_NET_IP_PROTO_MAX
};

struct m0_net_ip_inet_addr {
    uint16_t nia_family; /* enum m0_net_ip_family */
    uint16_t nia_type; /* enum m0_net_ip_proto */
};
struct m0_net_ip_lnet_addr {
    uint16_t nla_type; /* enum m0_net_ip_proto */
    uint16_t nla_portal;
    uint16_t nla_tmid;
    bool nla_autotm; /* the TMID is "*" */
};
struct m0_net_ip_params {
    union {
        struct m0_net_ip_inet_addr ia;
        struct m0_net_ip_lnet_addr la;
    } fmt_pvt;
    union {
        uint64_t ln[2];
        uint32_t sn[4]; /* [0]: an IPv4 address, its first number in the highest byte */
    } ip_n;
    enum m0_net_ip_format nip_format;
    uint16_t nip_port; /* of LNet: the PID */
};
struct m0_net_ip_addr {
    struct m0_net_ip_params nia_n;
    char nia_p[M0_NET_IP_STRLEN_MAX]; /* the text */
};

#endif
