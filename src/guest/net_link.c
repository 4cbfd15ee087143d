/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_link.c - the interface that leads nowhere
 */
#include "guest/net_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "guest/netlink.h"
#include "guest/sysfile.h"

/*
 * As large as that of `lo`, where a redirected connection really goes: its
 * segments are measured by the way that it was to take.
 */
#define MTU 65535
#define ACKED_NEW (NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL)

void net_link_encode_add(struct netlink *nl)
{
	struct ifinfomsg header = { .ifi_family = AF_UNSPEC };
	size_t info;

	netlink_message(nl, RTM_NEWLINK, ACKED_NEW, &header, sizeof(header));
	netlink_text(nl, IFLA_IFNAME, NET_INTERFACE);
	netlink_u32(nl, IFLA_MTU, MTU);
	info = netlink_begin(nl, IFLA_LINKINFO);
	netlink_text(nl, IFLA_INFO_KIND, "dummy");
	netlink_end(nl, info);
}

void net_link_encode_up(struct netlink *nl, int index)
{
	struct ifinfomsg header = { .ifi_family = AF_UNSPEC,
				    .ifi_index = index,
				    .ifi_flags = IFF_UP,
				    .ifi_change = IFF_UP };

	netlink_message(nl, RTM_NEWLINK, NLM_F_ACK, &header, sizeof(header));
}

void net_link_encode_address(struct netlink *nl, int index)
{
	struct ifaddrmsg header = { .ifa_family = AF_INET,
				    .ifa_prefixlen = 32,
				    .ifa_scope = RT_SCOPE_UNIVERSE,
				    .ifa_index = (unsigned)index };
	struct in_addr address;

	inet_pton(AF_INET, NET_ADDRESS, &address);
	netlink_message(nl, RTM_NEWADDR, ACKED_NEW, &header, sizeof(header));
	netlink_bytes(nl, IFA_LOCAL, &address, sizeof(address));
	netlink_bytes(nl, IFA_ADDRESS, &address, sizeof(address));
}

void net_link_encode_route(struct netlink *nl, int index)
{
	struct rtmsg header = { .rtm_family = AF_INET,
				.rtm_table = RT_TABLE_MAIN,
				.rtm_protocol = RTPROT_BOOT,
				.rtm_scope = RT_SCOPE_LINK,
				.rtm_type = RTN_UNICAST };

	netlink_message(nl, RTM_NEWROUTE, ACKED_NEW, &header, sizeof(header));
	netlink_u32(nl, RTA_OIF, (uint32_t)index);
}

static int ask(void (*encode)(struct netlink *, int), int index,
	       const char *what, struct error *err)
{
	struct netlink nl;
	int result;

	netlink_init(&nl);
	encode(&nl, index);
	result = netlink_send(&nl, NETLINK_ROUTE, err);
	netlink_release(&nl);
	if (result < 0 && err->code == EEXIST)
		return 0;
	return result < 0 ? error_prefix(err, "%s", what) : 0;
}

static void add(struct netlink *nl, int index)
{
	net_link_encode_add(nl);
}

int net_link_setup(struct error *err)
{
	int index;

	if (ask(add, 0, "interface " NET_INTERFACE, err))
		return -1;
	index = (int)if_nametoindex(NET_INTERFACE);
	if (!index)
		return error_set(err, errno, "interface " NET_INTERFACE);
	/* With no address of that kind, IPv6 fails at once: no route. */
	if (sysfile_write(AT_FDCWD,
			  "/proc/sys/net/ipv6/conf/" NET_INTERFACE
			  "/disable_ipv6",
			  "1"))
		log_debug("ipv6 of " NET_INTERFACE ": %s", strerror(errno));
	if (ask(net_link_encode_address, index, "address", err) ||
	    ask(net_link_encode_up, index, "interface " NET_INTERFACE, err))
		return -1;
	return ask(net_link_encode_route, index, "default route", err);
}
