/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_POLY1305_H
#define _OMERTA_USER_POLY1305_H

/* The kernel's Poly1305 library over libsodium. */
#include <sodium.h>

#include <linux/types.h>

#define POLY1305_BLOCK_SIZE	16
#define POLY1305_KEY_SIZE	32
#define POLY1305_DIGEST_SIZE	16

struct poly1305_desc_ctx {
	crypto_onetimeauth_state state;
};

static inline void poly1305_init(struct poly1305_desc_ctx *desc, const u8 *key)
{
	crypto_onetimeauth_init(&desc->state, key);
}

static inline void poly1305_update(struct poly1305_desc_ctx *desc,
				   const u8 *src, unsigned int len)
{
	crypto_onetimeauth_update(&desc->state, src, len);
}

static inline void poly1305_final(struct poly1305_desc_ctx *desc, u8 *tag)
{
	crypto_onetimeauth_final(&desc->state, tag);
}

#endif /* _OMERTA_USER_POLY1305_H */
