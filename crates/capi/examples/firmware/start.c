/*
 * The support code of a program without an operating system's library: the entry point, the four memory
 * functions that compilers call (GCC manual, "Standards", freestanding), and bcmp, which LLVM calls if the
 * order does not matter. On a board this is the start-up code. Here, on Linux for x86-64, output and exit are
 * two bare system calls.
 */
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
int bcmp(const void *a, const void *b, size_t bytes);
void abort(void);
void put(const char *text, size_t bytes);
int firmware(void);
void start(void);

__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call start\n");

static long call(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

/* Writes to the standard output. */
void put(const char *text, size_t bytes)
{
	call(1, 1, (long)text, (long)bytes);
}

static void leave(int status)
{
	for (;;) {
		call(231, status, 0, 0);
	}
}

void start(void)
{
	leave(firmware());
}

/* Called if the library panics, which is a bug in the library. */
void abort(void)
{
	static const char text[] = "abort\n";

	put(text, sizeof text - 1);
	leave(134);
}

void *memcpy(void *to, const void *from, size_t bytes)
{
	unsigned char *target = to;
	const unsigned char *source = from;

	while (bytes-- > 0) {
		*target++ = *source++;
	}
	return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	unsigned char *target = to;
	const unsigned char *source = from;

	if (target <= source) {
		return memcpy(to, from, bytes);
	}
	while (bytes-- > 0) {
		target[bytes] = source[bytes];
	}
	return to;
}

void *memset(void *to, int byte, size_t bytes)
{
	unsigned char *target = to;

	while (bytes-- > 0) {
		*target++ = (unsigned char)byte;
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	const unsigned char *left = a, *right = b;

	for (; bytes > 0; bytes--, left++, right++) {
		if (*left != *right) {
			return *left - *right;
		}
	}
	return 0;
}

int bcmp(const void *a, const void *b, size_t bytes)
{
	return memcmp(a, b, bytes);
}
