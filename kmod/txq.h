/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TXQ_H
#define _OMERTA_TXQ_H

#include "tunnel.h"

/* Bytes, with the kernel's own share, that each socket takes in and out. */
#define OMERTA_SOCKET_BUFFER	(4 << 20)

void omerta_txq_sent(struct omerta_tunnel *tun, u32 bytes);
void omerta_txq_room(struct omerta_tunnel *tun);
void omerta_txq_poll(struct omerta_tunnel *tun);
void omerta_txq_reset(struct omerta_tunnel *tun);

#endif /* _OMERTA_TXQ_H */
