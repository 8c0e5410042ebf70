/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_CHACHA_H
#define _OMERTA_USER_CHACHA_H

/* The kernel's ChaCha20 library over libsodium, for little-endian hosts. */
#include <sodium.h>
#include <string.h>

#include <linux/types.h>

#define CHACHA_IV_SIZE		16

struct chacha_state {
	u32 x[16];
};

static inline void chacha_init(struct chacha_state *state, const u32 key[8],
			       const u8 iv[CHACHA_IV_SIZE])
{
	memcpy(&state->x[4], key, 32);
	memcpy(&state->x[12], iv, CHACHA_IV_SIZE);
}

static inline void chacha20_crypt(struct chacha_state *state, u8 *dst,
				  const u8 *src, unsigned int len)
{
	u64 block = state->x[12] | (u64)state->x[13] << 32;

	crypto_stream_chacha20_xor_ic(dst, src, len, (u8 *)&state->x[14], block,
				      (u8 *)&state->x[4]);
	state->x[12] += (len + 63) / 64;
}

#endif /* _OMERTA_USER_CHACHA_H */
