/* SPDX-License-Identifier: GPL-2.0 */
/* A kernel at the other end of libnl: takes requests, gives prepared answers. */
#ifndef OM_WIRE_H
#define OM_WIRE_H

#include "lib/base.h"

#include <linux/netlink.h>

#define WIRE_FAMILY	0x1c
#define WIRE_GROUP	9

struct wire {
	_Alignas(8) unsigned char sent[65536];	/* the latest request */
	size_t sent_len;
	unsigned int requests;
	/* Datagrams to answer with; a sequence number of 0 is filled in. */
	struct {
		_Alignas(8) unsigned char b[4096];
		size_t len;
	} answer[8];
	unsigned int answers, next;
	unsigned int repeat;		/* requests that get the same answers */
	int family;			/* result of the lookup of the family */
	int joined;			/* the group that was joined */
	int join_error;			/* result of joining it */
	size_t dirty;			/* bytes not wiped in freed messages */
	size_t freed;			/* messages that were freed */
};

extern struct wire wire;

void wire_reset(void);

/* Begin a datagram; messages and attributes are appended to the last one. */
void wire_datagram(void);
size_t wire_message(uint16_t type, uint16_t flags);
void wire_genl(uint8_t cmd);
size_t wire_attr(uint16_t type, const void *data, size_t len);
void wire_u32(uint16_t type, uint32_t v);
void wire_end_nest(size_t at);
void wire_end_message(size_t at);
void wire_ack(int error, uint16_t flags);
/* The datagram answers a request before the latest. */
void wire_old(void);
void wire_done(void);

/* The payload of the n-th attribute of this type in the request, or NULL */
const void *wire_sent_attr(uint16_t type, unsigned int n, size_t *len);

#endif
