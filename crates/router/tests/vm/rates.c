/* Offers a load to the transmit queues of wan0 and says how much left it, for the checks of cake_mq.
 *
 *   rates set KIND RATE                   puts a queueing discipline of this kind at the root
 *   rates run RATE QUEUES LOAD SECONDS    LOAD: even, skewed, or the mean of bursts in ms
 *
 * The load is that of docs/cake-mq.md: datagrams that make frames of 1514 bytes, with exponential gaps, half
 * as much again as the rate, in two flows for each queue. Filters give flow f, to port 5000 + f, its queue. */
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FLOWS 2
#define MOST 64
#define FRAME 1514
#define WARM_UP 1e9

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* An exponential time with this mean, from the generator xorshift64. */
static double exponential(double mean)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return -mean * log(((double)(state >> 11) + 0.5) / 9007199254740992.0);
}

/* Appends an attribute to a message. */
static struct rtattr *append(struct nlmsghdr *message, unsigned short type, const void *data, size_t bytes)
{
	struct rtattr *attribute = (void *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = RTA_LENGTH(bytes);
	memcpy(RTA_DATA(attribute), data, bytes);
	message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + RTA_ALIGN(attribute->rta_len);
	return attribute;
}

static int set(const char *kind, uint64_t bits)
{
	char space[512] = {0}, answer[1024];
	struct nlmsghdr *message = (void *)space;
	struct tcmsg *header = NLMSG_DATA(message);
	uint64_t rate = bits / 8;
	struct {
		struct rtattr head;
		uint64_t rate;
	} __attribute__((packed)) option = {{sizeof option, TCA_CAKE_BASE_RATE64}, rate};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	message->nlmsg_type = RTM_NEWQDISC;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
	message->nlmsg_len = NLMSG_LENGTH(sizeof *header);
	header->tcm_ifindex = (int)if_nametoindex("wan0");
	header->tcm_parent = TC_H_ROOT;
	header->tcm_handle = 0x10000;
	append(message, TCA_KIND, kind, strlen(kind) + 1);
	append(message, TCA_OPTIONS, &option, sizeof option);
	if (send(fd, message, message->nlmsg_len, 0) < 0 || recv(fd, answer, sizeof answer, 0) < 0)
		return -1;
	return ((struct nlmsgerr *)NLMSG_DATA((struct nlmsghdr *)answer))->error;
}

static uint64_t sent(void)
{
	unsigned long long bytes = 0;
	FILE *file = fopen("/sys/class/net/wan0/statistics/tx_bytes", "r");

	if (!file || fscanf(file, "%llu", &bytes) != 1)
		exit(3);
	fclose(file);
	return bytes;
}

int main(int count, char **words)
{
	int fd[MOST], flows, queues, is_skewed, error;
	double rate, seconds, bursts, gap[MOST], ends[MOST] = {0}, next[MOST] = {0}, offered = 0;
	char payload[FRAME - 42] = {0};
	uint64_t start, before = 0, from = 0;

	if (count == 4 && !strcmp(words[1], "set")) {
		error = set(words[2], strtoull(words[3], NULL, 10));
		printf("%s\n", error ? strerror(-error) : "set");
		return error != 0;
	}
	if (count != 6 || (queues = atoi(words[3])) < 1 || queues * FLOWS > MOST)
		return 2;
	rate = atof(words[2]);
	is_skewed = !strcmp(words[4], "skewed");
	bursts = atof(words[4]) * 1e6;
	seconds = atof(words[5]);
	flows = queues * FLOWS;
	for (int flow = 0; flow < flows; flow++) {
		struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(5000 + flow))};
		double mean = 1.5 * rate / 8;
		int most = 8 << 20;

		to.sin_addr.s_addr = inet_addr("10.0.1.2");
		fd[flow] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		setsockopt(fd[flow], SOL_SOCKET, SO_SNDBUFFORCE, &most, sizeof most);
		if (connect(fd[flow], (void *)&to, sizeof to) < 0)
			return 3;
		if (is_skewed && queues > 1)
			mean *= flow < FLOWS ? 0.9 : 0.1 / (queues - 1);
		else
			mean *= (bursts > 0 ? 2.0 : 1.0) / queues;
		gap[flow] = FRAME * 1e9 * FLOWS / mean;
	}
	start = clock_ns() + 1000000;
	for (int flow = 0;;) {
		/* The next packet of the flow. */
		next[flow] += exponential(gap[flow]);
		while (bursts > 0 && next[flow] > ends[flow]) {
			double begins = ends[flow] + exponential(bursts);

			ends[flow] = begins + exponential(bursts);
			next[flow] = begins + exponential(gap[flow]);
		}
		/* At the start all flows get one. */
		if (flow + 1 < flows && next[flow + 1] == 0) {
			flow++;
			continue;
		}
		for (int other = 0; other < flows; other++)
			flow = next[other] < next[flow] ? other : flow;
		if (!from && next[flow] >= WARM_UP) {
			while (clock_ns() < start + (uint64_t)WARM_UP)
				;
			from = clock_ns();
			before = sent();
		}
		if (next[flow] >= WARM_UP + seconds * 1e9)
			break;
		while ((double)(int64_t)(clock_ns() - start) < next[flow])
			;
		offered += from ? FRAME : 0;
		/* Where the socket's buffer is full, the packet is lost there. */
		(void)!send(fd[flow], payload, sizeof payload, 0);
	}
	seconds = (double)(clock_ns() - from) / 1e9;
	offered = offered * 8 / seconds / rate;
	printf("%+.2f\n", ((double)(sent() - before) * 8 / seconds / rate - 1) * 100);
	/* A processor that could not offer the load measures itself. */
	return offered < 1.3;
}
