/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire format, see Documentation/protocol.rst.
 */
#ifndef _OMERTA_WIRE_H
#define _OMERTA_WIRE_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include "crypto/chunk.h"

#define OMERTA_MAGIC			"\x4f\x4d\x52"
#define OMERTA_MAGIC_LEN		3

/* A data record's type also carries its chunk class c, C = 512 << c. */
#define OMERTA_TYPE_DATA		0x10
#define OMERTA_TYPE_MESH		0x03
#define OMERTA_TYPE_CONTROL		0x20
#define OMERTA_TYPE_CONTROL_LAST	0x2f

#define OMERTA_CHUNK_CLASSES		8

/* The largest UDP payload over IPv4; the same is used over IPv6. */
#define OMERTA_MAX_DATAGRAM		65507

/* Plaintext that does not start with an IP version but with this is a batch. */
#define OMERTA_BATCH			0x02
#define OMERTA_BATCH_HDR_LEN		4
#define OMERTA_BATCH_LEN_LEN		2
/* Fewer than this many zero bytes may follow the last packet. */
#define OMERTA_PAD			16

/* Hard limit of a key: no record may carry this counter or a greater one. */
#define OMERTA_COUNTER_LIMIT		((1ULL << 56) - (1ULL << 16))

/**
 * struct omerta_hdr - header of a data record
 * @magic: OMERTA_MAGIC
 * @type: OMERTA_TYPE_DATA plus the chunk class
 * @key_id: the receiver's id of the key, not zero
 * @counter: number of the record under its key, from 0
 */
struct omerta_hdr {
	u8 magic[OMERTA_MAGIC_LEN];
	u8 type;
	__le32 key_id;
	__le64 counter;
} __packed;

static_assert(sizeof(struct omerta_hdr) == 16);
static_assert(offsetof(struct omerta_hdr, key_id) == 4);
static_assert(offsetof(struct omerta_hdr, counter) == 8);

#define OMERTA_HDR_LEN			sizeof(struct omerta_hdr)

#endif /* _OMERTA_WIRE_H */
