// SPDX-License-Identifier: GPL-2.0
/*
 * The highest rate of UDP datagrams at which fewer than one in a thousand is lost,
 * found by bisection.
 *
 * udprate PORT [later]				counts, for one client; "later" reads
 *						nothing until the client asks
 * udprate PORT ADDRESS BYTES SECONDS		sends, each trial that long; prints
 *						datagrams per second
 * udprate PORT ADDRESS BYTES SECONDS flood	sends once, as fast as can be; prints
 *						how many arrived per second
 * udprate PORT ADDRESS BYTES COUNT exactly	sends so many; prints how many arrived
 * udprate PORT ADDRESS BYTES SECONDS only	sends to an address that does not count, with a
 *						system call for each
 * udprate PORT ADDRESS BYTES SECONDS super	the same, 40 with each system call
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <netdb.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH		32
#define MAX_BYTES	2048
/* Datagrams of a super-packet */
#define SUPER		40
/* The trial at full speed, then so many halvings. */
#define TRIALS		9
#define SOCKET_BUFFER	(8 << 20)

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

struct messages {
	struct mmsghdr msg[BATCH];
	struct iovec io[BATCH];
	char data[BATCH][MAX_BYTES];
};

static void make_messages(struct messages *m, size_t len)
{
	int i;

	for (i = 0; i < BATCH; i++) {
		m->io[i].iov_base = m->data[i];
		m->io[i].iov_len = len;
		m->msg[i].msg_hdr.msg_iov = &m->io[i];
		m->msg[i].msg_hdr.msg_iovlen = 1;
	}
}

static int server(int type, unsigned short port)
{
	struct sockaddr_in6 at = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};
	int fd = socket(AF_INET6, type, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (void *)&at, sizeof(at)))
		err(1, "port %u", port);
	return fd;
}

static int client(int type, const char *host, const char *port)
{
	struct addrinfo *to, hints = { .ai_socktype = type };
	int fd, status;

	status = getaddrinfo(host, port, &hints, &to);
	if (status)
		errx(1, "%s: %s", host, gai_strerror(status));
	fd = socket(to->ai_family, type, 0);
	if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen))
		err(1, "%s", host);
	freeaddrinfo(to);
	return fd;
}

static long take(int fd, struct messages *m)
{
	int n = recvmmsg(fd, m->msg, BATCH, MSG_DONTWAIT, NULL);

	return n > 0 ? n : 0;
}

/* Tell the number of datagrams whenever the client asks for it. */
static void count(unsigned short port, int later)
{
	int room = SOCKET_BUFFER, udp, control;
	static struct messages m;
	long n = 0, more;
	char asked;

	udp = server(SOCK_DGRAM, port);
	if (setsockopt(udp, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		err(1, "SO_RCVBUFFORCE");
	control = server(SOCK_STREAM, port);
	if (listen(control, 1))
		err(1, "listen");
	control = accept(control, NULL, NULL);
	make_messages(&m, MAX_BYTES);
	for (;;) {
		struct pollfd wait[] = { { .fd = later ? -1 : udp, .events = POLLIN },
					 { .fd = control, .events = POLLIN } };

		poll(wait, 2, -1);
		if (wait[0].revents)
			n += take(udp, &m);
		if (!wait[1].revents)
			continue;
		if (read(control, &asked, 1) != 1)
			return;
		while ((more = take(udp, &m)))
			n += more;
		if (write(control, &n, sizeof(n)) != sizeof(n))
			err(1, "write");
		n = 0;
	}
}

/* Returns how many were sent. @rate is per second, 0 for as fast as can be. */
static long flood(int fd, struct messages *m, double rate, double seconds)
{
	double start = now(), t;
	long sent = 0;

	while ((t = now() - start) < seconds) {
		int n;

		if (rate && sent > rate * t)
			continue;
		n = sendmmsg(fd, m->msg, BATCH, 0);
		if (n > 0)
			sent += n;
	}
	return sent;
}

/* Ask the other end how many messages have arrived. */
static long arrived(int control)
{
	struct timespec rest = { 0, 200000000 };
	long got;

	/* Messages in flight arrive by then. */
	nanosleep(&rest, NULL);
	if (write(control, "", 1) != 1 ||
	    read(control, &got, sizeof(got)) != sizeof(got))
		errx(1, "the other end is gone");
	return got;
}

/* Returns how many arrived; *@rate becomes what was sent. */
static long trial(int fd, int control, struct messages *m, double *rate,
		  double seconds)
{
	*rate = flood(fd, m, *rate, seconds) / seconds;
	return arrived(control);
}

/* Return nonzero if more than 0.1 % of the messages were lost. */
static int lossy(int fd, int control, struct messages *m, double *rate,
		 double seconds)
{
	return trial(fd, control, m, rate, seconds) < *rate * seconds * 0.999;
}

static void search(int fd, int control, struct messages *m, double seconds)
{
	double low = 0, high, rate = 0;
	int i;

	if (!lossy(fd, control, m, &rate, seconds)) {
		printf("%.0f\n", rate);
		return;
	}
	high = rate;
	for (i = 1; i < TRIALS; i++) {
		rate = (low + high) / 2;
		if (lossy(fd, control, m, &rate, seconds))
			high = rate;
		else
			low = rate;
	}
	if (!low)
		errx(1, "no rate without loss");
	printf("%.0f\n", low);
}

static void send_exactly(const char *host, const char *port, size_t len, long left)
{
	int fd, control, n;
	static struct messages m;

	fd = client(SOCK_DGRAM, host, port);
	control = client(SOCK_STREAM, host, port);
	make_messages(&m, len);
	for (; left; left -= n) {
		n = sendmmsg(fd, m.msg, left < BATCH ? left : BATCH, 0);
		if (n < 0)
			err(1, "%s", host);
	}
	printf("%ld\n", arrived(control));
}

static void send_only(const char *host, const char *port, int len, double seconds, int n)
{
	int fd = client(SOCK_DGRAM, host, port);
	double end = now() + seconds;
	static char data[SUPER * MAX_BYTES];

	if (n > 1 && setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &len, sizeof(len)))
		err(1, "UDP_SEGMENT");
	while (now() < end)
		send(fd, data, n * len, 0);
}

static void send_to(const char *host, const char *port, size_t len,
		    double seconds, int once)
{
	static struct messages m;
	int fd, control;
	double rate = 0;

	fd = client(SOCK_DGRAM, host, port);
	control = client(SOCK_STREAM, host, port);
	make_messages(&m, len);
	if (once)
		printf("%.0f\n", trial(fd, control, &m, &rate, seconds) / seconds);
	else
		search(fd, control, &m, seconds);
}

int main(int argc, char **argv)
{
	int once = argc == 6 && !strcmp(argv[5], "flood");
	int later = argc == 3 && !strcmp(argv[2], "later");

	if (argc == 2 || later)
		count(atoi(argv[1]), later);
	else if (argc == 6 && !strcmp(argv[5], "exactly") && atoi(argv[3]) <= MAX_BYTES)
		send_exactly(argv[2], argv[1], atoi(argv[3]), atol(argv[4]));
	else if (argc == 6 && !strcmp(argv[5], "only") && atoi(argv[3]) <= MAX_BYTES)
		send_only(argv[2], argv[1], atoi(argv[3]), atof(argv[4]), 1);
	else if (argc == 6 && !strcmp(argv[5], "super") && atoi(argv[3]) <= MAX_BYTES)
		send_only(argv[2], argv[1], atoi(argv[3]), atof(argv[4]), SUPER);
	else if ((argc == 5 || once) && atoi(argv[3]) <= MAX_BYTES)
		send_to(argv[2], argv[1], atoi(argv[3]), atof(argv[4]), once);
	else
		errx(1, "usage: udprate PORT [later | ADDRESS BYTES SECONDS [flood|only|super] | ADDRESS BYTES COUNT exactly]");
	return 0;
}
