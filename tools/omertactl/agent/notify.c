// SPDX-License-Identifier: GPL-2.0
#include "agent/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

void om_notify(const char *state)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	struct timespec ts;
	char text[300];
	int fd;

	if (!path || !*path || strlen(path) >= sizeof(to.sun_path))
		return;
	strcpy(to.sun_path, path);
	if (*path == '@')
		to.sun_path[0] = '\0';
	clock_gettime(CLOCK_MONOTONIC, &ts);
	snprintf(text, sizeof(text), "%s\nMONOTONIC_USEC=%lld%06ld\n", state,
		 (long long)ts.tv_sec, ts.tv_nsec / 1000);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
	close(fd);
}
