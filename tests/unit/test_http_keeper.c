/* The keeper alone, whose sockets somebody else should take. */
#include "base/clock.h"
#include "server/http/http_keeper.h"
#include "tests/unit/check.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 64, REFUSED = 20, LONG_MS = 600000 }; /* an eighth of the room is for strangers */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned n_offered;
	bool is_cloexec;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Takes nobody, as a process without memory or threads. */
static bool on_accept(void *ctx _unused_, int fd, const struct sockaddr *address _unused_, socklen_t size _unused_,
	enum keeper_protocol protocol _unused_)
{
	pthread_mutex_lock(&seen.lock);
	seen.is_cloexec = fcntl(fd, F_GETFD) & FD_CLOEXEC;
	seen.n_offered++;
	pthread_cond_broadcast(&seen.changed);
	pthread_mutex_unlock(&seen.lock);
	close(fd);
	return false;
}

static void on_unheard(void *ctx _unused_)
{
}

static void on_tick(void *ctx _unused_)
{
}

static uint16_t listener_open(int *ret)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	*ret = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(*ret, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(*ret, 64), 0);
	assert_int_equal(getsockname(*ret, (struct sockaddr *)&address, &size), 0);
	return ntohs(address.sin_port);
}

static int dial(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static struct keeper *keeper_open_at(uint16_t *ret_port)
{
	struct keeper_options options = {
		.accept = on_accept,
		.unheard = on_unheard,
		.tick = on_tick,
		.crowd = on_tick,
		.crowd_size = 2 * ROOM,
		.max_connections = ROOM,
		.first_byte_ms = LONG_MS,
		.handshake_ms = LONG_MS,
		.header_ms = LONG_MS,
		.body_ms = LONG_MS,
		.idle_ms = LONG_MS,
		.grace_ms = LONG_MS,
	};
	*ret_port = listener_open(&options.listener);
	struct keeper *k = keeper_new(&options);
	keeper_open(k);
	return k;
}

static void test_keeper__client_that_was_not_taken_leaves_its_room(void **state _unused_)
{
	uint16_t port;
	struct keeper *k = keeper_open_at(&port);
	seen.n_offered = 0;
	for (unsigned i = 1; i <= REFUSED; i++) {
		int fd = dial(port);
		assert_int_equal(send(fd, "GET", 3, MSG_NOSIGNAL), 3);
		pthread_mutex_lock(&seen.lock);
		while (seen.n_offered < i) {
			pthread_cond_wait(&seen.changed, &seen.lock);
		}
		pthread_mutex_unlock(&seen.lock);
		close(fd);
	}
	assert_true(seen.is_cloexec);
	keeper_drain(k);
	assert_true(keeper_wait_until_empty(k, clock_mono_ms() + LONG_MS));
	keeper_free(k);
}

static void test_keeper__says_whether_it_is_empty(void **state _unused_)
{
	uint16_t port;
	struct keeper *k = keeper_open_at(&port);
	assert_true(keeper_wait_until_empty(k, clock_mono_ms()));
	int fd = dial(port); /* a guest, who says nothing */
	while (keeper_wait_until_empty(k, clock_mono_ms())) {
	}
	assert_false(keeper_wait_until_empty(k, clock_mono_ms()));
	close(fd);
	assert_true(keeper_wait_until_empty(k, clock_mono_ms() + LONG_MS));
	keeper_drain(k);
	keeper_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_keeper__client_that_was_not_taken_leaves_its_room),
		TEST(test_keeper__says_whether_it_is_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
