/* SPDX-License-Identifier: GPL-2.0 */
/* Secrets: making, reading and wiping them, and base64. All of libsodium. */
#ifndef OM_KEYGEN_H
#define OM_KEYGEN_H

#include "lib/base.h"

#include <linux/omerta.h>

/* Base64 of a key, with its NUL */
#define OM_BASE64_LEN	45

int om_keygen_init(struct om_err *err);

/* Keep memory out of swap and core dumps as far as the system allows. */
void om_secret_lock(void *p, size_t size);
/* Wipe it and let go. */
void om_secret_wipe(void *p, size_t size);
/* All memory is, and stays so. */
void om_secret_all_locked(void);

/* Keys in guarded and locked memory, which is wiped when it is freed; all zeros for none */
struct om_secrets {
	struct om_secret_block *first;
};

/* Room for a key, which stays where it is until all are freed */
uint8_t *om_secrets_add(struct om_secrets *secrets);
/* Wipe the one that was added last, and give it up. Not twice without one added between */
void om_secrets_drop_last(struct om_secrets *secrets);
void om_secrets_free(struct om_secrets *secrets);

bool om_key_is_zero(const uint8_t *key);
bool om_key_equal(const uint8_t *a, const uint8_t *b);
void om_base64_encode(char *out, const uint8_t *key);
/* 0, or OM_USAGE with why in @err; the text itself is never quoted. */
int om_base64_decode(uint8_t *key, const char *text, struct om_err *err);

/*
 * One line of base64 from a file or, for "-", from standard input. @last: the
 * input must end behind it. Warns when others may read the file.
 */
int om_secret_read(uint8_t *key, const char *path, bool last, struct om_err *err);
/* The same from a file that nobody but its user and group may access */
int om_secret_read_safe(uint8_t *key, const char *path, struct om_err *err);

/* The public key of a private one; false if there is none */
bool om_key_public(uint8_t *public, const uint8_t *private);

int om_keygen_private(struct om_err *err);
int om_keygen_public(struct om_err *err);
int om_keygen_psk(struct om_err *err);
/* PREFIX-a.rx, -a.tx, -b.rx and -b.tx: the two ends' views of two secrets. */
int om_keygen_session(const char *prefix, struct om_err *err);

#endif
