// SPDX-License-Identifier: GPL-2.0
#include "unit.h"

#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned int count, failures;
static char dir[64];

static void comment(const char *text)
{
	fputs("# ", stdout);
	for (; *text; text++) {
		putchar(*text);
		if (*text == '\n' && text[1])
			fputs("# ", stdout);
	}
	putchar('\n');
}

void unit_ok(bool ok, const char *name, const char *fmt, ...)
{
	char buf[8192];
	va_list ap;

	if (!count)
		puts("KTAP version 1");
	if (!ok) {
		va_start(ap, fmt);
		vsnprintf(buf, sizeof(buf), fmt, ap);
		va_end(ap);
		comment(buf);
		failures++;
	}
	printf("%s %u %s\n", ok ? "ok" : "not ok", ++count, name);
	fflush(stdout);
}

void unit_skip(const char *name, const char *why)
{
	char buf[256];

	snprintf(buf, sizeof(buf), "%s # SKIP %s", name, why);
	unit_ok(true, buf, "%s", "");
}

static void remove_dir(void)
{
	char cmd[96];

	/* The agent's loop, which ran in this process, ignores it. */
	signal(SIGCHLD, SIG_DFL);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	if (*dir && system(cmd))
		puts("# the temporary directory stays");
}

int unit_end(void)
{
	printf("1..%u\n", count);
	remove_dir();
	return failures ? 1 : 0;
}

const char *unit_path(const char *name)
{
	static char path[256];

	if (!*dir) {
		strcpy(dir, "/tmp/omertactl-test-XXXXXX");
		if (!mkdtemp(dir))
			abort();
	}
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

const char *unit_file(const char *name, const char *content, size_t len,
		      unsigned int mode)
{
	const char *path = unit_path(name);
	FILE *f;

	unlink(path);
	f = fopen(path, "we");
	if (!f || fwrite(content, 1, len, f) != len || fclose(f) ||
	    chmod(path, mode))
		abort();
	return path;
}

/* Puts a memory file in a descriptor's place; returns what was there. */
static int redirect(int fd, const char *content)
{
	int saved = dup(fd), mem = memfd_create("unit", MFD_CLOEXEC);
	size_t len = content ? strlen(content) : 0;

	if (saved < 0 || mem < 0 ||
	    (len && write(mem, content, len) != (ssize_t)len) ||
	    lseek(mem, 0, SEEK_SET) || dup2(mem, fd) < 0)
		abort();
	close(mem);
	return saved;
}

/* Puts the old one back and returns the memory file's content. */
static char *restore(int fd, int saved, size_t *len)
{
	struct stat st;
	char *text;

	if (fstat(fd, &st))
		abort();
	text = calloc(1, (size_t)st.st_size + 1);
	if (!text || pread(fd, text, (size_t)st.st_size, 0) != st.st_size ||
	    dup2(saved, fd) < 0)
		abort();
	close(saved);
	if (len)
		*len = (size_t)st.st_size;
	return text;
}

static int split(char *words, char **argv, int max)
{
	int argc = 0;

	while (argc < max) {
		char end = ' ';

		words += strspn(words, " ");
		if (!*words)
			break;
		if (*words == '\'')
			end = *words++;
		argv[argc++] = words;
		words = strchrnul(words, end);
		if (!*words)
			break;
		*words++ = '\0';
	}
	argv[argc] = NULL;
	return argc;
}

struct unit_run unit_main(const char *words, const char *input)
{
	char *copy = strdup(words), *argv[66] = { "omertactl" };
	int argc = split(copy, argv + 1, 64) + 1;
	int in, out, err;
	struct unit_run run;

	fflush(NULL);
	in = redirect(STDIN_FILENO, input);
	out = redirect(STDOUT_FILENO, NULL);
	err = redirect(STDERR_FILENO, NULL);
	rewind(stdin);
	run.rc = om_main(argc, argv);
	fflush(NULL);
	run.err = restore(STDERR_FILENO, err, NULL);
	run.out = restore(STDOUT_FILENO, out, &run.out_len);
	free(restore(STDIN_FILENO, in, NULL));
	clearerr(stdin);
	free(copy);
	return run;
}

void unit_run_free(struct unit_run *run)
{
	free(run->out);
	free(run->err);
}
