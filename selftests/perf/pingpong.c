// SPDX-License-Identifier: GPL-2.0
/*
 * Round trips over one TCP connection, one at a time.
 *
 * pingpong PORT					answers, for one connection
 * pingpong PORT ADDRESS BYTES SECONDS		asks; prints the median and the
 *						99th percentile in us, and how many
 */
#include <arpa/inet.h>
#include <err.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_TRIPS	(1 << 22)

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static void no_delay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* Returns 0 at the end of the stream. */
static int read_all(int fd, char *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, buf + done, len - done);

		if (n < 0)
			err(1, "read");
		if (!n)
			return 0;
		done += n;
	}
	return 1;
}

static void write_all(int fd, const char *buf, size_t len)
{
	if (write(fd, buf, len) != (ssize_t)len)
		err(1, "write");
}

static void answer(unsigned short port)
{
	struct sockaddr_in6 at = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};
	int fd = socket(AF_INET6, SOCK_STREAM, 0), on = 1;
	unsigned int size;
	char *buf;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (void *)&at, sizeof(at)) || listen(fd, 1))
		err(1, "port %u", port);
	fd = accept(fd, NULL, NULL);
	if (fd < 0)
		err(1, "accept");
	no_delay(fd);
	if (!read_all(fd, (char *)&size, sizeof(size)) || size > 1 << 20)
		errx(1, "no size");
	buf = malloc(size);
	if (!buf)
		err(1, "malloc");
	while (read_all(fd, buf, size))
		write_all(fd, buf, size);
}

static int connect_to(const char *host, const char *port)
{
	struct addrinfo *to, hints = { .ai_socktype = SOCK_STREAM };
	int fd, status;

	status = getaddrinfo(host, port, &hints, &to);
	if (status)
		errx(1, "%s: %s", host, gai_strerror(status));
	fd = socket(to->ai_family, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen))
		err(1, "%s", host);
	freeaddrinfo(to);
	no_delay(fd);
	return fd;
}

static int by_size(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void ask(int fd, unsigned int size, double seconds)
{
	float *took = malloc(MAX_TRIPS * sizeof(*took));
	char *buf = calloc(1, size);
	double end = now_us() + seconds * 1e6;
	unsigned int n;

	if (!took || !buf)
		err(1, "malloc");
	write_all(fd, (char *)&size, sizeof(size));
	for (n = 0; n < MAX_TRIPS && now_us() < end; n++) {
		double start = now_us();

		write_all(fd, buf, size);
		if (!read_all(fd, buf, size))
			errx(1, "the other end is gone");
		took[n] = now_us() - start;
	}
	if (!n)
		errx(1, "no round trip");
	qsort(took, n, sizeof(*took), by_size);
	printf("%.1f %.1f %u\n", took[n / 2], took[(unsigned long)n * 99 / 100], n);
}

int main(int argc, char **argv)
{
	if (argc == 2)
		answer(atoi(argv[1]));
	else if (argc == 5)
		ask(connect_to(argv[2], argv[1]), atoi(argv[3]), atof(argv[4]));
	else
		errx(1, "usage: pingpong PORT [ADDRESS BYTES SECONDS]");
	return 0;
}
