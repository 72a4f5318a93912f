/* The pump alone, with the test's own clock. */
#include "base/clock.h"
#include "server/http/http_pump.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MINUTE_MS = 60000 };

static _Atomic int64_t now_ms;

int64_t __wrap_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void)
{
	return atomic_load(&now_ms);
}

/* A stream that has always something to send, or never. */
struct source {
	struct pump_stream stream;
	bool is_endless;
	int other_end;
	unsigned n_reads;
	bool is_over, was_cut;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

#define await(condition)                                    \
	do {                                                \
		pthread_mutex_lock(&lock);                  \
		while (!(condition)) {                      \
			pthread_cond_wait(&changed, &lock); \
		}                                           \
		pthread_mutex_unlock(&lock);                \
	} while (0)

static struct source *source_of(struct pump_stream *s)
{
	return container_of(s, struct source, stream);
}

static ssize_t on_read(struct pump_stream *stream, char *p, size_t max)
{
	struct source *s = source_of(stream);
	pthread_mutex_lock(&lock);
	s->n_reads++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	memset(p, 'x', max);
	return s->is_endless ? (ssize_t)max : 0;
}

static void on_closed(struct pump_stream *stream _unused_)
{
}

static void on_finished(struct pump_stream *stream, bool is_cut)
{
	struct source *s = source_of(stream);
	pthread_mutex_lock(&lock);
	s->is_over = true;
	s->was_cut = is_cut;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static const struct pump_ops ops = {on_read, on_closed, on_finished};

static void source_open(struct source *s, struct pump *p, bool is_endless)
{
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	*s = (struct source){.stream = {.ops = &ops, .fd = ends[0]}, .is_endless = is_endless, .other_end = ends[1]};
	pump_prepare(p, &s->stream);
	pump_start(&s->stream);
}

static void source_close(struct source *s)
{
	close(s->other_end);
	await(s->is_over);
	close(s->stream.fd);
}

/* The thread reads `idle` once more in each of two turns, so it has looked for stalls in between. */
static void let_it_check(struct source *idle)
{
	for (unsigned i = 0; i < 2; i++) {
		unsigned before;
		pthread_mutex_lock(&lock);
		before = idle->n_reads;
		pthread_mutex_unlock(&lock);
		pump_wake(&idle->stream);
		await(idle->n_reads > before);
	}
}

static unsigned reads_of(struct source *s)
{
	pthread_mutex_lock(&lock);
	unsigned n = s->n_reads;
	pthread_mutex_unlock(&lock);
	return n;
}

static bool has_ended(struct source *s)
{
	pthread_mutex_lock(&lock);
	bool is_over = s->is_over;
	pthread_mutex_unlock(&lock);
	return is_over;
}

/* Until its socket is full: it is not read again in a turn of the thread. */
static void fill(struct source *full, struct source *idle)
{
	unsigned before;
	do {
		before = reads_of(full);
		let_it_check(idle);
	} while (before == 0 || reads_of(full) != before);
}

static void test_pump__client_that_takes_nothing_has_a_minute(void **state _unused_)
{
	struct source full, idle;
	atomic_store(&now_ms, 1000 * MINUTE_MS); /* the machine has run for long */
	struct pump *p = pump_new(1);
	source_open(&idle, p, false);
	source_open(&full, p, true);
	fill(&full, &idle);
	for (int64_t passed = 2000; passed < MINUTE_MS; passed += 2000) {
		atomic_fetch_add(&now_ms, 2000);
		let_it_check(&idle);
	}
	assert_false(has_ended(&full));
	atomic_fetch_add(&now_ms, 2000);
	let_it_check(&idle);
	await(full.is_over);
	assert_true(full.was_cut);
	assert_false(has_ended(&idle)); /* it has nothing to send */
	source_close(&full);
	source_close(&idle);
	pump_free(p);
}

static void test_pump__client_that_takes_something_has_another_minute(void **state _unused_)
{
	struct source full, idle;
	char some[65536];
	atomic_store(&now_ms, 1000 * MINUTE_MS);
	struct pump *p = pump_new(1);
	source_open(&idle, p, false);
	source_open(&full, p, true);
	fill(&full, &idle);
	for (unsigned i = 0; i < 4; i++) {
		unsigned before = reads_of(&full);
		atomic_fetch_add(&now_ms, MINUTE_MS - 5000);
		let_it_check(&idle);
		while (read(full.other_end, some, sizeof(some)) > 0) {
		}
		await(full.n_reads > before);
		fill(&full, &idle);
		assert_false(has_ended(&full));
	}
	source_close(&full);
	source_close(&idle);
	pump_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_pump__client_that_takes_nothing_has_a_minute),
		TEST(test_pump__client_that_takes_something_has_another_minute),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
