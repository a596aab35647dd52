/* What it costs to take frames from one interface and send them on another: packet sockets beside AF_XDP, for the
 * table in docs/performance.md. `forward.sh` makes the network namespaces and runs it.
 *
 *   forward recvmmsg|blocks|xdp|xdp-stamp BYTES RATE SECONDS
 *
 * recvmmsg: packet sockets, as the engine uses them; blocks: TPACKET_V3 in, sendmmsg out; xdp: AF_XDP in copy mode,
 * in and out; xdp-stamp: the same, with the time that the XDP program writes in front of each frame. One process
 * sends RATE frames a second in bursts of four (0: as many as it can) into the namespace `forward`, a second one
 * forwards them from `in` to `out`. It prints: frames a second that arrived in the namespace `sink`; processor time
 * for each frame, ns, of the second process and of both with the kernel's threads for interrupts; the share of
 * frames with a kernel timestamp, %; their age when the call that sends has returned, us, median and 99th
 * percentile; frames that the second process has not sent at the end, %. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64
#define SLOT 2048
#define SLOTS 4096 /* of the memory that both AF_XDP sockets share, and of each ring */
#define BLOCK (1 << 20)
#define BLOCKS 32
#define AGES (1 << 20)
#define MUST(call) do { if ((call) < 0) { perror(#call); exit(1); } } while (0)

enum { SETTING_UP, READY, RUNNING, OVER };

/* Shared by all processes. */
static struct shared {
	volatile int state;
	uint64_t sent, forwarded, stamped, loader_ns, forwarder_ns;
	uint32_t ages, age[AGES];
} *shared;
static uint64_t began; /* what processor_time() was when this process was ready */

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static uint64_t processor_time(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000ull +
	       (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000ull;
}

static void enter(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/run/netns/%s", name);
	MUST(fd = open(path, O_RDONLY));
	MUST(setns(fd, CLONE_NEWNET));
	close(fd);
}

/* Frames that the interface `name` of this namespace has received. */
static uint64_t received(const char *name)
{
	char line[512], word[32];
	unsigned long long bytes, frames = 0;
	FILE *file = fopen("/proc/thread-self/net/dev", "r");

	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, " %31[^:]: %llu %llu", word, &bytes, &frames) == 3 && !strcmp(word, name))
			break;
	fclose(file);
	return frames;
}

/* Processor time of the kernel's threads for interrupts, ns: they run what no process could run at once. */
static uint64_t interrupt_threads(void)
{
	char path[64], name[32];
	unsigned long long time, sum = 0;

	for (int pid = 2; pid < 100; pid++) {
		FILE *comm, *stat;

		snprintf(path, sizeof path, "/proc/%d/comm", pid);
		comm = fopen(path, "r");
		snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
		stat = fopen(path, "r");
		if (comm && stat && fscanf(comm, "%31s", name) == 1 && !strncmp(name, "ksoftirqd/", 10) &&
		    fscanf(stat, "%llu", &time) == 1)
			sum += time;
		if (comm)
			fclose(comm);
		if (stat)
			fclose(stat);
	}
	return sum;
}

static int packet_socket(const char *interface, int protocol)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(protocol),
				       .sll_ifindex = if_nametoindex(interface) };
	int fd, one = 1, size = 32 << 20;

	MUST(fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0));
	if (protocol) {
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
		MUST(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one));
		MUST(setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof one));
		MUST(setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one));
	} else {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
		MUST(setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one));
	}
	MUST(bind(fd, (void *)&address, sizeof address));
	return fd;
}

/* Sends all messages: a full socket buffer is tried again. */
static void send_all(int fd, struct mmsghdr *messages, int count)
{
	for (int done = 0; done < count;) {
		int sent = sendmmsg(fd, messages + done, count - done, 0);

		done += sent > 0 ? sent : 0;
	}
}

static void load(int bytes, double rate)
{
	static char frame[SLOT] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5 }; /* a type for experiments */
	struct iovec vector = { frame, bytes };
	struct mmsghdr messages[BATCH];
	int fd, burst = rate > 0 ? 4 : BATCH;
	int64_t next;

	enter("gq-load");
	fd = packet_socket("out", 0);
	for (int n = 0; n < BATCH; n++)
		messages[n] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &vector, .msg_iovlen = 1 } };
	prctl(PR_SET_TIMERSLACK, 1);
	while (shared->state != RUNNING)
		usleep(1000);
	began = processor_time();
	for (next = now(CLOCK_MONOTONIC); shared->state == RUNNING; shared->sent += burst) {
		struct timespec at = { next / 1000000000, next % 1000000000 };

		if (rate > 0)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		send_all(fd, messages, burst);
		next += rate > 0 ? (int64_t)(burst * 1e9 / rate) : 0;
	}
	shared->loader_ns = processor_time() - began;
}

static void ready(void)
{
	began = processor_time();
	shared->state = READY;
}

/* Counts frames that were sent by now, `stamped` of them with a time of the kernel; `stamp` is the first one's. */
static void count(int frames, int stamped, int64_t stamp, clockid_t clock)
{
	shared->forwarded += frames;
	shared->stamped += stamped;
	if (stamp && shared->ages < AGES)
		shared->age[shared->ages++] = now(clock) - stamp;
}

static void wait_for(int fd)
{
	struct pollfd polled = { fd, POLLIN, 0 };

	poll(&polled, 1, 10);
}

static void by_recvmmsg(void)
{
	static char slots[BATCH][SLOT], controls[BATCH][96];
	struct mmsghdr messages[BATCH];
	struct iovec vectors[BATCH];
	int in = packet_socket("in", ETH_P_ALL), out = packet_socket("out", 0);

	for (ready(); shared->state != OVER;) {
		int64_t stamp = 0;
		int got, stamped = 0;

		for (int n = 0; n < BATCH; n++) {
			vectors[n] = (struct iovec){ slots[n], SLOT };
			messages[n] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &vectors[n], .msg_iovlen = 1,
				.msg_control = controls[n], .msg_controllen = sizeof controls[n] } };
		}
		got = recvmmsg(in, messages, BATCH, MSG_DONTWAIT, NULL);
		if (got <= 0) {
			wait_for(in);
			continue;
		}
		for (int n = 0; n < got; n++) {
			struct msghdr *header = &messages[n].msg_hdr;

			for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c))
				if (c->cmsg_type == SCM_TIMESTAMPNS) {
					struct timespec *t = (struct timespec *)CMSG_DATA(c);

					stamped++;
					stamp = stamp ? stamp : t->tv_sec * 1000000000ll + t->tv_nsec;
				}
			vectors[n].iov_len = messages[n].msg_len;
			header->msg_controllen = 0;
		}
		send_all(out, messages, got);
		count(got, stamped, stamp, CLOCK_REALTIME);
	}
}

static void by_blocks(void)
{
	struct tpacket_req3 request = { .tp_block_size = BLOCK, .tp_block_nr = BLOCKS, .tp_frame_size = SLOT,
		.tp_frame_nr = BLOCKS * (BLOCK / SLOT), .tp_retire_blk_tov = 1 };
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
				       .sll_ifindex = if_nametoindex("in") };
	struct mmsghdr messages[BATCH];
	struct iovec vectors[BATCH];
	int in, out = packet_socket("out", 0), version = TPACKET_V3, one = 1;
	char *ring;

	MUST(in = socket(AF_PACKET, SOCK_RAW, 0));
	MUST(setsockopt(in, SOL_PACKET, PACKET_VERSION, &version, sizeof version));
	MUST(setsockopt(in, SOL_PACKET, PACKET_RX_RING, &request, sizeof request));
	MUST(setsockopt(in, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one));
	ring = mmap(NULL, (size_t)BLOCK * BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, in, 0);
	MUST(bind(in, (void *)&address, sizeof address));
	ready();
	for (int block = 0; shared->state != OVER;) {
		struct tpacket_block_desc *head = (void *)(ring + (size_t)block * BLOCK);
		struct tpacket3_hdr *frame;
		uint32_t left;

		if (!(__atomic_load_n(&head->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER)) {
			wait_for(in);
			continue;
		}
		frame = (void *)((char *)head + head->hdr.bh1.offset_to_first_pkt);
		for (left = head->hdr.bh1.num_pkts; left;) {
			int64_t stamp = frame->tp_sec * 1000000000ll + frame->tp_nsec;
			int n, stamped = 0;

			for (n = 0; n < BATCH && left; n++, left--) {
				stamped += frame->tp_sec != 0;
				vectors[n] = (struct iovec){ (char *)frame + frame->tp_mac, frame->tp_snaplen };
				messages[n] = (struct mmsghdr){
					.msg_hdr = { .msg_iov = &vectors[n], .msg_iovlen = 1 } };
				frame = (void *)((char *)frame + frame->tp_next_offset);
			}
			send_all(out, messages, n);
			count(n, stamped, stamp, CLOCK_REALTIME);
		}
		__atomic_store_n(&head->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		block = (block + 1) % BLOCKS;
	}
}

static int bpf(int command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

#define INSN(c, d, s, o, i) { .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }

/* Has frames that arrive at `in` given to the socket; if `stamps`, with the time in front. */
static void redirect(int socket, int stamps)
{
	union bpf_attr map = { .map_type = BPF_MAP_TYPE_XSKMAP, .key_size = 4, .value_size = 4, .max_entries = 1 };
	union bpf_attr element = { 0 }, load = { 0 }, attach = { 0 };
	uint32_t key = 0;
	int map_fd, fd;

	MUST(map_fd = bpf(BPF_MAP_CREATE, &map));
	struct bpf_insn program[] = {
		/* r6 = context; if it has room for 8 bytes in front of the frame, the time goes there */
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, -8),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_xdp_adjust_meta),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 7, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_tai_ns),
		INSN(BPF_LDX | BPF_MEM | BPF_W, 2, 6, offsetof(struct xdp_md, data_meta), 0),
		INSN(BPF_LDX | BPF_MEM | BPF_W, 3, 6, offsetof(struct xdp_md, data), 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, 8),
		INSN(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 1, 0),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 2, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0),
		/* return bpf_redirect_map(map, queue, XDP_PASS) */
		INSN(BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(struct xdp_md, rx_queue_index), 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, map_fd),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	int skip = stamps ? 0 : 12;

	element.map_fd = map_fd;
	element.key = (uintptr_t)&key;
	element.value = (uintptr_t)&socket;
	MUST(bpf(BPF_MAP_UPDATE_ELEM, &element));
	load.prog_type = BPF_PROG_TYPE_XDP;
	load.expected_attach_type = BPF_XDP;
	load.insns = (uintptr_t)(program + skip);
	load.insn_cnt = sizeof program / sizeof *program - skip;
	load.license = (uintptr_t) "MIT OR Apache-2.0";
	MUST(fd = bpf(BPF_PROG_LOAD, &load));
	attach.link_create.prog_fd = fd;
	attach.link_create.target_ifindex = if_nametoindex("in");
	attach.link_create.attach_type = BPF_XDP;
	attach.link_create.flags = XDP_FLAGS_DRV_MODE;
	MUST(bpf(BPF_LINK_CREATE, &attach));
}

struct ring {
	uint32_t *producer, *consumer;
	void *entries;
};

static struct ring ring_of(int fd, off_t place, const struct xdp_ring_offset *at, size_t entry)
{
	char *memory = mmap(NULL, at->desc + SLOTS * entry, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
			    place);

	MUST(memory == MAP_FAILED ? -1 : 0);
	return (struct ring){ (void *)(memory + at->producer), (void *)(memory + at->consumer), memory + at->desc };
}

/* How many entries wait in a ring that the kernel fills. */
static uint32_t waiting(const struct ring *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) - *ring->consumer;
}

static int xdp_socket(const char *interface, int memory_of, char *memory, struct ring *frames, struct ring *slots)
{
	struct sockaddr_xdp address = { .sxdp_family = AF_XDP, .sxdp_ifindex = if_nametoindex(interface),
		.sxdp_flags = memory_of < 0 ? XDP_COPY | XDP_USE_NEED_WAKEUP : XDP_SHARED_UMEM,
		.sxdp_shared_umem_fd = memory_of };
	struct xdp_umem_reg region = { .addr = (uintptr_t)memory, .len = SLOTS * SLOT, .chunk_size = SLOT };
	struct xdp_mmap_offsets at;
	socklen_t length = sizeof at;
	int fd, size = SLOTS, is_in = memory_of < 0, tries = 100;

	MUST(fd = socket(AF_XDP, SOCK_RAW, 0));
	if (is_in)
		MUST(setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &region, sizeof region));
	MUST(setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &size, sizeof size));
	MUST(setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &size, sizeof size));
	MUST(setsockopt(fd, SOL_XDP, is_in ? XDP_RX_RING : XDP_TX_RING, &size, sizeof size));
	MUST(getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &length));
	if (is_in) {
		*frames = ring_of(fd, XDP_PGOFF_RX_RING, &at.rx, sizeof(struct xdp_desc));
		*slots = ring_of(fd, XDP_UMEM_PGOFF_FILL_RING, &at.fr, sizeof(uint64_t));
	} else {
		*frames = ring_of(fd, XDP_PGOFF_TX_RING, &at.tx, sizeof(struct xdp_desc));
		*slots = ring_of(fd, XDP_UMEM_PGOFF_COMPLETION_RING, &at.cr, sizeof(uint64_t));
	}
	/* The kernel frees the queue some time after its last socket. */
	while (bind(fd, (void *)&address, sizeof address) && tries--)
		usleep(10000);
	MUST(tries);
	return fd;
}

static void by_xdp(int stamps)
{
	char *memory = mmap(NULL, SLOTS * SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
			    -1, 0);
	struct ring arrived, empty, leaving, done;
	int in = xdp_socket("in", -1, memory, &arrived, &empty);
	int out = xdp_socket("out", in, memory, &leaving, &done);
	uint64_t *empty_slots = empty.entries, *done_slots = done.entries;
	struct xdp_desc *from = arrived.entries, *to = leaving.entries;

	for (uint32_t n = 0; n < SLOTS; n++)
		empty_slots[n] = (uint64_t)n * SLOT;
	__atomic_store_n(empty.producer, SLOTS, __ATOMIC_RELEASE);
	redirect(in, stamps);
	for (ready(); shared->state != OVER;) {
		uint32_t got = waiting(&arrived), back = waiting(&done);
		uint32_t at = *arrived.consumer, place = *leaving.producer;
		int64_t time = 0, stamp = 0;
		int stamped = 0;

		/* What was sent can be filled again. */
		for (uint32_t n = 0; n < back; n++)
			empty_slots[(*empty.producer + n) % SLOTS] = done_slots[(*done.consumer + n) % SLOTS];
		__atomic_store_n(empty.producer, *empty.producer + back, __ATOMIC_RELEASE);
		__atomic_store_n(done.consumer, *done.consumer + back, __ATOMIC_RELEASE);
		if (!got) {
			wait_for(in);
			continue;
		}
		got = got < BATCH ? got : BATCH;
		for (uint32_t n = 0; n < got; n++) {
			struct xdp_desc frame = from[(at + n) % SLOTS];

			if (stamps) {
				memcpy(&time, memory + frame.addr - sizeof time, sizeof time);
				stamped += time != 0;
				stamp = stamp ? stamp : time;
			}
			to[(place + n) % SLOTS] = (struct xdp_desc){ frame.addr, frame.len, 0 };
		}
		__atomic_store_n(arrived.consumer, at + got, __ATOMIC_RELEASE);
		__atomic_store_n(leaving.producer, place + got, __ATOMIC_RELEASE);
		while (__atomic_load_n(leaving.consumer, __ATOMIC_ACQUIRE) != place + got && shared->state != OVER)
			if (sendto(out, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 &&
			    errno != EAGAIN && errno != EBUSY && errno != ENOBUFS)
				exit(1);
		count(got, stamped, stamp, CLOCK_TAI);
	}
}

static void forward(const char *method)
{
	enter("gq-forward");
	prctl(PR_SET_TIMERSLACK, 1);
	if (!strcmp(method, "recvmmsg"))
		by_recvmmsg();
	else if (!strcmp(method, "blocks"))
		by_blocks();
	else
		by_xdp(!strcmp(method, "xdp-stamp"));
	shared->forwarder_ns = processor_time() - began;
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int main(int words, char **word)
{
	uint64_t before, arrived, threads;
	int status, failed = 0;
	double seconds, all;
	int64_t start;

	if (words != 5)
		return 2;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int child = 0; child < 2; child++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (child == 0)
				forward(word[1]);
			else
				load(atoi(word[2]), atof(word[3]));
			_exit(0);
		}
	enter("gq-sink");
	for (int n = 0; shared->state != READY; n++)
		if (usleep(1000), n == 3000)
			return 1;
	before = received("in");
	threads = interrupt_threads();
	start = now(CLOCK_MONOTONIC);
	shared->state = RUNNING;
	usleep(atof(word[4]) * 1e6);
	shared->state = OVER;
	while (wait(&status) > 0)
		failed |= status;
	seconds = (now(CLOCK_MONOTONIC) - start) / 1e9;
	arrived = received("in") - before;
	all = shared->loader_ns + shared->forwarder_ns + (interrupt_threads() - threads);
	if (failed || !arrived)
		return 1;
	qsort(shared->age, shared->ages, sizeof *shared->age, ascending);
	printf("%.0f %.0f %.0f %.0f %.0f %.0f %.2f\n", arrived / seconds, (double)shared->forwarder_ns / arrived,
	       all / arrived, shared->stamped * 100.0 / shared->forwarded, shared->age[shared->ages / 2] / 1e3,
	       shared->age[shared->ages * 99ull / 100] / 1e3, 100 - arrived * 100.0 / shared->sent);
	return 0;
}
