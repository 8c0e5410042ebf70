// SPDX-License-Identifier: GPL-2.0
/* Make a file of ours from one of wg-quick(8), line by line. */
#include "lib/config_parse.h"

#include "lib/addr.h"
#include "lib/keygen.h"
#include "lib/quote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

struct importer {
	FILE *out;
	const char *name;
	unsigned int line;
	const struct om_object *section;	/* NULL in an unknown one */
	bool collect;			/* the first pass: only collect @prefixes */
	bool writable;			/* others may write the file, so its commands are left out */
	struct om_list prefixes;	/* struct nth_prefix, all of AllowedIPs, sorted */
	size_t nth;			/* number of prefixes in this pass */
};

struct nth_prefix {
	struct om_prefix prefix;
	size_t nth;
};

static int cmp_nth(const void *a, const void *b)
{
	const struct nth_prefix *x = a, *y = b;
	int d = om_prefix_cmp(&x->prefix, &y->prefix);

	return d ? d : (x->nth > y->nth) - (x->nth < y->nth);
}

/* Report what is left out. Values may be secrets. */
static void leave_out(struct importer *im, const char *what, const char *why)
{
	om_warn("%s:%u: %s is left out: %s", im->name, im->line, what, why);
	fprintf(im->out, "# %s was left out: %s\n", what, why);
}

/* wg(8) gives a prefix that is there twice to the last peer. */
static bool comes_again(const struct importer *im, const struct om_prefix *prefix)
{
	const struct nth_prefix ref = { *prefix, im->nth - 1 }, *v = im->prefixes.v;
	const struct nth_prefix *found = im->prefixes.n ?
		bsearch(&ref, v, im->prefixes.n, sizeof(ref), cmp_nth) : NULL;

	return found && found + 1 < v + im->prefixes.n &&
	       !om_prefix_cmp(&found[1].prefix, prefix);
}

/* A prefix belongs to one peer here. */
static void put_prefixes(struct importer *im, const char *value)
{
	struct om_prefix prefix;
	char text[OM_PREFIX_LEN];
	const char *item, *why;
	size_t len, n = 0;

	while (om_list_item(&value, ",", &item, &len)) {
		snprintf(text, sizeof(text), "an item of AllowedIPs");
		why = "it is not a prefix";
		if (!om_prefix_parse(item, len, &prefix, &(struct om_err){ 0 })) {
			if (im->collect)
				*(struct nth_prefix *)om_list_add(&im->prefixes,
								  sizeof(struct nth_prefix)) =
					(struct nth_prefix){ prefix, im->nth };
			im->nth++;
			om_prefix_format(text, sizeof(text), &prefix);
			why = !im->collect && comes_again(im, &prefix) ?
			      "AllowedIPs has it again" : NULL;
		}
		if (im->collect)
			continue;
		if (!why) {
			fprintf(im->out, "%s%s", n++ ? ", " : "AllowedIPs = ", text);
			continue;
		}
		if (n)
			putc('\n', im->out);
		leave_out(im, text, why);
		n = 0;
	}
	if (n)
		putc('\n', im->out);
}

static void put_assignment(struct importer *im, char *line)
{
	char *equals = strchr(line, '='), *value = equals ? equals + 1 : NULL;
	char key[32] = "";
	size_t end;

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(line, " \t="), line);
	if (im->collect && strcasecmp(key, "AllowedIPs"))
		return;
	if (im->writable && (!strncasecmp(key, "Pre", 3) || !strncasecmp(key, "Post", 4)) &&
	    strcasecmp(key, "PresharedKey") && strcasecmp(key, "PresharedKeyFile")) {
		leave_out(im, "a command", "others may change the file");
		return;
	}
	if (!value || !im->section || !om_config_has_key(im->section, key)) {
		leave_out(im, im->section && *key && strlen(key) < 24 && value ?
			  OM_QUOTE(key) : "a line",
			  im->section ? "omerta has no such key" : "its section is unknown");
		return;
	}
	value[strcspn(value, "#\r\n")] = '\0';
	value += strspn(value, " \t");
	for (end = strlen(value); end && strchr(" \t", value[end - 1]);)
		value[--end] = '\0';
	if (!strcasecmp(key, "AllowedIPs")) {
		put_prefixes(im, value);
	} else if (*value == '"') {
		/* For wg-quick it is a command's, for us it would be the value's. */
		fprintf(im->out, "%s = ", key);
		om_config_print_text(im->out, value);
		putc('\n', im->out);
	} else {
		fprintf(im->out, "%s = %s\n", key, value);
	}
	om_secret_wipe(value, strlen(value));
}

static int on_line(void *arg, char *line, size_t len)
{
	struct importer *im = arg;
	char *s = line + strspn(line, " \t\r\n\xef\xbb\xbf");

	(void)len;
	im->line++;
	if (!strncasecmp(s, "[Interface]", 11))
		im->section = &om_device_object;
	else if (!strncasecmp(s, "[Peer]", 6))
		im->section = &om_peer_object;
	else if (*s == '[')
		im->section = NULL;
	if (im->collect && (!*s || *s == '#' || *s == '['))
		return OM_OK;
	if (*s == '[' && im->section)
		fputs(im->section == &om_peer_object ? "[Peer]\n" : "[Interface]\n", im->out);
	else if (*s == '[')
		leave_out(im, "a section", "omerta has [Interface] and [Peer] only");
	else if (!*s || *s == '#')
		fprintf(im->out, "%.*s\n", (int)strcspn(line, "\r\n"), line);
	else
		put_assignment(im, s);
	return OM_OK;
}

int om_config_import(const char *from, const char *to, struct om_err *err)
{
	static char buf[BUFSIZ];
	struct importer im = { .name = from, .collect = true };
	FILE *in = fopen(from, "re");
	struct stat st;
	int fd, rc;

	if (!in)
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(from));
	im.writable = fstat(fileno(in), &st) || (st.st_mode & (S_IWGRP | S_IWOTH)) ||
		      (st.st_uid && st.st_uid != geteuid());
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	im.out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!im.out) {
		rc = om_err_sys(err, errno, "%s", OM_QUOTE_FILE(to));
		fclose(in);
		return rc;
	}
	/* In spite of the umask the agent's group can read it, and others cannot. */
	if (fchmod(fd, 0640))
		om_warn("%s: %s", to, strerror(errno));
	om_secret_lock(buf, sizeof(buf));
	setvbuf(im.out, buf, _IOFBF, sizeof(buf));
	rc = om_config_lines(in, from, on_line, &im, err);
	if (im.prefixes.n)
		qsort(im.prefixes.v, im.prefixes.n, sizeof(struct nth_prefix), cmp_nth);
	if (!rc && fseek(in, 0, SEEK_SET))
		rc = om_err_sys(err, errno, "%s", OM_QUOTE_FILE(from));
	im.collect = false;
	im.line = 0;
	im.nth = 0;
	im.section = NULL;
	if (!rc)
		rc = om_config_lines(in, from, on_line, &im, err);
	if (!rc && (fflush(im.out) || ferror(im.out) || fsync(fd)))
		rc = om_err_sys(err, errno, "%s", OM_QUOTE_FILE(to));
	setvbuf(im.out, NULL, _IONBF, 0);
	om_secret_wipe(buf, sizeof(buf));
	fclose(im.out);
	fclose(in);
	om_list_free(&im.prefixes);
	if (!rc)
		rc = om_config_check(to, true, om_complain, err);
	if (rc)
		unlink(to);
	return rc;
}
