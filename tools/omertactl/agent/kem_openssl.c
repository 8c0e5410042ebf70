// SPDX-License-Identifier: GPL-2.0
#include "agent/kem.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#define ALGORITHM	"ML-KEM-768"

/* Make a key from one parameter; NULL on errors. */
static EVP_PKEY *make_key(int selection, const char *name, const uint8_t *value,
			  size_t len)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(name, (void *)value, len),
		OSSL_PARAM_construct_end(),
	};
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, ALGORITHM, NULL);
	EVP_PKEY *key = NULL;

	if (ctx && EVP_PKEY_fromdata_init(ctx) > 0)
		EVP_PKEY_fromdata(ctx, &key, selection, params);
	EVP_PKEY_CTX_free(ctx);
	return key;
}

static EVP_PKEY *private_key(const uint8_t *seed)
{
	return make_key(EVP_PKEY_KEYPAIR, OSSL_PKEY_PARAM_ML_KEM_SEED, seed,
			OM_KEM_SEED);
}

bool om_kem_public(const uint8_t *seed, uint8_t *public)
{
	EVP_PKEY *key = private_key(seed);
	size_t len = 0;
	bool ok;

	ok = key && EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY,
						    public, OM_KEM_PUBLIC, &len) > 0 &&
	     len == OM_KEM_PUBLIC;
	EVP_PKEY_free(key);
	ERR_clear_error();
	return ok;
}

bool om_kem_encapsulate(const uint8_t *public, const uint8_t *random, uint8_t *text,
			uint8_t *secret)
{
	/*
	 * Random numbers of the kernel: OpenSSL's generator keeps its state in this process,
	 * and continues with the same numbers in all clones of a machine.
	 */
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_KEM_PARAM_IKME,
						  (void *)random, OM_KEM_RANDOM),
		OSSL_PARAM_construct_end(),
	};
	size_t text_len = OM_KEM_TEXT, len = OM_KEM_SECRET;
	EVP_PKEY *key = make_key(EVP_PKEY_PUBLIC_KEY, OSSL_PKEY_PARAM_PUB_KEY, public,
				 OM_KEM_PUBLIC);
	EVP_PKEY_CTX *ctx = key ? EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL) : NULL;
	bool ok;

	ok = ctx && EVP_PKEY_encapsulate_init(ctx, params) > 0 &&
	     EVP_PKEY_encapsulate(ctx, text, &text_len, secret, &len) > 0 &&
	     text_len == OM_KEM_TEXT && len == OM_KEM_SECRET;
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(key);
	ERR_clear_error();
	return ok;
}

bool om_kem_decapsulate(const uint8_t *seed, const uint8_t *text, uint8_t *secret)
{
	EVP_PKEY *key = private_key(seed);
	EVP_PKEY_CTX *ctx = key ? EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL) : NULL;
	size_t len = OM_KEM_SECRET;
	bool ok;

	ok = ctx && EVP_PKEY_decapsulate_init(ctx, NULL) > 0 &&
	     EVP_PKEY_decapsulate(ctx, secret, &len, text, OM_KEM_TEXT) > 0 &&
	     len == OM_KEM_SECRET;
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(key);
	ERR_clear_error();
	return ok;
}
