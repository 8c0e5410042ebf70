// SPDX-License-Identifier: GPL-2.0
#include "lib/keygen.h"

#include "lib/quote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(OM_BASE64_LEN ==
	       sodium_base64_ENCODED_LEN(OMERTA_KEY_LEN,
					 sodium_base64_VARIANT_ORIGINAL),
	       "a key's base64");

#define LINE_LEN	(OM_BASE64_LEN - 1)

int om_keygen_init(struct om_err *err)
{
	if (sodium_init() < 0)
		return om_err(err, OM_SYSTEM, "libsodium does not start");
	return OM_OK;
}

static bool all_locked;

void om_secret_all_locked(void)
{
	all_locked = true;
}

void om_secret_lock(void *p, size_t size)
{
	/* Best effort: RLIMIT_MEMLOCK may be small. */
	if (!all_locked && sodium_mlock(p, size))
		errno = 0;
}

void om_secret_wipe(void *p, size_t size)
{
	sodium_memzero(p, size);
	/* Locks do not nest. */
	if (!all_locked)
		sodium_munlock(p, size);
}

/* Keys per mapping: a process may only have some 65,000 mappings. */
#define BLOCK_KEYS	64

struct om_secret_block {
	struct om_secret_block *next;
	unsigned int n;
	uint8_t key[BLOCK_KEYS][OMERTA_KEY_LEN];
};

uint8_t *om_secrets_add(struct om_secrets *secrets)
{
	struct om_secret_block *b = secrets->first;

	if (!b || b->n == BLOCK_KEYS) {
		b = sodium_malloc(sizeof(*b));
		if (!b) {
			om_complain("out of locked memory, see ulimit -l");
			exit(OM_SYSTEM);
		}
		b->n = 0;
		b->next = secrets->first;
		secrets->first = b;
	}
	return b->key[b->n++];
}

void om_secrets_drop_last(struct om_secrets *secrets)
{
	struct om_secret_block *b = secrets->first;

	sodium_memzero(b->key[--b->n], OMERTA_KEY_LEN);
}

void om_secrets_free(struct om_secrets *secrets)
{
	while (secrets->first) {
		struct om_secret_block *b = secrets->first;

		secrets->first = b->next;
		sodium_free(b);
	}
}

bool om_key_public(uint8_t *public, const uint8_t *private)
{
	return !crypto_scalarmult_base(public, private);
}

/* The points of low order: https://cr.yp.to/ecdh.html#validate */
static const uint8_t weak[][OMERTA_KEY_LEN] = {
	{ 0 },
	{ 1 },
	{ 0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa,
	  0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd,
	  0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00 },
	{ 0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55,
	  0x9c, 0x83, 0xef, 0x5b, 0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86,
	  0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57 },
	{ 0xec, [1 ... 30] = 0xff, 0x7f },
	{ 0xed, [1 ... 30] = 0xff, 0x7f },
	{ 0xee, [1 ... 30] = 0xff, 0x7f },
};

bool om_key_is_weak(const uint8_t *public)
{
	uint8_t key[OMERTA_KEY_LEN];

	/* X25519 ignores the highest bit. */
	memcpy(key, public, sizeof(key));
	key[OMERTA_KEY_LEN - 1] &= 0x7f;
	for (size_t i = 0; i < OM_ARRAY_SIZE(weak); i++)
		if (!memcmp(key, weak[i], sizeof(key)))
			return true;
	return false;
}

bool om_key_is_zero(const uint8_t *key)
{
	return sodium_is_zero(key, OMERTA_KEY_LEN);
}

bool om_key_equal(const uint8_t *a, const uint8_t *b)
{
	return !sodium_memcmp(a, b, OMERTA_KEY_LEN);
}

void om_base64_encode(char *out, const uint8_t *key)
{
	sodium_bin2base64(out, OM_BASE64_LEN, key, OMERTA_KEY_LEN,
			  sodium_base64_VARIANT_ORIGINAL);
}

int om_base64_decode(uint8_t *key, const char *text, struct om_err *err)
{
	size_t len = strlen(text), n;

	if (len != LINE_LEN)
		return om_err(err, OM_USAGE,
			      "a key is %d base64 characters long, not %zu",
			      LINE_LEN, len);
	if (sodium_base642bin(key, OMERTA_KEY_LEN, text, len, NULL, &n, NULL,
			      sodium_base64_VARIANT_ORIGINAL) ||
	    n != OMERTA_KEY_LEN)
		return om_err(err, OM_USAGE, "not the base64 of %d bytes",
			      OMERTA_KEY_LEN);
	return OM_OK;
}

/* Return the mode of a file that other users may access, else 0. */
static unsigned int exposed(int fd)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !(st.st_mode & S_IRWXO))
		return 0;
	return st.st_mode & 07777;
}

static void warn_mode(int fd, const char *name, const char *doing)
{
	unsigned int mode = exposed(fd);

	if (mode)
		om_warn("%s %s, which others may access (mode %04o)",
			doing, OM_QUOTE_FILE(name), mode);
}

/* Read one byte; 0 at the end of the input. */
static int read_byte(int fd, char *c, struct om_err *err)
{
	ssize_t n;

	do {
		n = read(fd, c, 1);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return om_err_sys(err, errno, "read");
	if (!n)
		*c = '\0';
	else if (!*c)
		return om_err(err, OM_USAGE, "not a text file");
	return OM_OK;
}

/*
 * Read byte by byte: no buffer keeps a secret, and a second key on standard input is not
 * consumed.
 */
static int read_line(int fd, char *line, bool last, struct om_err *err)
{
	size_t n = 0;
	char c;
	int rc;

	for (;;) {
		rc = read_byte(fd, &c, err);
		if (rc || !c || c == '\n')
			break;
		if (n == LINE_LEN) {
			rc = om_err(err, OM_USAGE,
				    "more than the %d base64 characters of a key",
				    LINE_LEN);
			break;
		}
		line[n++] = c;
	}
	line[n] = '\0';
	if (!rc && c && last) {
		rc = read_byte(fd, &c, err);
		if (!rc && c)
			rc = om_err(err, OM_USAGE, "more than one line");
	}
	sodium_memzero(&c, sizeof(c));
	return rc;
}

static int read_key(int fd, uint8_t *key, bool last, struct om_err *err)
{
	char line[LINE_LEN + 1];
	int rc;

	om_secret_lock(line, sizeof(line));
	rc = read_line(fd, line, last, err);
	if (!rc)
		rc = om_base64_decode(key, line, err);
	om_secret_wipe(line, sizeof(line));
	return rc;
}

static int read_secret(uint8_t *key, const char *path, bool last, bool safe,
		       struct om_err *err)
{
	bool std = !strcmp(path, "-");
	int fd = std ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	int rc = OM_OK;

	if (fd < 0)
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	if (safe && exposed(fd))
		rc = om_err(err, OM_USAGE,
			    "others may access it (mode %04o): chmod o-rwx",
			    exposed(fd));
	else if (!std)
		warn_mode(fd, path, "reading a key from");
	if (!rc)
		rc = read_key(fd, key, last || !std, err);
	if (!std)
		close(fd);
	if (!rc && om_key_is_zero(key))
		rc = om_err(err, OM_USAGE, "the key is all zeros");
	if (rc) {
		sodium_memzero(key, OMERTA_KEY_LEN);
		om_err_prefix(err, "%s", OM_QUOTE_FILE(path));
	}
	return rc;
}

int om_secret_read(uint8_t *key, const char *path, bool last, struct om_err *err)
{
	return read_secret(key, path, last, false, err);
}

int om_secret_read_safe(uint8_t *key, const char *path, struct om_err *err)
{
	return read_secret(key, path, true, true, err);
}

/* Bypass stdio, whose buffer would keep the key. */
static int write_key(int fd, const uint8_t *key, struct om_err *err)
{
	char line[LINE_LEN + 1];
	size_t done = 0;
	int rc = OM_OK;

	om_secret_lock(line, sizeof(line));
	om_base64_encode(line, key);
	line[LINE_LEN] = '\n';
	while (done < sizeof(line)) {
		ssize_t n = write(fd, line + done, sizeof(line) - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = om_err_sys(err, n < 0 ? errno : EIO, "write");
			break;
		}
		done += (size_t)n;
	}
	om_secret_wipe(line, sizeof(line));
	return rc;
}

static int print_random(bool clamp, struct om_err *err)
{
	uint8_t key[OMERTA_KEY_LEN];
	int rc;

	om_secret_lock(key, sizeof(key));
	randombytes_buf(key, sizeof(key));
	if (clamp) {
		key[0] &= 248;
		key[31] = (key[31] & 127) | 64;
	}
	warn_mode(STDOUT_FILENO, "(standard output)", "writing a secret to");
	rc = write_key(STDOUT_FILENO, key, err);
	om_secret_wipe(key, sizeof(key));
	return rc;
}

int om_keygen_private(struct om_err *err)
{
	return print_random(true, err);
}

int om_keygen_psk(struct om_err *err)
{
	return print_random(false, err);
}

int om_keygen_public(struct om_err *err)
{
	uint8_t secret[OMERTA_KEY_LEN], public[OMERTA_KEY_LEN];
	int rc;

	om_secret_lock(secret, sizeof(secret));
	rc = om_secret_read(secret, "-", true, err);
	if (!rc && !om_key_public(public, secret))
		rc = om_err(err, OM_USAGE, "not a private key");
	om_secret_wipe(secret, sizeof(secret));
	if (!rc)
		rc = write_key(STDOUT_FILENO, public, err);
	return rc;
}

/* Files and their secrets: one end's send secret is the other end's receive secret. */
static const struct {
	const char *suffix;
	int secret;
} session_files[] = {
	{ "-a.rx", 0 }, { "-a.tx", 1 }, { "-b.rx", 1 }, { "-b.tx", 0 },
};

static int session_path(char *path, const char *prefix, size_t i,
			struct om_err *err)
{
	if (snprintf(path, PATH_MAX, "%s%s", prefix,
		     session_files[i].suffix) >= PATH_MAX)
		return om_err_sys(err, ENAMETOOLONG, "%s", OM_QUOTE_FILE(prefix));
	return OM_OK;
}

static int create_key_file(const char *path, const uint8_t *key,
			   struct om_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	rc = write_key(fd, key, err);
	if (close(fd) && !rc)
		rc = om_err_sys(err, errno, "close");
	if (rc) {
		unlink(path);
		om_err_prefix(err, "%s", OM_QUOTE_FILE(path));
	}
	return rc;
}

int om_keygen_session(const char *prefix, struct om_err *err)
{
	uint8_t key[2][OMERTA_KEY_LEN];
	char path[PATH_MAX];
	int rc = OM_OK;
	size_t i;

	om_secret_lock(key, sizeof(key));
	randombytes_buf(key, sizeof(key));
	for (i = 0; i < OM_ARRAY_SIZE(session_files) && !rc; i++) {
		rc = session_path(path, prefix, i, err);
		if (!rc)
			rc = create_key_file(path, key[session_files[i].secret],
					     err);
	}
	om_secret_wipe(key, sizeof(key));
	if (!rc)
		return OM_OK;
	/* Remove the files that were written, not the one that failed. */
	while (--i > 0)
		if (!session_path(path, prefix, i - 1, &(struct om_err){ 0 }))
			unlink(path);
	return rc;
}
