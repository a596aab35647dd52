/* What an emulated path does to datagrams, for the table beside netem and TBF in docs/performance.md.
 *
 *   paths FROM TO ADDRESS RATE DELAY      RATE in bit/s, DELAY one way in us
 *
 * It sends from the network namespace FROM to ADDRESS in TO, in frames of 1514 bytes, and prints a line:
 * error of the rate under a load half as much again as it, in %; error of the one-way delay of lone probes, median
 * and largest, us; error of the spacing of arrivals under load, median and 99th percentile, us; and of how many
 * datagrams at 90 % of the rate how many are lost. Times are the kernel's at the receiver, and the clock's in front
 * of the call that sends. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME 1514
#define HEADERS 42
#define PROBES 50
#define MOST 200000

static int sender, receiver;
static int64_t sent[MOST], came[MOST];

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void enter(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		perror(path);
		exit(1);
	}
	close(fd);
}

/* Takes what has come: the number of each datagram is its first word. */
static void take(void)
{
	char data[2048], control[64];
	struct iovec vector = { data, sizeof(data) };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };

	for (;;) {
		struct cmsghdr *c;
		uint32_t number;

		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		if (recvmsg(receiver, &message, MSG_DONTWAIT) < 4)
			return;
		memcpy(&number, data, 4);
		for (c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
			if (c->cmsg_type == SCM_TIMESTAMPNS && number < MOST) {
				struct timespec *t = (struct timespec *)CMSG_DATA(c);

				came[number] = t->tv_sec * 1000000000ll + t->tv_nsec;
			}
	}
}

/* Sends `count` datagrams, one each `gap` ns, and waits for the last ones. */
static void load(uint32_t count, double gap, int64_t wait)
{
	static char data[FRAME - HEADERS];
	int64_t began = now(), end;
	uint32_t n;

	memset(came, 0, sizeof(came));
	for (n = 0; n < count; n++) {
		int64_t at = began + (int64_t)(n * gap);

		take();
		while (now() < at) {
			struct timespec rest = { 0, at - now() };

			if (rest.tv_nsec > 50000)
				nanosleep(&rest, NULL);
			take();
		}
		memcpy(data, &n, 4);
		sent[n] = now();
		send(sender, data, sizeof(data), 0);
	}
	for (end = now() + wait; now() < end; usleep(1000))
		take();
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double values[MOST];
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(5000) };
	int one = 1, size = 64 << 20;
	double rate, delay, frame, error;
	int64_t first = 0, last = 0, before = 0;
	uint32_t n, count, seconds = 2, k = 0, arrived = 0;

	if (argc != 6)
		return 2;
	rate = atof(argv[4]);
	delay = atof(argv[5]) * 1e3;
	frame = FRAME * 8 * 1e9 / rate;
	inet_aton(argv[3], &to.sin_addr);
	enter(argv[2]);
	receiver = socket(AF_INET, SOCK_DGRAM, 0);
	setsockopt(receiver, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(receiver, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one));
	if (bind(receiver, (void *)&to, sizeof(to)))
		return 1;
	enter(argv[1]);
	sender = socket(AF_INET, SOCK_DGRAM, 0);
	if (connect(sender, (void *)&to, sizeof(to)))
		return 1;

	/* Each datagram is alone on the line. */
	load(PROBES, frame + 3e6, 200000000);
	for (n = 0, k = 0; n < PROBES; n++)
		if (came[n])
			values[k++] = ((came[n] - sent[n]) - delay - frame) / 1e3;
	if (k == 0)
		return 1;
	qsort(values, k, sizeof(double), compare);
	printf("%u of %u probes, delay %+.0f us, at most %+.0f", k, PROBES, values[k / 2], values[k - 1]);

	/* Too much: the line is never idle. The first quarter is not counted. */
	count = seconds * 1.5 * 1e9 / frame;
	count = count < 40 ? 40 : count < MOST ? count : MOST;
	load(count, frame / 1.5, 500000000);
	for (n = count / 4, k = 0, arrived = 0; n < count; n++) {
		if (!came[n] || came[n] > sent[count - 1])
			continue;
		if (first) {
			error = (came[n] - before - frame) / 1e3;
			values[k++] = error < 0 ? -error : error;
			arrived++;
		} else {
			first = came[n];
		}
		before = last = came[n];
	}
	qsort(values, k, sizeof(double), compare);
	error = k ? (arrived * frame / (double)(last - first) - 1) * 100 : -100;
	printf("; rate %+.3f %%, spacing %.0f us, 99 %% %.0f", error, k ? values[k / 2] : 0, k ? values[k * 99ll / 100] : 0);

	/* Nine tenths. */
	count = 0.9 * 1e9 / frame;
	count = count < 20 ? 20 : count;
	load(count, frame / 0.9, 500000000);
	for (n = 0, arrived = 0; n < count; n++)
		arrived += came[n] > 0;
	printf("; lost %u of %u\n", count - arrived, count);
	return 0;
}
