// SPDX-License-Identifier: GPL-2.0
/*
 * Intel's multi-buffer library, with each instruction set it has: bursts of jobs without
 * checks, which is the fastest way for lists; its direct calls, one chunk each; and its batches
 * for QUIC, which old versions lack.
 */
#include <intel-ipsec-mb.h>
#include <string.h>

#include "peer.h"

static uint8_t key[PEER_KEY_LEN];
static IMB_MGR *mgr;

/* The fields that all jobs of a direction share; set once for a key */
static IMB_JOB session[2];

static const struct isa {
	const char *name;
	uint64_t features;
	void (*init)(IMB_MGR *mgr);
} isas[] = {
	{ "avx512", IMB_CPUFLAGS_AVX512, init_mb_mgr_avx512 },
	{ "avx2", IMB_CPUFLAGS_AVX2, init_mb_mgr_avx2 },
#if IMB_VERSION_NUM < IMB_VERSION(2, 0, 0)
	{ "avx", IMB_CPUFLAGS_AVX, init_mb_mgr_avx },
#endif
	{ "sse", IMB_CPUFLAGS_SSE, init_mb_mgr_sse },
};

#define N_ISAS	(sizeof(isas) / sizeof(*isas))

static void set_session(bool open)
{
	session[open] = (IMB_JOB){
		.cipher_mode = IMB_CIPHER_CHACHA20_POLY1305,
		.hash_alg = IMB_AUTH_CHACHA20_POLY1305,
		.cipher_direction = open ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT,
		.chain_order = open ? IMB_ORDER_HASH_CIPHER : IMB_ORDER_CIPHER_HASH,
		.enc_keys = key,
		.dec_keys = key,
		.key_len_in_bytes = sizeof(key),
		.iv_len_in_bytes = PEER_NONCE_LEN,
		.auth_tag_output_len_in_bytes = PEER_TAG_LEN,
	};
#if IMB_VERSION_NUM >= IMB_VERSION(2, 0, 0)
	imb_set_session(mgr, &session[open]);
#endif
}

static bool start(const struct peer *peer, const uint8_t wanted[PEER_KEY_LEN])
{
	static IMB_MGR *mgrs[N_ISAS];
	const char *name = strrchr(peer->name, ' ') + 1;
	unsigned int i;

	memcpy(key, wanted, sizeof(key));
	for (i = 0; i < N_ISAS && strcmp(isas[i].name, name); i++)
		;
	mgr = mgrs[i];
	if (!mgr) {
		mgr = alloc_mb_mgr(0);
		if (!mgr)
			return false;
		if ((mgr->features & isas[i].features) != isas[i].features) {
			free_mb_mgr(mgr);
			return false;
		}
		isas[i].init(mgr);
		mgrs[i] = mgr;
	}
	set_session(false);
	set_session(true);
	return !imb_get_errno(mgr);
}

static bool burst(const struct peer_chunk *list, unsigned int n, bool open,
		  uint8_t (*tags)[PEER_TAG_LEN])
{
	uint8_t nonces[PEER_LIST][PEER_NONCE_LEN];
	IMB_JOB *jobs[PEER_LIST];
	unsigned int i;

	if (IMB_GET_NEXT_BURST(mgr, n, jobs) != n)
		return false;
	for (i = 0; i < n; i++) {
		const struct peer_chunk *c = &list[i];
		IMB_JOB *job = jobs[i];

		peer_nonce(nonces[i], c);
		*job = session[open];
		job->iv = nonces[i];
		job->src = open ? c->sealed : c->plain;
		job->dst = open ? c->plain : c->sealed;
		job->msg_len_to_cipher_in_bytes = c->len;
		job->msg_len_to_hash_in_bytes = c->len;
		job->auth_tag_output = open ? tags[i] : c->sealed + c->len;
	}
	return IMB_SUBMIT_BURST_NOCHECK(mgr, n, jobs) == n;
}

static bool seal(const struct peer_chunk *list, unsigned int n)
{
	return burst(list, n, false, NULL);
}

static bool open(const struct peer_chunk *list, unsigned int n)
{
	uint8_t tags[PEER_LIST][PEER_TAG_LEN];
	unsigned int i;

	if (!burst(list, n, true, tags))
		return false;
	for (i = 0; i < n; i++)
		if (memcmp(tags[i], list[i].sealed + list[i].len, PEER_TAG_LEN))
			return false;
	return true;
}

static bool direct_seal(const struct peer_chunk *c, unsigned int n)
{
	struct chacha20_poly1305_context_data ctx;
	uint8_t nonce[PEER_NONCE_LEN];

	peer_nonce(nonce, c);
	IMB_CHACHA20_POLY1305_INIT(mgr, key, &ctx, nonce, NULL, 0);
	IMB_CHACHA20_POLY1305_ENC_UPDATE(mgr, key, &ctx, c->sealed, c->plain, c->len);
	IMB_CHACHA20_POLY1305_ENC_FINALIZE(mgr, &ctx, c->sealed + c->len, PEER_TAG_LEN);
	return true;
}

static bool direct_open(const struct peer_chunk *c, unsigned int n)
{
	struct chacha20_poly1305_context_data ctx;
	uint8_t nonce[PEER_NONCE_LEN], tag[PEER_TAG_LEN];

	peer_nonce(nonce, c);
	IMB_CHACHA20_POLY1305_INIT(mgr, key, &ctx, nonce, NULL, 0);
	IMB_CHACHA20_POLY1305_DEC_UPDATE(mgr, key, &ctx, c->plain, c->sealed, c->len);
	IMB_CHACHA20_POLY1305_DEC_FINALIZE(mgr, &ctx, tag, PEER_TAG_LEN);
	return !memcmp(tag, c->sealed + c->len, PEER_TAG_LEN);
}

#if IMB_VERSION_NUM >= IMB_VERSION(2, 0, 0)
/* All plaintext is written before any tag can be compared. */
static void quic(const struct peer_chunk *list, unsigned int n, bool open,
		 uint8_t (*tags)[PEER_TAG_LEN])
{
	const void *from[PEER_LIST], *nonce[PEER_LIST], *aad[PEER_LIST];
	uint8_t nonces[PEER_LIST][PEER_NONCE_LEN];
	void *to[PEER_LIST], *tag[PEER_LIST];
	uint64_t len[PEER_LIST];
	unsigned int i;

	for (i = 0; i < n; i++) {
		const struct peer_chunk *c = &list[i];

		peer_nonce(nonces[i], c);
		nonce[i] = nonces[i];
		/* None, but a pointer is checked. */
		aad[i] = nonces[i];
		from[i] = open ? c->sealed : c->plain;
		to[i] = open ? c->plain : c->sealed;
		len[i] = c->len;
		tag[i] = open ? tags[i] : c->sealed + c->len;
	}
	imb_quic_chacha20_poly1305(mgr, key, open ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT, to, from,
				   len, nonce, aad, 0, tag, n);
}

static bool quic_seal(const struct peer_chunk *list, unsigned int n)
{
	quic(list, n, false, NULL);
	return true;
}

static bool quic_open(const struct peer_chunk *list, unsigned int n)
{
	uint8_t tags[PEER_LIST][PEER_TAG_LEN];
	unsigned int i;

	quic(list, n, true, tags);
	for (i = 0; i < n; i++)
		if (memcmp(tags[i], list[i].sealed + list[i].len, PEER_TAG_LEN))
			return false;
	return true;
}
#endif

#define NAME(what, isa)	"ipsec-mb " IMB_VERSION_STR " " what isa
#if IMB_VERSION_NUM >= IMB_VERSION(2, 0, 0)
#define QUIC(isa)	{ NAME("quic ", isa), PEER_LIST, false, start, quic_seal, quic_open },
#else
#define QUIC(isa)
#endif
#define ISA(isa)								\
	{ NAME("", isa), PEER_LIST, false, start, seal, open },			\
	{ NAME("direct ", isa), 1, false, start, direct_seal, direct_open },	\
	QUIC(isa)

const struct peer peers[] = {
	ISA("avx512")
	ISA("avx2")
#if IMB_VERSION_NUM < IMB_VERSION(2, 0, 0)
	ISA("avx")
#endif
	ISA("sse")
	{}
};
