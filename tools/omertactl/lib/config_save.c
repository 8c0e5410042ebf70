// SPDX-License-Identifier: GPL-2.0
/* Write a running device's state into its file, line by line. */
#include "lib/config_parse.h"

#include "lib/host.h"
#include "lib/keygen.h"
#include "lib/quote.h"
#include "lib/sync.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

struct saver {
	FILE *out;
	const struct om_config *file;
	const struct om_device *dev;
	const struct om_list *peers;
	struct om_device defaults;
	struct om_list saved;		/* bool for each of @peers: it is in the file */
	const struct om_object *section;	/* NULL before the first, and in one to drop */
	const void *now, *was;		/* its object in the kernel and in the file */
	bool has_endpoint;		/* the file has one, which may be a name */
	bool drop;			/* the peer of this section is gone */
	size_t sections;		/* number of [Peer] so far */
	uint64_t seen;			/* fields of this section that are written */
	struct om_peer_index by;	/* the kernel's peers, by key and id */
	bool changed;
};

static bool is_peer(const struct saver *s)
{
	return s->section == &om_peer_object;
}

static int cmp_prefix(const void *a, const void *b)
{
	return om_prefix_cmp(a, b);
}

static bool same_prefixes(const struct om_list *a, const struct om_list *b)
{
	struct om_prefix *x, *y;
	bool same = a->n == b->n;

	if (!same || !a->n)
		return same;
	x = calloc(a->n, sizeof(*x));
	y = calloc(b->n, sizeof(*y));
	same = x && y;
	if (same) {
		memcpy(x, a->v, a->n * sizeof(*x));
		memcpy(y, b->v, b->n * sizeof(*y));
		qsort(x, a->n, sizeof(*x), cmp_prefix);
		qsort(y, b->n, sizeof(*y), cmp_prefix);
	}
	for (size_t i = 0; same && i < a->n; i++)
		same = !om_prefix_cmp(&x[i], &y[i]);
	free(x);
	free(y);
	return same;
}

/* Names of endpoints stay, as the kernel knows only an address. */
static bool keeps_line(const struct saver *s, const struct om_field *f)
{
	const struct om_peer *was = s->was;

	if (f->type == OM_MULTI)
		return same_prefixes(om_field_ptr(f, s->was), om_field_ptr(f, s->now));
	if (f->format == OM_ENDPOINT && !was->endpoint_addr.len)
		return true;
	return om_field_same(f, s->was, s->now);
}

static bool is_zero(const struct om_field *f, const void *data)
{
	const char *p = om_field_ptr(f, data);

	for (size_t i = 0; i < f->size; i++)
		if (p[i])
			return false;
	return true;
}

/* A setting that the file lacks is added if it is not the default. */
static bool is_missing(const struct saver *s, const struct om_field *f)
{
	const struct om_peer *peer = s->now;

	if (!f->conf || (s->was && om_field_has(f, s->was)) || !om_field_has(f, s->now))
		return false;
	if (f->type == OM_MULTI)
		return ((const struct om_list *)om_field_ptr(f, s->now))->n;
	if (f->format == OM_ENDPOINT && s->has_endpoint)
		return false;
	if (is_peer(s))
		return !is_zero(f, s->now) &&
		       !(f->attr == OMERTA_A_PEER_ID && !om_key_is_zero(peer->public_key));
	/* "up" sets this mark by itself. */
	if (f->attr == OMERTA_A_DEVICE_FWMARK && s->dev->fwmark == OM_HOST_MARK)
		return false;
	return om_field_has(f, &s->defaults) && !om_field_same(f, &s->defaults, s->now);
}

static void print_missing(struct saver *s)
{
	for (size_t i = 0; i < s->section->fields; i++) {
		const struct om_field *f = &s->section->field[i];

		if (!is_missing(s, f))
			continue;
		om_config_print_field(s->out, f, s->now);
		s->seen |= OM_BIT(f->attr);
		s->changed = true;
	}
}

/* The last line of the file may lack its end. */
static void put_line(struct saver *s, const char *line)
{
	fputs(line, s->out);
	if (line[strlen(line) - 1] != '\n')
		putc('\n', s->out);
}

/* Find the kernel's peer of a section: by its public key, or else by its id. */
static const struct om_peer *find(struct saver *s, const struct om_peer *was)
{
	size_t i;

	if (om_key_is_zero(was->public_key) ? !om_peer_index_id(&s->by, was->id, &i) :
					      !om_peer_index_key(&s->by, was->public_key, &i))
		return NULL;
	*OM_AT(&s->saved, bool, i) = true;
	return OM_AT(s->peers, struct om_peer, i);
}

/* Settings that the file lacks come first, so that comments stay where they are. */
static void begin_section(struct saver *s, bool peer, const char *line)
{
	s->has_endpoint = peer && OM_AT(&s->file->peer_conf, struct om_peer_conf,
					s->sections)->endpoint;
	s->seen = 0;
	s->section = peer ? &om_peer_object : &om_device_object;
	s->was = peer ? (const void *)OM_AT(&s->file->peers, struct om_peer, s->sections++) :
			&s->file->dev;
	s->now = peer ? (const void *)find(s, s->was) : s->dev;
	s->drop = !s->now;
	s->changed |= s->drop;
	if (s->drop)
		return;
	put_line(s, line);
	print_missing(s);
}

/* @key: the text before the equals sign */
static void assignment(struct saver *s, const char *key, const char *line)
{
	const struct om_field *f = s->section ? om_config_field(s->section, key) : NULL;
	bool first = f && !(s->seen & OM_BIT(f->attr));

	if (f)
		s->seen |= OM_BIT(f->attr);
	if (!f || keeps_line(s, f)) {
		put_line(s, line);
		return;
	}
	s->changed = true;
	/* A peer may have lost its endpoint, and has its prefixes in one place. */
	if (first && !(f->format == OM_ENDPOINT && is_zero(f, s->now)))
		om_config_print_field(s->out, f, s->now);
}

static int on_line(void *arg, char *line, size_t len)
{
	const char *text = line + strspn(line, " \t\r\n\xef\xbb\xbf");
	struct saver *s = arg;
	char key[32];
	size_t n;

	(void)len;
	if (*text == '[') {
		begin_section(s, !strncasecmp(text, "[Peer]", 6), line);
		return OM_OK;
	}
	if (s->drop)
		return OM_OK;
	n = strcspn(text, " \t=");
	snprintf(key, sizeof(key), "%.*s", n < sizeof(key) ? (int)n : 0, text);
	assignment(s, key, line);
	return OM_OK;
}

/* Peers that were added since */
static void add_peers(struct saver *s)
{
	for (size_t i = 0; i < s->peers->n; i++) {
		if (*OM_AT(&s->saved, bool, i))
			continue;
		fputs("\n[Peer]\n", s->out);
		s->section = &om_peer_object;
		s->now = OM_AT(s->peers, struct om_peer, i);
		s->was = NULL;
		s->has_endpoint = false;
		print_missing(s);
		s->changed = true;
	}
}

static int save(struct saver *s, FILE *in, const char *path, struct om_err *err)
{
	static char buf[BUFSIZ];
	int rc;

	om_device_defaults(&s->defaults);
	om_peer_index_init(&s->by);
	for (size_t i = 0; i < s->peers->n; i++) {
		const struct om_peer *peer = OM_AT(s->peers, struct om_peer, i);

		*(bool *)om_list_add(&s->saved, sizeof(bool)) = false;
		om_peer_index_add_id(&s->by, peer->id, i);
		if (!om_key_is_zero(peer->public_key))
			om_peer_index_add_key(&s->by, peer->public_key, i);
	}
	om_secret_lock(buf, sizeof(buf));
	setvbuf(s->out, buf, _IOFBF, sizeof(buf));
	rc = om_config_lines(in, path, on_line, s, err);
	add_peers(s);
	if (!rc && (fflush(s->out) || ferror(s->out) || fsync(fileno(s->out))))
		rc = om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	setvbuf(s->out, NULL, _IONBF, 0);
	om_secret_wipe(buf, sizeof(buf));
	om_list_free(&s->saved);
	om_peer_index_free(&s->by);
	return rc;
}

/* Replace the file at @path, which is not a link, by what @s makes of @in. */
static int replace(struct saver *s, FILE *in, const char *path, struct om_err *err)
{
	char new[PATH_MAX + 8];
	struct stat st, now;
	int fd = -1, rc = OM_OK;

	snprintf(new, sizeof(new), "%s.XXXXXX", path);
	if (!fstat(fileno(in), &st))
		fd = mkstemp(new);
	s->out = fd >= 0 ? fdopen(fd, "w") : NULL;
	/* The owner first: it resets some bits of the mode. */
	if (!s->out || fchown(fd, st.st_uid, st.st_gid) || fchmod(fd, st.st_mode & 07777))
		rc = om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	if (!rc)
		rc = save(s, in, path, err);
	if (!rc && s->changed &&
	    (stat(path, &now) || now.st_ino != st.st_ino ||
	     now.st_mtim.tv_sec != st.st_mtim.tv_sec || now.st_mtim.tv_nsec != st.st_mtim.tv_nsec))
		rc = om_err(err, OM_SYSTEM, "%s: somebody else has just changed it",
			    OM_QUOTE_FILE(path));
	if (!rc && s->changed && rename(new, path))
		rc = om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	if (fd >= 0 && (rc || !s->changed))
		unlink(new);
	if (s->out)
		fclose(s->out);
	else if (fd >= 0)
		close(fd);
	return rc;
}

int om_config_save(const char *path, const struct om_device *dev, const struct om_list *peers,
		   bool *changed, struct om_err *err)
{
	struct saver s = { .dev = dev, .peers = peers };
	struct om_config conf;
	char real[PATH_MAX];
	FILE *in = realpath(path, real) ? fopen(real, "re") : NULL;
	int rc;

	if (!in)
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	rc = om_config_read_stream(in, real, OM_CONFIG_NO_NAMES, &conf, err);
	if (!rc && fseek(in, 0, SEEK_SET))
		rc = om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	if (!rc) {
		s.file = &conf;
		rc = replace(&s, in, real, err);
		om_config_free(&conf);
	}
	*changed = s.changed;
	fclose(in);
	return rc;
}
