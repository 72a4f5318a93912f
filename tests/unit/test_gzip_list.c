#include "base/deflate.h"
#include "server/request/gzip_list.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <zlib.h>

#define N_OBJECTS 600
#define HEAD "{\"items\":["
#define TAIL "]}\n"

struct fixture {
	struct gzip_runs *runs;
	struct cached *objects[N_OBJECTS];
};

static struct cached *make_sized(int i, int64_t revision, int n_numbers)
{
	_cleanup_(buf_done) struct buf text;
	char rest[64];

	buf_init(&text, 4 << 20);
	snprintf(rest, sizeof(rest), "ns-%d/object-%d", i / 400, i);
	buf_printf(&text,
		"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/v1\",\"metadata\":{\"name\":\"object-%d\","
		"\"namespace\":\"ns-%d\",\"uid\":\"u-%d\"},\"data\":{\"x\":\"",
		i, i / 400, i);
	for (int k = 0; k < n_numbers; k++) {
		buf_printf(&text, "%x,", ((unsigned)i * 7919u + (unsigned)k * 104729u) * 2654435761u);
	}
	BUF_LITERAL(&text, "\"},\"revision\":1}");
	return cached_new(
		kind_by_hub(STR("annals.dev"), STR("controllerrevisions")), str_of(rest), buf_str(&text), 1, revision);
}

static struct cached *make_object(int i, int64_t revision)
{
	return make_sized(i, revision, 100);
}

static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);

	f->runs = gzip_runs_new(1 << 20);
	for (int i = 0; i < N_OBJECTS; i++) {
		f->objects[i] = make_object(i, 100 + i);
		assert_non_null(f->objects[i]);
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	gzip_runs_free(f->runs);
	for (int i = 0; i < N_OBJECTS; i++) {
		cached_unref(f->objects[i]);
	}
	mem_free(f);
	return 0;
}

/* Reads in pieces of `step` bytes. */
static void pack(struct buf *out, struct gzip_runs *runs, const struct version *version, struct cached *const *items, size_t n,
	size_t step)
{
	struct gzip_list g = {.runs = runs,
		.head = STR(HEAD),
		.tail = STR(TAIL),
		.version = version,
		.items = (const struct cached *const *)items,
		.n_items = n};
	char piece[16384];
	size_t got;

	while ((got = gzip_list_read(&g, piece, step)) > 0) {
		buf_add(out, piece, got);
	}
	gzip_list_done(&g);
}

/* A reader who knows nothing but gzip, and checks its sums. */
static void unpack(struct buf *out, struct str packed)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)packed.p, .avail_in = (uInt)packed.n};
	char piece[4096];
	int r;

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	do {
		z.next_out = (Bytef *)piece;
		z.avail_out = sizeof(piece);
		r = inflate(&z, Z_NO_FLUSH);
		assert_true(r == Z_OK || r == Z_STREAM_END);
		buf_add(out, piece, sizeof(piece) - z.avail_out);
	} while (r != Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);
}

static void spell(struct buf *out, const struct version *version, struct cached *const *items, size_t n)
{
	BUF_LITERAL(out, HEAD);
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? ",{" : "{");
		for (size_t k = 0; k < cached_pieces(items[i], version); k++) {
			buf_add_str(out, cached_piece(items[i], version, k));
		}
	}
	BUF_LITERAL(out, TAIL);
}

static void assert_list_at(const char *api_version, struct gzip_runs *runs, struct cached *const *items, size_t n, size_t step)
{
	_cleanup_(buf_done) struct buf packed, text, wanted;
	const struct version *version = kind_version(items[0]->kind, str_of(api_version));

	buf_init(&packed, 64 << 20);
	buf_init(&text, 64 << 20);
	buf_init(&wanted, 64 << 20);
	pack(&packed, runs, version, items, n, step);
	unpack(&text, buf_str(&packed));
	spell(&wanted, version, items, n);
	assert_true(str_eq(buf_str(&text), buf_str(&wanted)));
	assert_true(n < 100 || packed.n < text.n * 3 / 4);
}

static void assert_list(struct gzip_runs *runs, struct cached *const *items, size_t n, size_t step)
{
	assert_list_at("apps/v1", runs, items, n, step);
}

static uint64_t n_made(struct fixture *f)
{
	uint64_t found, made;
	size_t n;

	gzip_runs_stats(f->runs, &n, &found, &made);
	return made;
}

static void test_gzip_list__reads_as_the_list(void **state)
{
	struct fixture *f = *state;
	static const size_t lengths[] = {0, 1, 2, 399, 400, 401, N_OBJECTS}, steps[] = {1, 7, 16384};

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(steps); k++) {
			assert_list(f->runs, f->objects, lengths[i], steps[k]);
		}
	}
}

static void test_gzip_list__is_compressed_once(void **state)
{
	struct fixture *f = *state;

	assert_list(f->runs, f->objects, N_OBJECTS, 16384);
	uint64_t made = n_made(f);
	assert_true(made > 5);
	assert_list(f->runs, f->objects, N_OBJECTS, 16384);
	assert_int_equal(n_made(f), made);
}

static void test_gzip_list__a_changed_object_costs_its_run(void **state)
{
	struct fixture *f = *state;

	assert_list(f->runs, f->objects, N_OBJECTS, 16384);
	uint64_t made = n_made(f);
	cached_unref(f->objects[300]);
	f->objects[300] = make_object(300, 9999);
	assert_list(f->runs, f->objects, N_OBJECTS, 16384);
	assert_int_equal(n_made(f), made + 1);
}

static void test_gzip_list__other_beginnings_share_runs(void **state)
{
	struct fixture *f = *state;

	assert_list(f->runs, f->objects, N_OBJECTS, 16384);
	uint64_t made = n_made(f);
	assert_list(f->runs, f->objects + 10, N_OBJECTS - 10, 16384);
	assert_in_range(n_made(f), made + 1, made + 5);
}

/* Only one of them shows what is not stored. */
static void test_gzip_list__versions_have_runs_of_their_own_where_they_show_objects_otherwise(void **state)
{
	static const char *const versions[] = {"apps/v1", "annals.dev/v1", "apps/v1", "annals.dev/v1beta1"};
	struct fixture *f = *state;
	uint64_t made[ARRAY_SIZE(versions)];

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		assert_list_at(versions[i], f->runs, f->objects, N_OBJECTS, 16384);
		made[i] = n_made(f);
	}
	assert_true(made[1] > made[0]);
	assert_int_equal(made[3], made[1]);
}

static void test_gzip_list__keeps_no_more_than_it_may(void **state)
{
	struct fixture *f = *state;
	struct gzip_runs *small = gzip_runs_new(64 << 10);
	uint64_t found, made;
	size_t n;

	for (int i = 0; i < 3; i++) {
		assert_list(small, f->objects, N_OBJECTS, 16384);
		gzip_runs_stats(small, &n, &found, &made);
		assert_in_range(n, 1, 64 << 10);
	}
	gzip_runs_free(small);
}

static void test_gzip_list__objects_may_be_larger_than_a_run(void **state)
{
	struct fixture *f = *state;

	cached_unref(f->objects[7]);
	f->objects[7] = make_sized(7, 9999, 200000);
	assert_true(cached_shown_size(f->objects[7], kind_version(f->objects[7]->kind, STR("apps/v1"))) > 1 << 20);
	for (size_t n = 7; n < 10; n++) {
		assert_list(f->runs, f->objects, n, 16384);
	}
}

static void *read_often(void *arg)
{
	struct fixture *f = arg;

	for (int i = 0; i < 20; i++) {
		assert_list(f->runs, f->objects + i, (size_t)(N_OBJECTS - 2 * i), 4096);
	}
	return NULL;
}

static void test_gzip_list__threads_share_runs(void **state)
{
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, read_often, *state), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], NULL);
	}
}

static void test_gzip_list__checksums_are_zlibs(void **state)
{
	char text[600];

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = (char)(i * 2654435761u >> 13);
	}
	for (size_t from = 0; from < 20; from++) {
		for (size_t n = 0; from + n <= sizeof(text); n++) {
			assert_int_equal(
				gzip_checksum((struct str){text + from, n}), crc32_z(0, (const Bytef *)text + from, n));
		}
	}
}

#define LIST_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIST_TEST(test_gzip_list__reads_as_the_list),
		LIST_TEST(test_gzip_list__is_compressed_once),
		LIST_TEST(test_gzip_list__a_changed_object_costs_its_run),
		LIST_TEST(test_gzip_list__other_beginnings_share_runs),
		LIST_TEST(test_gzip_list__versions_have_runs_of_their_own_where_they_show_objects_otherwise),
		LIST_TEST(test_gzip_list__keeps_no_more_than_it_may),
		LIST_TEST(test_gzip_list__objects_may_be_larger_than_a_run),
		LIST_TEST(test_gzip_list__checksums_are_zlibs),
		LIST_TEST(test_gzip_list__threads_share_runs),
	};
	return cmocka_run_group_tests_name("gzip_list", tests, NULL, NULL);
}
