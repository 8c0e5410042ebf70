// SPDX-License-Identifier: GPL-2.0
/*
 * Send datagrams from a file at a rate, as if they came from somewhere else.
 *
 * usage: flood FILE ADDR PORT RATE SECONDS SOURCE
 *
 * FILE holds UDP payloads, each behind its length in two bytes, big-endian; they are sent
 * in turn. SOURCE is ADDR:PORT, or "random" for addresses in 10.0.0.0/8 and ports that
 * change with each datagram, by SEED in the environment. IPv4 only. Ends early by SIGTERM.
 * Prints how many were sent, and how many a second.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH	32
#define MAX	1500

struct packet {
	struct iphdr ip;
	struct udphdr udp;
	uint8_t data[MAX];
} __attribute__((packed));

static struct packet packet[BATCH];
static struct iovec iov[BATCH];
static struct mmsghdr msg[BATCH];

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = signal;
}

static uint8_t *load(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");
	uint8_t *mem;

	if (!file || fseek(file, 0, SEEK_END))
		err(1, "%s", path);
	*len = (size_t)ftell(file);
	rewind(file);
	mem = malloc(*len + 1);
	if (!mem || !*len || fread(mem, 1, *len, file) != *len)
		errx(1, "%s: no payloads", path);
	fclose(file);
	return mem;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET }, from = { 0 };
	double rate, began, begun, end, at;
	const char *seed = getenv("SEED");
	size_t len, off = 0;
	long sent = 0;
	uint8_t *mem;
	char *colon;
	int fd;

	if (argc != 7)
		errx(1, "usage: flood FILE ADDR PORT RATE SECONDS SOURCE");
	mem = load(argv[1], &len);
	rate = atof(argv[4]);
	if (inet_pton(AF_INET, argv[2], &to.sin_addr) != 1 || rate <= 0)
		errx(1, "no such address or rate");
	colon = strchr(argv[6], ':');
	if (colon) {
		*colon = 0;
		from.sin_port = htons((uint16_t)atoi(colon + 1));
		if (inet_pton(AF_INET, argv[6], &from.sin_addr) != 1)
			errx(1, "no such source");
	}
	fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	if (fd < 0)
		err(1, "socket");
	if (seed)
		srandom((unsigned int)strtoul(seed, NULL, 10));
	signal(SIGTERM, stop);
	began = begun = now();
	end = begun + atof(argv[5]);
	while (!stopped && (at = now()) < end) {
		long due = (long)((at - begun) * rate) - sent;
		int n = 0;

		if (due <= 0) {
			struct timespec ts = { 0, 500000 };

			nanosleep(&ts, NULL);
			continue;
		}
		for (; n < BATCH && n < due; n++) {
			struct packet *p = &packet[n];
			size_t size = (size_t)mem[off] << 8 | mem[off + 1];

			if (size > MAX || off + 2 + size > len)
				errx(1, "%s: damaged", argv[1]);
			memset(p, 0, sizeof(p->ip) + sizeof(p->udp));
			p->ip.version = 4;
			p->ip.ihl = 5;
			p->ip.ttl = 64;
			p->ip.protocol = IPPROTO_UDP;
			p->ip.daddr = to.sin_addr.s_addr;
			p->ip.saddr = colon ? from.sin_addr.s_addr :
				htonl(0x0a000000 | ((uint32_t)random() & 0xffffff));
			p->udp.source = colon ? from.sin_port :
						htons((uint16_t)(random() | 1024));
			p->udp.dest = htons((uint16_t)atoi(argv[3]));
			p->udp.len = htons((uint16_t)(sizeof(p->udp) + size));
			memcpy(p->data, mem + off + 2, size);
			off += 2 + size;
			if (off + 2 > len)
				off = 0;
			iov[n].iov_base = p;
			iov[n].iov_len = sizeof(p->ip) + sizeof(p->udp) + size;
			msg[n].msg_hdr = (struct msghdr) {
				.msg_name = &to, .msg_namelen = sizeof(to),
				.msg_iov = &iov[n], .msg_iovlen = 1,
			};
		}
		n = sendmmsg(fd, msg, (unsigned int)n, 0);
		if (n > 0)
			sent += n;
		/* The rate is made up for after a pause, but not all at once. */
		if ((long)((now() - begun) * rate) - sent > (long)rate / 10)
			begun = now() - (double)sent / rate;
	}
	printf("%ld %.0f\n", sent, (double)sent / (now() - began));
	return 0;
}
