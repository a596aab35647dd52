/* One end of a load of TCP flows, for the kernel runs of docs/limits.md ("undecided").
 *
 *   load FLOWS ADDRESS SEED SECONDS [START]
 *
 * Runs at both ends at once. It takes what the other end sends (TCP port 5001, UDP port 5002), and sends itself:
 * FLOWS flows of TCP, each from a random moment of the first 0.1 s on, and a datagram of 160 bytes each 20 ms.
 * FLOWS may also be a list as `bbr:0:18,cubic:3:21`, of congestion control, start and stop in seconds; there are no
 * datagrams then, and a flow that stops is reset. With 0 it only takes. The first second begins at START, in
 * seconds since the system booted; without it, in 0.2 s. It prints the bytes that came over each TCP flow after
 * second 5, and as errors when each flow connected, in seconds after START. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 32
#define STEADY 5.0

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static int bound(int type, int port)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, type | SOCK_NONBLOCK, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&any, sizeof any)) {
		perror("bind");
		exit(1);
	}
	return fd;
}

static const struct linger RESET = { 1, 0 };

/* A flow that is to be sent: from when, until when, seconds; 0 once it has begun. Its congestion control, if named. */
struct order {
	double begin, stop;
	char control[16];
	int at;
};

/* Reads a list of flows; returns their number. */
static int listed(const char *list, struct order *orders)
{
	int flows = 0;

	for (; list && flows < MOST; flows++) {
		struct order *order = &orders[flows];

		if (sscanf(list, "%15[^:]:%lf:%lf", order->control, &order->begin, &order->stop) != 3)
			return 0;
		list = strchr(list, ',');
		list = list ? list + 1 : NULL;
	}
	return flows;
}

int main(int count, char **words)
{
	static char buffer[65536];
	struct pollfd polled[2 * MOST + 2];
	uint64_t received[MOST] = { 0 };
	struct order orders[MOST] = { 0 };
	int flows, is_list, taken = 0, started = 0, is_sender[2 * MOST + 2] = { 0 }, index_of[2 * MOST + 2] = { 0 }, number = 2;
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(5001) };
	double start, end, datagram;

	if (count < 5 || count > 6)
		return 2;
	is_list = strchr(words[1], ':') != NULL;
	flows = is_list ? listed(words[1], orders) : atoi(words[1]);
	if (flows > MOST || (is_list && !flows) || !inet_aton(words[2], &peer.sin_addr))
		return 2;
	srand48(atol(words[3]));
	polled[0].fd = bound(SOCK_STREAM, 5001);
	polled[1].fd = bound(SOCK_DGRAM, 5002);
	listen(polled[0].fd, MOST);
	polled[0].events = polled[1].events = POLLIN;
	/* Both ends listen before either begins. */
	start = count > 5 ? atof(words[5]) : now() + 0.2;
	if (start < now()) {
		fprintf(stderr, "load: START is over\n");
		return 1;
	}
	end = start + atof(words[4]);
	datagram = is_list || !flows ? end : start;
	for (int flow = 0; flow < flows; flow++) {
		orders[flow].begin = start + (is_list ? orders[flow].begin : drand48() / 10);
		orders[flow].stop = is_list ? start + orders[flow].stop : end;
	}
	for (double time = now(); time < end; time = now()) {
		double wake = datagram;

		for (int flow = 0; flow < flows; flow++) {
			struct order *order = &orders[flow];

			if (order->begin > 0 && order->begin <= time) {
				int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

				if (order->control[0] && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, order->control,
								    strlen(order->control))) {
					perror(order->control);
					return 1;
				}
				if (connect(fd, (struct sockaddr *)&peer, sizeof peer) && errno != EINPROGRESS) {
					perror("connect");
					return 1;
				}
				fprintf(stderr, "%.4f\n", time - start);
				order->begin = 0;
				order->at = number;
				started++;
				is_sender[number] = 1;
				polled[number++] = (struct pollfd){ .fd = fd, .events = POLLOUT };
			} else if (order->begin > 0 && order->begin < wake) {
				wake = order->begin;
			}
			if (order->at && order->stop <= time) {
				/* poll() skips what is negative. */
				setsockopt(polled[order->at].fd, SOL_SOCKET, SO_LINGER, &RESET, sizeof RESET);
				close(polled[order->at].fd);
				polled[order->at] = (struct pollfd){ .fd = -1 };
				order->at = 0;
			} else if (order->at && order->stop < wake) {
				wake = order->stop;
			}
		}
		if (datagram <= time) {
			struct sockaddr_in to = peer;

			to.sin_port = htons(5002);
			sendto(polled[1].fd, buffer, 160, 0, (struct sockaddr *)&to, sizeof to);
			datagram += 0.02;
			continue;
		}
		poll(polled, number, wake > time ? (int)((wake - time) * 1000) + 1 : 0);
		if (polled[0].revents && taken < MOST) {
			int fd = accept4(polled[0].fd, NULL, NULL, SOCK_NONBLOCK);

			if (fd >= 0) {
				index_of[number] = taken++;
				polled[number++] = (struct pollfd){ .fd = fd, .events = POLLIN };
			}
		}
		while (recv(polled[1].fd, buffer, sizeof buffer, 0) > 0)
			;
		for (int at = 2; at < number; at++) {
			ssize_t bytes = 1;

			while (polled[at].revents && bytes > 0) {
				bytes = is_sender[at] ? write(polled[at].fd, buffer, sizeof buffer) :
							read(polled[at].fd, buffer, sizeof buffer);
				if (bytes > 0 && !is_sender[at] && now() >= start + STEADY)
					received[index_of[at]] += bytes;
			}
			/* The other end has reset or closed it. */
			if (!is_sender[at] && (bytes == 0 || (bytes < 0 && errno != EAGAIN))) {
				close(polled[at].fd);
				polled[at] = (struct pollfd){ .fd = -1 };
			}
		}
	}
	for (int flow = 0; flow < taken; flow++)
		printf("%llu\n", (unsigned long long)received[flow]);
	fflush(stdout);
	/* What waits is never sent: a reset. */
	for (int at = 2; at < number; at++)
		setsockopt(polled[at].fd, SOL_SOCKET, SO_LINGER, &RESET, sizeof RESET);
	return started == flows ? 0 : 1;
}
