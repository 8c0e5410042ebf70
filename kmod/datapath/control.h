/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_CONTROL_H
#define _OMERTA_CONTROL_H

#include <net/genetlink.h>

#include "peer/endpoint.h"
#include "datapath/tunnel.h"

/* Datagrams a second of one source, and of all strangers together. */
#define OMERTA_CONTROL_RATE		1000
#define OMERTA_CONTROL_SOURCE_RATE	20
/* Sixteenths of the reader's buffer that strangers may fill. */
#define OMERTA_CONTROL_SHARE		1

enum omerta_drop omerta_control_recv(struct omerta_channel *ch, int iif,
				     const struct omerta_endpoint *from,
				     const u8 *data, u32 len);
int omerta_control_sent(struct omerta_tunnel *tun, const u8 *data, u32 len,
			u32 local_id);
int omerta_control_bind(struct omerta_tunnel *tun, struct sock *sk, u32 portid,
			const u8 *public_key, bool all_types,
			struct netlink_ext_ack *extack);
int omerta_control_unbind(struct omerta_tunnel *tun, const struct sock *sk,
			  struct netlink_ext_ack *extack);
bool omerta_control_bound(const struct omerta_tunnel *tun,
			  const struct sock *sk);
void omerta_control_unbind_all(struct omerta_tunnel *tun);
void omerta_control_stop(struct omerta_tunnel *tun);
void omerta_control_free(struct omerta_tunnel *tun);
void omerta_control_close(void);
int omerta_control_init(void);
void omerta_control_exit(void);

#endif /* _OMERTA_CONTROL_H */
