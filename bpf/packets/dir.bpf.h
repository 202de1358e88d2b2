/* Which direction of a flow a packet belongs to: what carries no TCP payload acknowledges. */
#ifndef OVL_DIR_BPF_H
#define OVL_DIR_BPF_H

#include "packets.bpf.h"

static __always_inline __u32 be16(const __u8 *p)
{
	return (__u32)p[0] << 8 | p[1];
}

static __always_inline __u32 tunnel_header(__u32 port)
{
	for (int i = 0; i < TUNNELS; i++) {
		if (port && ovl_vxlan_ports[i] == port)
			return VXLAN_SKIP;
		if (port && ovl_ip_ports[i] == port)
			return UDP_SKIP;
	}
	return 0;
}

/** Does the packet whose IP header is at `at` end in a TCP segment without payload? */
static __always_inline bool bare_tcp(const unsigned char *at)
{
	__u32 left, header, protocol;
	__u8 ip[20], l4[16];

	for (int depth = 0; depth < 2; depth++) {
		if (bpf_probe_read_kernel(ip, sizeof(ip), at))
			return false;
		if (ip[0] >> 4 == 4) {
			header = (ip[0] & 15) * 4;
			left = be16(ip + 2) - header;
			protocol = ip[9];
		} else if (ip[0] >> 4 == 6) {
			header = 40;
			left = be16(ip + 4);
			protocol = ip[6];
		} else {
			return false;
		}
		at += header;
		if (bpf_probe_read_kernel(l4, sizeof(l4), at))
			return false;
		if (protocol == TCP_PROTO)
			return left == (__u32)(l4[12] >> 4) * 4;
		header = protocol == UDP_PROTO ? tunnel_header(be16(l4 + 2)) : 0;
		if (!header)
			return false;
		at += header;
	}
	return false;
}

#endif
