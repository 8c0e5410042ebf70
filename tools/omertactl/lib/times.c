// SPDX-License-Identifier: GPL-2.0
#include "lib/times.h"

#include "lib/keygen.h"
#include "lib/map.h"
#include "lib/quote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Key, blank, time and newline */
#define TIME_HEX	(2 * OM_TIME_LEN)
#define LINE		(OM_BASE64_LEN - 1 + 1 + TIME_HEX + 1)
/* Stale lines that are allowed per live line, plus a constant */
#define OLD_PER_LINE	8
#define OLD_MORE	256

struct entry {
	uint8_t key[OMERTA_KEY_LEN];
	uint8_t time[OM_TIME_LEN];
	struct om_map_node node;
	struct entry *next, **prev;
};

struct om_times {
	char path[PATH_MAX];
	int lock;			/* PATH.lock, as @fd changes when the file is rewritten */
	int fd;
	bool cut;			/* the file may end with a part of a line */
	size_t lines;
	size_t renew_at;		/* number of lines before the next rewrite */
	struct om_map entries;
	struct entry *first;
};

static struct entry *find(const struct om_times *t, const uint8_t *key)
{
	return OM_MAP_ENTRY(om_map_find(&t->entries, key), struct entry, node);
}

static void link_entry(struct om_times *t, struct entry *e)
{
	e->next = t->first;
	e->prev = &t->first;
	if (e->next)
		e->next->prev = &e->next;
	t->first = e;
	om_map_add(&t->entries, &e->node);
}

static void unlink_entry(struct om_times *t, struct entry *e)
{
	om_map_remove(&t->entries, &e->node);
	*e->prev = e->next;
	if (e->next)
		e->next->prev = e->prev;
}

void om_times_key(const uint8_t *ours, const uint8_t *theirs,
		  uint8_t key[OMERTA_KEY_LEN])
{
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, ours, OMERTA_KEY_LEN);
	crypto_hash_sha256_update(&state, theirs, OMERTA_KEY_LEN);
	crypto_hash_sha256_final(&state, key);
}

void om_times_learn(struct om_times *t, const uint8_t *key,
		    const uint8_t time[OM_TIME_LEN])
{
	struct entry *e = find(t, key);

	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			abort();
		memcpy(e->key, key, sizeof(e->key));
		link_entry(t, e);
	}
	if (memcmp(time, e->time, sizeof(e->time)) > 0)
		memcpy(e->time, time, sizeof(e->time));
}

static void format(char *line, const uint8_t *key, const uint8_t *time)
{
	om_base64_encode(line, key);
	line[OM_BASE64_LEN - 1] = ' ';
	sodium_bin2hex(line + OM_BASE64_LEN, TIME_HEX + 1, time, OM_TIME_LEN);
	line[LINE - 1] = '\n';
	line[LINE] = '\0';
}

static bool parse(struct om_times *t, char line[LINE + 1])
{
	uint8_t key[OMERTA_KEY_LEN], time[OM_TIME_LEN];
	struct om_err unused;
	size_t n;

	if (line[LINE - 1] != '\n' || line[OM_BASE64_LEN - 1] != ' ')
		return false;
	line[OM_BASE64_LEN - 1] = '\0';
	line[LINE - 1] = '\0';
	if (om_base64_decode(key, line, &unused) ||
	    sodium_hex2bin(time, sizeof(time), line + OM_BASE64_LEN, TIME_HEX,
			   NULL, &n, NULL) || n != sizeof(time))
		return false;
	om_times_learn(t, key, time);
	return true;
}

static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int sync_dir(const char *path)
{
	char dir[PATH_MAX];
	char *slash;
	int fd, rc;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	rc = fsync(fd) ? errno : 0;
	close(fd);
	return rc;
}

static int write_entries(const struct om_times *t, int fd)
{
	char text[OM_TIMES_ITEMS * LINE + 1];
	size_t n = 0;
	int rc = 0;

	for (const struct entry *e = t->first; e && !rc; e = e->next) {
		format(text + n, e->key, e->time);
		n += LINE;
		if (e->next && n < OM_TIMES_ITEMS * LINE)
			continue;
		rc = write_all(fd, text, n);
		n = 0;
	}
	if (!rc && fdatasync(fd))
		rc = errno;
	return rc;
}

/* Replace the file by one with the live lines only. */
static int renew(struct om_times *t, struct om_err *err)
{
	char path[PATH_MAX + 4];
	int fd, rc;

	snprintf(path, sizeof(path), "%s.new", t->path);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	rc = write_entries(t, fd);
	if (!rc && rename(path, t->path))
		rc = errno;
	if (rc) {
		close(fd);
		unlink(path);
		return om_err_sys(err, rc, "%s", OM_QUOTE_FILE(path));
	}
	/* The new file is in place. */
	if (t->fd >= 0)
		close(t->fd);
	t->fd = fd;
	t->cut = false;
	t->lines = t->entries.n;
	t->renew_at = 0;
	rc = sync_dir(t->path);
	return rc ? om_err_sys(err, rc, "%s", OM_QUOTE_FILE(t->path)) : OM_OK;
}

static bool has_many_old(const struct om_times *t)
{
	return t->lines > OLD_MORE + OLD_PER_LINE * t->entries.n && t->lines >= t->renew_at;
}

/*
 * Return true if a crash cut off the last write at this line. The write may have had several
 * lines, and may have left zeros; the last line may end in any bytes.
 */
static bool is_torn(FILE *f, const char line[LINE])
{
	const char *zero = memchr(line, 0, LINE);
	size_t n = LINE;
	int c = zero ? fgetc(f) : 0;

	if (!zero || c == EOF)
		return zero;
	for (; zero < line + LINE; zero++)
		if (*zero)
			return false;
	for (; c != EOF; c = fgetc(f))
		if (c || ++n > OM_TIMES_ITEMS * LINE)
			return false;
	return true;
}

/*
 * Load the file. A crash may have cut off the last write, which no key depends on yet. Any
 * other fault is an error, as dropping lines would allow replays.
 */
static int load(struct om_times *t, FILE *f, struct om_err *err)
{
	char line[LINE + 1];
	size_t n;

	while ((n = fread(line, 1, LINE, f)) == LINE) {
		if (is_torn(f, line)) {
			t->cut = true;
			return OM_OK;
		}
		t->lines++;
		if (!parse(t, line))
			return om_err(err, OM_SYSTEM,
				      "%s: line %zu is damaged: without its contents old handshakes could be replayed; remove the file only with new keys",
				      OM_QUOTE_FILE(t->path), t->lines);
	}
	if (ferror(f))
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(t->path));
	t->cut |= n && n < LINE;
	return OM_OK;
}

static int open_lock(const char *times, char *path, size_t size)
{
	snprintf(path, size, "%s.lock", times);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static int take_lock(struct om_times *t, struct om_err *err)
{
	struct flock whole = { .l_type = F_WRLCK };
	char path[PATH_MAX + 5];

	t->lock = open_lock(t->path, path, sizeof(path));
	if (t->lock < 0)
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	if (flock(t->lock, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
		om_err(err, OM_SYSTEM, "%s: another agent has it, and this private key", OM_QUOTE_FILE(path));
		err->sys = EBUSY;
		return OM_SYSTEM;
	}
	/* The owner of a POSIX lock can be queried, see om_times_owner(). */
	if (fcntl(t->lock, F_SETLK, &whole))
		errno = 0;
	return OM_OK;
}

pid_t om_times_owner(const char *path)
{
	struct flock whole = { .l_type = F_WRLCK };
	char lock[PATH_MAX + 5];
	int fd = open_lock(path, lock, sizeof(lock));
	pid_t pid = 0;

	if (fd < 0)
		return 0;
	if (!fcntl(fd, F_GETLK, &whole) && whole.l_type != F_UNLCK && whole.l_pid > 0)
		pid = whole.l_pid;
	close(fd);
	return pid;
}

static int open_file(struct om_times *t, struct om_err *err)
{
	FILE *f;
	int rc;

	t->fd = open(t->path, O_RDWR | O_APPEND | O_CLOEXEC);
	f = fopen(t->path, "re");
	if (t->fd < 0 || !f) {
		rc = errno == ENOENT ? renew(t, err) :
				       om_err_sys(err, errno, "%s", OM_QUOTE_FILE(t->path));
	} else {
		rc = load(t, f, err);
		/* A full disk must not prevent the use of the stored times. */
		if (!rc && (t->cut || t->lines > t->entries.n) && renew(t, &(struct om_err){ 0 }))
			t->renew_at = t->lines + OLD_MORE;
	}
	if (f)
		fclose(f);
	return rc;
}

void om_times_path(char *path, size_t size, const char *dir, const uint8_t *public)
{
	char name[2 * OMERTA_KEY_LEN + 1];

	sodium_bin2hex(name, sizeof(name), public, OMERTA_KEY_LEN);
	snprintf(path, size, "%s/%s.times", dir, name);
}

struct om_times *om_times_open(const char *path, struct om_err *err)
{
	struct om_times *t = calloc(1, sizeof(*t));

	if (!t) {
		om_err_sys(err, ENOMEM, "%s", OM_QUOTE_FILE(path));
		return NULL;
	}
	t->lock = -1;
	t->fd = -1;
	OM_MAP_INIT(&t->entries, struct entry, node, key);
	if (snprintf(t->path, sizeof(t->path), "%s", path) >=
	    (int)sizeof(t->path)) {
		om_err_sys(err, ENAMETOOLONG, "%s", OM_QUOTE_FILE(path));
		goto fail;
	}
	if (!take_lock(t, err) && !open_file(t, err))
		return t;
fail:
	om_times_close(t);
	return NULL;
}

void om_times_close(struct om_times *t)
{
	struct entry *e, *next;

	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	if (t->lock >= 0)
		close(t->lock);
	for (e = t->first; e; e = next) {
		next = e->next;
		free(e);
	}
	om_map_free(&t->entries);
	free(t);
}

void om_times_get(const struct om_times *t, const uint8_t *key,
		  uint8_t time[OM_TIME_LEN])
{
	const struct entry *e = find(t, key);

	if (e)
		memcpy(time, e->time, OM_TIME_LEN);
	else
		memset(time, 0, OM_TIME_LEN);
}

/* Append lines. After an error, as with a full disk, no part of them is left. */
static int append(struct om_times *t, const struct om_times_item *item, size_t n)
{
	off_t end = lseek(t->fd, 0, SEEK_END);
	char text[OM_TIMES_ITEMS * LINE + 1];
	int rc;

	if (end < 0)
		return errno;
	for (size_t i = 0; i < n; i++)
		format(text + i * LINE, item[i].key, item[i].time);
	rc = write_all(t->fd, text, n * LINE);
	if (!rc && fdatasync(t->fd))
		rc = errno;
	t->cut = rc && ftruncate(t->fd, end);
	return rc;
}

int om_times_put(struct om_times *t, const struct om_times_item *item, size_t n,
		 struct om_err *err)
{
	int rc = t->cut ? renew(t, err) : OM_OK;

	if (!rc && n > OM_TIMES_ITEMS)
		rc = om_err_sys(err, EMSGSIZE, "%s", OM_QUOTE_FILE(t->path));
	if (rc)
		return rc;
	rc = append(t, item, n);
	if (rc)
		return om_err_sys(err, rc, "%s", OM_QUOTE_FILE(t->path));
	t->lines += n;
	for (size_t i = 0; i < n; i++)
		om_times_learn(t, item[i].key, item[i].time);
	/* If this fails, the old file stays in use. */
	if (has_many_old(t) && renew(t, &(struct om_err){ 0 }))
		t->renew_at = t->lines + OLD_MORE;
	return OM_OK;
}

int om_times_forget(struct om_times *t, const uint8_t *key, struct om_err *err)
{
	struct entry *e = find(t, key);
	int rc;

	if (!e)
		return OM_OK;
	unlink_entry(t, e);
	rc = renew(t, err);
	if (rc) {
		link_entry(t, e);
		return rc;
	}
	free(e);
	return OM_OK;
}
