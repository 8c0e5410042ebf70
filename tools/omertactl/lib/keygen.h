/* SPDX-License-Identifier: GPL-2.0 */
/* Secrets: generate, read and wipe them; base64 */
#ifndef OM_KEYGEN_H
#define OM_KEYGEN_H

#include "lib/base.h"

#include <linux/omerta.h>

/* Base64 of a key, with its NUL */
#define OM_BASE64_LEN	45

int om_keygen_init(struct om_err *err);

/* Keep memory out of swap and core dumps as far as the system allows. */
void om_secret_lock(void *p, size_t size);
/* Wipe memory, and unlock it. */
void om_secret_wipe(void *p, size_t size);
/* All memory of the process is locked, and stays so. */
void om_secret_all_locked(void);

/* Keys in guarded and locked memory, which is wiped when it is freed; all zeros for none */
struct om_secrets {
	struct om_secret_block *first;
};

/* Allocate memory for a key. It stays valid until all are freed. */
uint8_t *om_secrets_add(struct om_secrets *secrets);
/* Wipe and free the key that was added last. Only once after each om_secrets_add(). */
void om_secrets_drop_last(struct om_secrets *secrets);
void om_secrets_free(struct om_secrets *secrets);

bool om_key_is_zero(const uint8_t *key);
bool om_key_equal(const uint8_t *a, const uint8_t *b);
void om_base64_encode(char *out, const uint8_t *key);
/* Returns 0, or OM_USAGE with the reason in @err. The text is never quoted. */
int om_base64_decode(uint8_t *key, const char *text, struct om_err *err);

/*
 * Read one line of base64 from a file, or from standard input for "-". @last: the input must
 * end after it. Warns if other users may read the file.
 */
int om_secret_read(uint8_t *key, const char *path, bool last, struct om_err *err);
/* The same, but refuses a file that others than its owner and group may access. */
int om_secret_read_safe(uint8_t *key, const char *path, struct om_err *err);

/* Derive the public key of a private one; false if that is impossible. */
bool om_key_public(uint8_t *public, const uint8_t *private);

/* True for a public key of low order (RFC 7748, section 6.1): all shared secrets are zero. */
bool om_key_is_weak(const uint8_t *public);

int om_keygen_private(struct om_err *err);
int om_keygen_public(struct om_err *err);
int om_keygen_psk(struct om_err *err);
/* Write PREFIX-a.rx, -a.tx, -b.rx and -b.tx: two secrets, as seen from either end. */
int om_keygen_session(const char *prefix, struct om_err *err);

#endif
