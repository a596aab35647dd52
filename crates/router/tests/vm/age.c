/* How old data are when they arrive, for the rule `notsent-lowat` of docs/doctor.md.
 *
 *   age take PORT                   reads a connection to its end, and prints the median age in ms
 *   age give ADDRESS PORT SECONDS   writes as much as TCP takes, in blocks that say when they were written
 *
 * Both run on the same kernel, so on one clock. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096
#define MOST 1000000

static uint64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

static int by_value(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

int main(int count, char **words)
{
	static uint64_t block[BLOCK / sizeof(uint64_t)], ages[MOST];
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, number = 0;

	if (count == 3 && !strcmp(words[1], "take")) {
		address.sin_port = htons(atoi(words[2]));
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 1))
			return 1;
		fd = accept(fd, NULL, NULL);
		while (number < MOST && recv(fd, block, BLOCK, MSG_WAITALL) == BLOCK)
			ages[number++] = now_us() - block[0];
		/* The second half: slow start is over. */
		qsort(ages + number / 2, number - number / 2, sizeof *ages, by_value);
		printf("%llu\n", number ? (unsigned long long)ages[number / 2 + (number - number / 2) / 2] / 1000 : 0);
		return 0;
	}
	if (count != 5 || strcmp(words[1], "give"))
		return 2;
	address.sin_port = htons(atoi(words[3]));
	if (!inet_aton(words[2], &address.sin_addr) || connect(fd, (struct sockaddr *)&address, sizeof address))
		return 1;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (uint64_t end = now_us() + atoi(words[4]) * 1000000ull; now_us() < end;) {
		struct pollfd writable = { .fd = fd, .events = POLLOUT };

		/* A block is made when TCP takes it. */
		poll(&writable, 1, -1);
		block[0] = now_us();
		for (size_t done = 0; done < BLOCK;) {
			ssize_t bytes = write(fd, (char *)block + done, BLOCK - done);

			if (bytes < 0 && poll(&writable, 1, -1) < 0)
				return 1;
			done += bytes > 0 ? bytes : 0;
		}
	}
	return 0;
}
