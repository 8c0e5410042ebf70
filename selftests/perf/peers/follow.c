// SPDX-License-Identifier: GPL-2.0
/*
 * follow ENGINE LEN...: prints the shortest time in which a list of chunks of these lengths is
 * sealed, in nanoseconds, then the address of each instruction of this program that does it. Exits
 * with 2 if the machine does not have the engine's instructions.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "crypto/engines.h"
#include "crypto/mb.h"

#define ROUNDS	20000

/* The linker defines them. */
extern const char __executable_start, etext;

static struct omerta_chunk chunk[OMERTA_CHUNK_LIST];
static unsigned int count;
static const struct omerta_engine *engine;

static void seal(void)
{
	static const u8 secret[OMERTA_SECRET_LEN] = { 1 };

	omerta_chunk_seal(engine, chunk, count, secret);
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static u64 shortest(void (*work)(void))
{
	u64 least = U64_MAX, start;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		start = now_ns();
		work();
		least = min(least, now_ns() - start);
	}
	return least;
}

static void nothing(void)
{
}

/* Returns what @call did, for an exit on failure. */
static long must(long result, const char *call)
{
	if (result < 0) {
		perror(call);
		exit(1);
	}
	return result;
}

static void follow(void)
{
	struct user_regs_struct regs;
	pid_t pid = must(fork(), "fork");
	int status;

	if (!pid) {
		must(ptrace(PTRACE_TRACEME, 0, NULL, NULL), "ptrace");
		seal();
		raise(SIGSTOP);
		seal();
		raise(SIGSTOP);
		_exit(0);
	}
	must(waitpid(pid, &status, 0), "waitpid");
	must(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL), "ptrace");
	do {
		/* Without other signals, like those of a terminal */
		must(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), "ptrace");
		must(waitpid(pid, &status, 0), "waitpid");
		if (!WIFSTOPPED(status)) {
			fprintf(stderr, "follow: the process ended\n");
			exit(1);
		}
		must(ptrace(PTRACE_GETREGS, pid, NULL, &regs), "ptrace");
		if (WSTOPSIG(status) == SIGTRAP && regs.rip >= (u64)&__executable_start &&
		    regs.rip < (u64)&etext)
			printf("%llx\n", regs.rip);
	} while (WSTOPSIG(status) != SIGSTOP);
	kill(pid, SIGKILL);
	must(waitpid(pid, &status, 0), "waitpid");
}

int main(int argc, char **argv)
{
	static u8 plain[OMERTA_CHUNK_LIST][4096], sealed[OMERTA_CHUNK_LIST][4096 + OMERTA_TAG_LEN];
	u64 clock;

	if (argc < 3 || argc > 2 + OMERTA_CHUNK_LIST) {
		fprintf(stderr, "usage: follow ENGINE LEN...\n");
		return 1;
	}
	if (sodium_init() < 0 || omerta_engine_init()) {
		fprintf(stderr, "follow: cannot start\n");
		return 1;
	}
	if (omerta_engine_find(argv[1], &engine)) {
		fprintf(stderr, "follow: %s: not on this machine\n", argv[1]);
		return 2;
	}
	for (; count < (unsigned int)argc - 2; count++)
		chunk[count] = (struct omerta_chunk) {
			plain[count], sealed[count], count,
			min(strtoul(argv[2 + count], NULL, 10), sizeof(*plain)),
		};
	clock = shortest(nothing);
	printf("%llu\n", (unsigned long long)(shortest(seal) - clock));
	fflush(stdout);
	follow();
	return 0;
}
