// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams that were sent once, sent again as fast as can be.
 *
 * inject take DEVICE COUNT FILE	writes so many IPv4 packets that leave a device, but short ones,
 *					which are records without data
 * inject send DEVICE MAC FILE		reads them, prints "ready", and sends them on SIGUSR1, without
 *					a queue; prints the seconds that it took
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH		64
#define MIN_BYTES	100
#define MAX_BYTES	2048

/* In a file one after the other, without what is behind their ends */
struct packet {
	unsigned int len;
	char data[MAX_BYTES];
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int packet_socket(const char *device, struct sockaddr_ll *at, int protocol)
{
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);

	memset(at, 0, sizeof(*at));
	at->sll_family = AF_PACKET;
	at->sll_protocol = htons(protocol);
	at->sll_ifindex = if_nametoindex(device);
	if (fd < 0 || !at->sll_ifindex || bind(fd, (void *)at, sizeof(*at)))
		err(1, "%s", device);
	return fd;
}

static void take(const char *device, long left, const char *file)
{
	struct sockaddr_ll at;
	int fd = packet_socket(device, &at, ETH_P_ALL), room = 1 << 28;
	FILE *to = fopen(file, "w");
	static struct packet p;

	if (!to || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		err(1, "%s", file);
	puts("ready");
	fflush(stdout);
	while (left) {
		socklen_t len = sizeof(at);
		ssize_t n = recvfrom(fd, p.data, sizeof(p.data), MSG_TRUNC, (void *)&at, &len);

		if (n < 0 || n > (ssize_t)sizeof(p.data))
			errx(1, "%s: a packet of %zd bytes", device, n);
		if (ntohs(at.sll_protocol) != ETH_P_IP || n < MIN_BYTES)
			continue;
		p.len = n;
		if (fwrite(&p, sizeof(p.len) + n, 1, to) != 1)
			err(1, "%s", file);
		left--;
	}
	if (fclose(to))
		err(1, "%s", file);
}

static void again(const char *device, const char *mac, const char *file)
{
	static struct mmsghdr msg[BATCH];
	struct sockaddr_ll at;
	int fd = packet_socket(device, &at, 0), on = 1, sent, n;
	size_t packets = 0, size, off, i;
	FILE *from = fopen(file, "r");
	unsigned char *a = at.sll_addr;
	struct iovec *io;
	unsigned int len;
	double start;
	char *all;
	sigset_t set;

	if (!from || fseek(from, 0, SEEK_END) || setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)))
		err(1, "%s", file);
	at.sll_protocol = htons(ETH_P_IP);
	at.sll_halen = 6;
	if (sscanf(mac, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", a, a + 1, a + 2, a + 3, a + 4, a + 5) != 6)
		errx(1, "%s: no address", mac);
	size = ftell(from);
	rewind(from);
	all = malloc(size);
	io = calloc(size / sizeof(len), sizeof(*io));
	if (!all || !io || fread(all, size, 1, from) != 1)
		err(1, "%s", file);
	for (off = 0; off < size; off += sizeof(len) + len) {
		memcpy(&len, all + off, sizeof(len));
		io[packets].iov_base = all + off + sizeof(len);
		io[packets++].iov_len = len;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	sigwait(&set, &n);
	start = now();
	for (i = 0; i < packets; i += sent) {
		int batch = packets - i < BATCH ? packets - i : BATCH;

		for (n = 0; n < batch; n++) {
			msg[n].msg_hdr.msg_name = &at;
			msg[n].msg_hdr.msg_namelen = sizeof(at);
			msg[n].msg_hdr.msg_iov = &io[i + n];
			msg[n].msg_hdr.msg_iovlen = 1;
		}
		sent = sendmmsg(fd, msg, batch, 0);
		if (sent < 0)
			err(1, "%s", device);
	}
	printf("%f\n", now() - start);
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "take"))
		take(argv[2], atol(argv[3]), argv[4]);
	else if (argc == 5 && !strcmp(argv[1], "send"))
		again(argv[2], argv[3], argv[4]);
	else
		errx(1, "usage: inject take DEVICE COUNT FILE | send DEVICE MAC FILE");
	return 0;
}
