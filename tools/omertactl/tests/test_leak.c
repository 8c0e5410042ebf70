// SPDX-License-Identifier: GPL-2.0
/*
 * A key in the wrong place of a file, a command line or the environment must not come out:
 * would catch a message that quotes what it did not recognise. OM_ROUNDS for more of it.
 */
#include "unit.h"

#include "fake_nl.h"
#include "plant.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define PUB	"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="
#define PRIV	"dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo="

static const char config[] =
	"# home\n[Interface]\nPrivateKey = " PRIV "\nListenPort = 51900\nFwMark = 7\n"
	"Address = 10.9.0.1/24, fd09::1/64\nMTU = 1300\nTable = off\nChunkSize = 512\n"
	"Policy = auto\nCPUs = 0-3\nEngine = lib\n\n[Peer]\nPublicKey = " PUB "\n"
	"Name = \"al\"\nPostQuantum = off\nEndpoint = 192.0.2.1:51900\n"
	"AllowedIPs = 10.1.0.0/16, fd01::/32\nPersistentKeepalive = 25\n";

static const char times[] = PUB " 0000000000000001\n";

/* Commands that read @file, if that is not NULL */
static const struct {
	const char *words;
	const char *file;
} commands[] = {
	{ "check %s", config }, { "setconf omr0 %s", config },
	{ "syncconf omr0 %s", config }, { "check -", config },
	{ "times forget omr0 peer " PUB " config %s", config },
	{ "times forget omr0 peer 1 config /dev/null", times },
	{ "key add omr0 peer 1 local-id 17 remote-id 34 rx-key-file %s tx-key-file -", PRIV "\n" },
	{ "key add omr0 peer 1 local-id 17 remote-id 34 rx-key-file - tx-key-file %s", PRIV "\n" },
	{ "peer set omr0 id 1 allowed-ips @%s", "10.0.0.0/8, fd00::/8\n" },
	{ "pubkey", PRIV "\n" },
	{ "peer add omr0 id 2 name bob endpoint 192.0.2.1:51900 keepalive 25 allowed-ips 10.2.0.0/16,fd02::/32", NULL },
	{ "peer set omr0 peer al public-key " PUB " allowed-ips +10.2.0.0/16,-fd02::/32", NULL },
	{ "link add omr1 listen-port 51901 fwmark off chunk-size 512 policy inline cpus 0-3 engine lib df set", NULL },
	{ "link set omr0 batch on percpu-threshold 9000 control-rate 100 control-share 50", NULL },
	{ "key show omr0 peer 1", NULL }, { "key del omr0 peer 1 local-id 17", NULL },
	{ "link show omr0", NULL }, { "show omr0", NULL }, { "dump omr0", NULL },
	{ "stats omr0 all", NULL }, { "showconf omr0", NULL }, { "link del omr0", NULL },
	{ "bench run engine lib chunk-size 512 bytes 65536 direction both workers 2", NULL },
	{ "gensession /nonexistent/prefix", NULL }, { "agent omr9 config /nonexistent/a.conf", NULL },
	{ "up /nonexistent/omr9.conf no-agent", NULL }, { "down omr9", NULL },
	{ "-j help link", NULL },
};

static const char *const variables[] = {
	"STATE_DIRECTORY", "RUNTIME_DIRECTORY", "NOTIFY_SOCKET", "NO_COLOR", "TERM",
};

static void quiet(const char *words)
{
	struct unit_run run = unit_main(words, NULL);

	unit_run_free(&run);
}

static struct unit_run round_of(const char *where, char *words, size_t size, char *text,
				size_t text_size)
{
	size_t i = plant_below(OM_ARRAY_SIZE(commands));
	const char *file = commands[i].file, *variable = NULL;
	char value[400];
	struct unit_run run;

	while ((*where == 'f' && !file) ||
	       (*where == 'e' && !strchr("aud", *commands[i].words) && file != times)) {
		i = plant_below(OM_ARRAY_SIZE(commands));
		file = commands[i].file;
	}
	snprintf(text, text_size, "%s", file ? file : "");
	if (*where == 'f')
		plant(text, text_size, false);
	unit_file("omr0.conf", text, strlen(text), 0600);
	unit_file("omr0.times", times, strlen(times), 0600);
	snprintf(words, size, commands[i].words, unit_path("omr0.conf"));
	if (*where == 'c')
		plant(words, size, false);
	snprintf(value, sizeof(value), "%s", unit_path("omr0.conf"));
	*strrchr(value, '/') = '\0';
	setenv("STATE_DIRECTORY", value, 1);
	if (*where == 'e') {
		variable = variables[plant_below(OM_ARRAY_SIZE(variables))];
		plant(value, sizeof(value), false);
		setenv(variable, value, 1);
	}
	fake_reset();
	quiet("link add omr0");
	quiet("peer add omr0 id 1 name al public-key " PUB);
	if (*where == 'k') {
		snprintf(fake.fail_text, sizeof(fake.fail_text), "%s", "this is refused");
		/* Texts of the kernel are shown; they are only searched for whole keys. */
		plant(fake.fail_text, sizeof(fake.fail_text), true);
		fake.fail_at = fake.requests + 1;
	}
	run = unit_main(words, text);
	unsetenv("STATE_DIRECTORY");
	if (variable)
		unsetenv(variable);
	return run;
}

void test_leak(void)
{
	static const char *const places[] = { "file", "command line", "environment", "kernel" };
	const char *more = getenv("OM_ROUNDS");
	unsigned int rounds = more ? (unsigned int)atoi(more) : 1000, seed = 0;
	int home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char words[1000], text[2000], name[80];

	/* Files may be made, of any name. */
	snprintf(words, sizeof(words), "%s", unit_path("omr0.conf"));
	*strrchr(words, '/') = '\0';
	if (home < 0 || chdir(words))
		abort();
	for (size_t p = 0; p < OM_ARRAY_SIZE(places); p++) {
		unsigned int i, refused = 0;
		struct unit_run run;
		bool shows = false;

		for (i = 0; i < rounds && !shows; i++) {
			plant_seed(seed++);
			run = round_of(places[p], words, sizeof(words), text, sizeof(text));
			refused += run.rc != 0;
			shows = plant_shows(&run);
			if (!shows)
				unit_run_free(&run);
		}
		snprintf(name, sizeof(name), "leak: a key in the %s", places[p]);
		unit_ok(!shows && refused > rounds / 10, name,
			"round %u, %u refused: %s\n%s\n%s\n--\n%s", i, refused, words, text,
			shows ? run.err : "", shows ? run.out : "");
		if (shows)
			unit_run_free(&run);
	}
	if (fchdir(home))
		abort();
	close(home);
}
