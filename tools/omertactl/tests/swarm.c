// SPDX-License-Identifier: GPL-2.0
/*
 * Many hosts in one process, for one device to have as peers: see selftests/perf/many.sh.
 * Host I, from 1, has the address 10.64.0.0 + I, one port, and a key that follows from I.
 * The messages are those of omertactl's own handshake; PostQuantum is off.
 *
 * usage: swarm config N			prints their [Peer] sections
 *	  swarm begin KEY ADDR PORT N RATE SECONDS	handshakes of hosts 1..N in turns, RATE a
 *			second; prints how many were answered, and how long it took in us:
 *			half of them, 99 of 100, the longest
 *	  swarm answer KEY N			answers until SIGTERM; prints how many
 *	  swarm strangers KEY N MORE		prints initiations of hosts N + 1..N + MORE,
 *			each behind its length in two bytes, big-endian
 *
 * KEY is the device's public one. Each new key is confirmed by one empty record.
 */
#include "initiation.h"
#include "lib/keygen.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define NET	0x0a400000U
#define PORT	51900
/* Magic, type of records with chunks of 512 bytes */
#define RECORD	"OMR\x10"

struct host {
	struct om_hs_host hs;
	struct om_hs begun;
	struct om_hs_keys keys;		/* the newest */
	uint64_t sent_at;		/* in us, or 0 once it was answered */
	bool confirmed;
};

static struct host *host;
static uint32_t hosts;
static struct om_hs_peer device;
static int sock;

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = signal;
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint32_t number(const char *text)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (!v || *end || v > 0x3fffff)
		errx(1, "%s: not a number of this size", text);
	return (uint32_t)v;
}

static void make_hosts(uint32_t n)
{
	hosts = n;
	host = calloc(hosts + 1, sizeof(*host));
	if (!host)
		err(1, "%u hosts", hosts);
	for (uint32_t i = 1; i <= hosts; i++) {
		crypto_hash_sha256(host[i].hs.pair.secret, (const uint8_t *)&i, sizeof(i));
		if (!om_hs_host_init(&host[i].hs))
			errx(1, "host %u has no key", i);
	}
}

static void set_device(const char *key)
{
	struct om_err e;

	if (om_base64_decode(device.public, key, &e))
		errx(1, "%s", e.text);
	om_hs_peer_init(&device);
}

static void open_socket(void)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	const int one = 1, buffer = 1 << 24;

	sock = socket(AF_INET, SOCK_DGRAM, 0);
	if (sock < 0 || setsockopt(sock, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one)) ||
	    setsockopt(sock, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) ||
	    bind(sock, (const struct sockaddr *)&any, sizeof(any)))
		err(1, "socket");
}

/* As a datagram from or to a host */
static struct msghdr *datagram(struct sockaddr_in *other, uint8_t *data, size_t len)
{
	static union {
		char buf[CMSG_SPACE(sizeof(struct in_pktinfo))];
		struct cmsghdr align;
	} control;
	static struct iovec iov;
	static struct msghdr msg;

	iov = (struct iovec){ data, len };
	msg = (struct msghdr){
		.msg_name = other, .msg_namelen = sizeof(*other),
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf, .msg_controllen = sizeof(control.buf),
	};
	return &msg;
}

static void send_from(uint32_t i, struct sockaddr_in *to, uint8_t *data, size_t len)
{
	struct msghdr *msg = datagram(to, data, len);
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	const struct in_pktinfo info = { .ipi_spec_dst.s_addr = htonl(NET + i) };

	*c = (struct cmsghdr){
		.cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO,
		.cmsg_len = CMSG_LEN(sizeof(info)),
	};
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	if (sendmsg(sock, msg, 0) < 0)
		err(1, "host %u", i);
}

/* The number of the host that it is for, 0 if nothing waits */
static uint32_t receive(struct sockaddr_in *from, uint8_t *data, size_t *len)
{
	struct msghdr *msg = datagram(from, data, OM_HS_LEN_MAX);
	ssize_t n = recvmsg(sock, msg, MSG_DONTWAIT);
	struct in_pktinfo info;
	uint32_t i;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 || !CMSG_FIRSTHDR(msg))
		err(1, "receive");
	memcpy(&info, CMSG_DATA(CMSG_FIRSTHDR(msg)), sizeof(info));
	i = ntohl(info.ipi_addr.s_addr) - NET;
	if (!i || i > hosts)
		errx(1, "a datagram for host %u", i);
	*len = (size_t)n;
	return i;
}

static void put_le(uint8_t *p, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++, v >>= 8)
		p[i] = (uint8_t)v;
}

/* An empty record, the first under the host's newest key */
static void confirm(uint32_t i, struct sockaddr_in *to)
{
	uint8_t msg[16 + OM_NOISE_TAG] = RECORD, nonce[12] = { 0 };
	unsigned long long tag;

	put_le(msg + 4, host[i].keys.remote_id, 4);
	nonce[4] = 1 << 7;
	crypto_aead_chacha20poly1305_ietf_encrypt(msg + 16, &tag, NULL, 0, NULL, 0, NULL, nonce,
						  host[i].keys.tx);
	send_from(i, to, msg, sizeof(msg));
	host[i].confirmed = true;
}

static size_t initiate(uint32_t i, uint8_t msg[OM_HS_LEN_MAX])
{
	uint8_t time[OM_HS_TIME] = { 0 };
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	time[0] = 0x40;
	for (int k = 0; k < 8; k++)
		time[7 - k] |= (uint8_t)((uint64_t)ts.tv_sec >> 8 * k);
	for (int k = 0; k < 4; k++)
		time[11 - k] = (uint8_t)((uint32_t)ts.tv_nsec >> 8 * k);
	return om_hs_initiate(&host[i].begun, OM_HS_CLASSIC, 1, &host[i].hs, &device, time, i,
			      now_us() / 1000, msg);
}

static void begin(uint32_t i, struct sockaddr_in *to)
{
	uint8_t msg[OM_HS_LEN_MAX];
	size_t len = initiate(i, msg);

	host[i].sent_at = now_us();
	send_from(i, to, msg, len);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void begin_all(const char *addr, const char *port, uint32_t rate, uint32_t seconds)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)number(port)) };
	uint64_t *took = calloc((size_t)rate * seconds, sizeof(*took)), start = now_us(), now;
	/* The last answers may take a second. */
	uint64_t end = start + (seconds + 1ULL) * 1000000;
	size_t sent = 0, answered = 0, all = (size_t)rate * seconds, len;
	struct pollfd p = { .events = POLLIN };
	uint8_t msg[OM_HS_LEN_MAX];
	struct sockaddr_in from;
	uint32_t i;

	if (!took || inet_pton(AF_INET, addr, &to.sin_addr) != 1)
		errx(1, "%s: not an address", addr);
	p.fd = sock;
	while ((now = now_us()) < end && answered < all) {
		for (; sent < all && now - start >= sent * 1000000 / rate; sent++)
			begin((uint32_t)(sent % hosts) + 1, &to);
		while ((i = receive(&from, msg, &len))) {
			if (!host[i].sent_at || !om_hs_length(msg, len) ||
			    msg[3] != OM_HS_RESPONSE ||
			    !om_hs_read_response(&host[i].begun, &device, msg, len,
						 &host[i].keys))
				continue;
			took[answered++] = now_us() - host[i].sent_at;
			host[i].sent_at = 0;
			confirm(i, &from);
		}
		if (poll(&p, 1, 1) < 0 && errno != EINTR)
			err(1, "poll");
	}
	qsort(took, answered, sizeof(*took), compare);
	printf("%zu of %zu", answered, sent);
	if (answered)
		printf(" %llu %llu %llu", (unsigned long long)took[answered / 2],
		       (unsigned long long)took[answered * 99 / 100],
		       (unsigned long long)took[answered - 1]);
	putchar('\n');
	free(took);
}

static void answer(uint32_t i, struct sockaddr_in *from, uint8_t *msg, size_t len)
{
	struct om_hs_offer offer;
	uint8_t out[OM_HS_LEN_MAX];
	struct om_hs h;

	if (!read_initiation(&h, &host[i].hs, msg, len, &offer) ||
	    memcmp(offer.public, device.public, sizeof(offer.public)))
		errx(1, "host %u: an initiation that is none of ours", i);
	len = om_hs_respond(&h, &device, &offer, 1, i, now_us() / 1000, out, &host[i].keys);
	send_from(i, from, out, len);
	host[i].confirmed = false;
}

static void answer_all(void)
{
	struct pollfd p = { .events = POLLIN };
	struct sockaddr_in from;
	uint8_t msg[OM_HS_LEN_MAX];
	size_t answered = 0, len;
	uint32_t i;

	p.fd = sock;
	while (!stopped) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			err(1, "poll");
		while ((i = receive(&from, msg, &len))) {
			if (om_hs_length(msg, len) && msg[3] == OM_HS_INITIATION) {
				answer(i, &from, msg, len);
				answered++;
			} else if (msg[3] == RECORD[3] && !host[i].confirmed) {
				confirm(i, &from);
			}
		}
	}
	printf("%zu\n", answered);
}

static void print_initiations(uint32_t from)
{
	uint8_t msg[OM_HS_LEN_MAX];
	size_t len;

	for (uint32_t i = from; i <= hosts; i++) {
		len = initiate(i, msg);
		putchar((int)(len >> 8));
		putchar((int)(len & 0xff));
		fwrite(msg, len, 1, stdout);
	}
}

static void print_config(void)
{
	char key[OM_BASE64_LEN];

	for (uint32_t i = 1; i <= hosts; i++) {
		om_base64_encode(key, host[i].hs.pair.public);
		printf("[Peer]\nPublicKey = %s\nEndpoint = 10.%u.%u.%u:%u\n"
		       "AllowedIPs = 10.%u.%u.%u/32, fd64::%x:%x/128\n\n",
		       key, 64 + (i >> 16), i >> 8 & 0xff, i & 0xff, PORT, 128 + (i >> 16),
		       i >> 8 & 0xff, i & 0xff, i >> 16, i & 0xffff);
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = stop };

	if (sodium_init() < 0)
		errx(1, "libsodium does not start");
	sigaction(SIGTERM, &sa, NULL);
	if (argc == 3 && !strcmp(argv[1], "config")) {
		make_hosts(number(argv[2]));
		print_config();
	} else if (argc == 8 && !strcmp(argv[1], "begin")) {
		make_hosts(number(argv[5]));
		set_device(argv[2]);
		open_socket();
		begin_all(argv[3], argv[4], number(argv[6]), number(argv[7]));
	} else if (argc == 4 && !strcmp(argv[1], "answer")) {
		make_hosts(number(argv[3]));
		set_device(argv[2]);
		open_socket();
		answer_all();
	} else if (argc == 5 && !strcmp(argv[1], "strangers")) {
		make_hosts(number(argv[3]) + number(argv[4]));
		set_device(argv[2]);
		print_initiations(number(argv[3]) + 1);
	} else {
		errx(1, "see the top of tests/swarm.c for its arguments");
	}
	free(host);
	return fflush(stdout) ? 1 : 0;
}
