/* A watch over an etcd that the test simulates: what a stream brings after it was left, and whose history it shows after it came back. */
#include "proto/rpc.pb-c.h"
#include "storage/etcd/etcd_watch.h"
#include "tests/unit/check.h"

enum { EVENTS_MAX = 8, CLUSTER = 7 };

struct etcd_stream {
	const struct etcd_stream_handler *handler;
	void *ctx;
	int64_t start_revision;
	bool is_canceled;
};

struct question {
	int64_t at_revision;
	void (*done)(void *ctx, const struct etcd_reply *reply);
	void *ctx;
};

/* Stands in for storage/etcd/etcd_client.c: tasks wait until the test runs them. */
struct etcd_client {
	struct list tasks;
	struct etcd_stream *stream; /* NULL: none is open */
	struct question question;   /* done NULL: none is asked */
};

struct fixture {
	struct etcd_client client;
	struct etcd_watches *watches;
	struct storage_watch watch;
	int64_t revision; /* the last one that was delivered */
	unsigned n_events;
	bool is_connected, is_over;
	bool is_cut; /* what etcd tells is a fragment, and more follows */
	enum storage_result why;
	int64_t compact_revision;
};

void etcd_client_post(struct etcd_client *c, struct etcd_task *task)
{
	list_append(&c->tasks, &task->node);
}

void etcd_client_schedule(struct etcd_client *c, struct etcd_task *task, int64_t delay_ms _unused_)
{
	etcd_client_post(c, task);
}

int64_t etcd_client_backoff_ms(const struct etcd_client *c _unused_, int64_t last_ms _unused_)
{
	return 0;
}

struct etcd_stream *etcd_stream_open(struct etcd_client *c, const struct etcd_method *method _unused_,
	const ProtobufCMessage *request, const struct etcd_stream_handler *handler, void *ctx)
{
	const Etcdserverpb__WatchRequest *m = container_of(request, const Etcdserverpb__WatchRequest, base);

	c->stream = mem_new(struct etcd_stream);
	*c->stream = (struct etcd_stream){handler, ctx, m->create_request->start_revision, false};
	return c->stream;
}

void etcd_stream_cancel(struct etcd_stream *s)
{
	s->is_canceled = true;
}

void etcd_client_call(struct etcd_client *c, const struct etcd_method *method _unused_, const ProtobufCMessage *request,
	int64_t timeout_ms _unused_, void (*done)(void *ctx, const struct etcd_reply *reply), void *ctx)
{
	const Etcdserverpb__RangeRequest *m = container_of(request, const Etcdserverpb__RangeRequest, base);

	assert_null(c->question.done);
	c->question = (struct question){m->revision, done, ctx};
}

static void settle(struct fixture *f)
{
	while (!list_is_empty(&f->client.tasks)) {
		struct etcd_task *task = list_entry(f->client.tasks.next, struct etcd_task, node);

		list_remove(&task->node);
		task->run(task);
	}
}

/* ---- what etcd does ---- */

static void hang_up(struct fixture *f)
{
	struct etcd_stream *s = f->client.stream;

	f->client.stream = NULL;
	s->handler->on_end(s->ctx, s->is_canceled ? STORAGE_CANCELED : STORAGE_UNAVAILABLE, "over");
	mem_free(s);
	settle(f);
}

static void send_raw(struct fixture *f, struct str body)
{
	f->client.stream->handler->on_message(f->client.stream->ctx, body);
}

static void send_message(struct fixture *f, Etcdserverpb__WatchResponse *m, int64_t revision, uint64_t cluster)
{
	Etcdserverpb__ResponseHeader header = ETCDSERVERPB__RESPONSE_HEADER__INIT;
	uint8_t body[4096];

	header.revision = revision;
	header.cluster_id = cluster;
	m->header = &header;
	send_raw(f, (struct str){(const char *)body, etcdserverpb__watch_response__pack(m, body)});
}

static void say_created(struct fixture *f, int64_t revision, uint64_t cluster)
{
	Etcdserverpb__WatchResponse m = ETCDSERVERPB__WATCH_RESPONSE__INIT;

	m.created = true;
	send_message(f, &m, revision, cluster);
}

struct happening {
	int64_t revision;
	const char *key, *value; /* value NULL: it is deleted */
};

static void tell(struct fixture *f, const struct happening *all, size_t n)
{
	Etcdserverpb__WatchResponse m = ETCDSERVERPB__WATCH_RESPONSE__INIT;
	Mvccpb__Event events[EVENTS_MAX], *list[EVENTS_MAX];
	Mvccpb__KeyValue kvs[EVENTS_MAX];

	for (size_t i = 0; i < n; i++) {
		const char *value = all[i].value ? all[i].value : "";
		mvccpb__event__init(&events[i]);
		mvccpb__key_value__init(&kvs[i]);
		events[i].type = all[i].value ? MVCCPB__EVENT__EVENT_TYPE__PUT : MVCCPB__EVENT__EVENT_TYPE__DELETE;
		events[i].kv = &kvs[i];
		kvs[i].mod_revision = all[i].revision;
		kvs[i].key = (ProtobufCBinaryData){strlen(all[i].key), (uint8_t *)(uintptr_t)all[i].key};
		kvs[i].value = (ProtobufCBinaryData){strlen(value), (uint8_t *)(uintptr_t)value};
		list[i] = &events[i];
	}
	m.events = list;
	m.n_events = n;
	m.fragment = f->is_cut;
	send_message(f, &m, all[n - 1].revision, CLUSTER);
}
#define TELL(f, ...)                                             \
	do {                                                     \
		const struct happening all_[] = {__VA_ARGS__};   \
		tell((f), all_, sizeof(all_) / sizeof(all_[0])); \
	} while (0)

/* found: the revision in which what is asked for was written last; 0: it is not there. */
static void answer_range(struct fixture *f, enum storage_result result, int64_t revision, int64_t found)
{
	Etcdserverpb__RangeResponse m = ETCDSERVERPB__RANGE_RESPONSE__INIT;
	Etcdserverpb__ResponseHeader header = ETCDSERVERPB__RESPONSE_HEADER__INIT;
	Mvccpb__KeyValue kv = MVCCPB__KEY_VALUE__INIT, *kvs[] = {&kv};
	struct question q = f->client.question;
	uint8_t body[256];

	header.revision = revision;
	header.cluster_id = CLUSTER;
	kv.mod_revision = found;
	m.header = &header;
	m.kvs = kvs;
	m.n_kvs = found > 0;
	size_t n = etcdserverpb__range_response__pack(&m, body);
	assert_non_null(q.done);
	f->client.question.done = NULL;
	q.done(q.ctx, &(struct etcd_reply){.result = result, .message = "", .body = {(const char *)body, n}});
	settle(f);
}

/* ---- what the owner sees ---- */

static void on_events(struct storage_watch *w, const struct storage_event *events _unused_, size_t n, int64_t revision)
{
	struct fixture *f = container_of(w, struct fixture, watch);

	assert_true(revision > f->revision);
	f->revision = revision;
	f->n_events += (unsigned)n;
}

static void on_state(struct storage_watch *w, bool is_connected, const char *message _unused_)
{
	container_of(w, struct fixture, watch)->is_connected = is_connected;
}

static void on_end(struct storage_watch *w, enum storage_result why, int64_t compact_revision, const char *message)
{
	struct fixture *f = container_of(w, struct fixture, watch);

	assert_non_null(message);
	f->compact_revision = compact_revision;
	f->is_over = true;
	f->why = why;
}

/* Follows from 10 on. */
static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);

	list_init(&f->client.tasks);
	f->watches = etcd_watches_new(&f->client);
	f->watch = (struct storage_watch){.key = STR("/a/"),
		.range_end = STR("/a0"),
		.from_revision = 10,
		.cluster = CLUSTER,
		.on_events = on_events,
		.on_state = on_state,
		.on_end = on_end};
	etcd_watch_start(f->watches, &f->watch);
	settle(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->client.question.done) {
		answer_range(f, STORAGE_CANCELED, 0, 0);
	}
	etcd_watch_cancel(f->watches, &f->watch);
	settle(f);
	if (f->client.stream) {
		hang_up(f);
	}
	assert_true(f->is_over);
	etcd_watches_free(f->watches);
	mem_free(f);
	return 0;
}

/* Has seen 10 and 11, lost the stream, and asks again. */
static void come_back(struct fixture *f, const struct happening *last)
{
	say_created(f, 9, CLUSTER);
	assert_true(f->is_connected);
	TELL(f, {10, "/a/x", "1"});
	tell(f, last, 1);
	assert_int_equal(f->revision, 11);
	hang_up(f);
	assert_false(f->is_connected);
	assert_int_equal(f->client.stream->start_revision, 11);
}

static void check_restored(struct fixture *f)
{
	if (!f->is_over) {
		assert_true(f->client.stream->is_canceled);
		hang_up(f);
	}
	assert_true(f->is_over);
	assert_int_equal(f->why, STORAGE_RESTORED);
	assert_int_equal(f->revision, 11);
}

static const struct happening put = {11, "/a/x", "2"}, removal = {11, "/a/x", NULL};

/* ---- a stream that is left ---- */

static void test_etcd_watch__nothing_counts_behind_what_cannot_be_understood(void **state)
{
	struct fixture *f = *state;

	say_created(f, 9, CLUSTER);
	TELL(f, {10, "/a/x", "1"});
	send_raw(f, STR("\xff\xff"));
	assert_true(f->client.stream->is_canceled);
	TELL(f, {12, "/a/x", "3"}); /* was received already; 11 was what nobody could read */
	assert_int_equal(f->revision, 10);
	hang_up(f);
	assert_int_equal(f->client.stream->start_revision, 10);
	say_created(f, 12, CLUSTER);
	TELL(f, {10, "/a/x", "1"}, {11, "/a/x", "2"}, {12, "/a/x", "3"});
	assert_int_equal(f->revision, 12);
	assert_int_equal(f->n_events, 3);
}

/* ---- a revision in fragments ---- */

static void test_etcd_watch__a_revision_is_delivered_when_it_is_whole(void **state)
{
	struct fixture *f = *state;

	say_created(f, 9, CLUSTER);
	f->is_cut = true;
	TELL(f, {10, "/a/x", "1"}, {11, "/a/x", "2"});
	assert_int_equal(f->revision, 10); /* of 11 there may be more */
	TELL(f, {11, "/a/y", "2"});
	assert_int_equal(f->revision, 10);
	f->is_cut = false;
	TELL(f, {11, "/a/z", "2"});
	assert_int_equal(f->revision, 11); /* this was the last of it */
	assert_int_equal(f->n_events, 4);
	f->is_cut = true;
	TELL(f, {12, "/a/x", "3"});
	assert_int_equal(f->revision, 11);
	TELL(f, {13, "/a/x", "4"}); /* so 12 is whole */
	assert_int_equal(f->revision, 12);
	f->is_cut = false;
	TELL(f, {14, "/a/x", "5"});
	assert_int_equal(f->revision, 14);
	assert_int_equal(f->n_events, 7);
}

static void test_etcd_watch__what_a_lost_stream_has_begun_is_told_anew(void **state)
{
	struct fixture *f = *state;

	say_created(f, 9, CLUSTER);
	f->is_cut = true;
	TELL(f, {10, "/a/x", "1"}, {11, "/a/x", "2"});
	hang_up(f);
	assert_int_equal(f->client.stream->start_revision, 10);
	f->is_cut = false;
	say_created(f, 11, CLUSTER);
	TELL(f, {10, "/a/x", "1"}, {11, "/a/x", "2"}, {11, "/a/y", "2"});
	assert_int_equal(f->revision, 11);
	assert_int_equal(f->n_events, 3);
}

/* ---- a stream that comes back ---- */

static void test_etcd_watch__goes_on_where_the_last_change_is_shown_again(void **state)
{
	struct fixture *f = *state;

	come_back(f, &put);
	say_created(f, 12, CLUSTER);
	assert_false(f->is_connected); /* not before it is shown */
	TELL(f, {11, "/a/x", "2"}, {12, "/a/y", "1"});
	assert_true(f->is_connected);
	assert_int_equal(f->revision, 12);
	assert_false(f->is_over);
}

static void test_etcd_watch__another_cluster_is_another_history(void **state)
{
	struct fixture *f = *state;

	come_back(f, &put);
	say_created(f, 50, CLUSTER + 1);
	check_restored(f);
}

static void test_etcd_watch__a_quorum_that_is_behind_is_another_history(void **state)
{
	struct fixture *f = *state;

	come_back(f, &put);
	say_created(f, 5, CLUSTER);
	assert_false(f->is_over);
	answer_range(f, STORAGE_UNAVAILABLE, 0, 0); /* asked again */
	assert_int_equal(f->client.question.at_revision, 11);
	answer_range(f, STORAGE_FUTURE, 0, 0);
	check_restored(f);
}

static void test_etcd_watch__a_member_that_is_behind_is_waited_for(void **state)
{
	struct fixture *f = *state;

	come_back(f, &put);
	say_created(f, 5, CLUSTER);
	answer_range(f, STORAGE_OK, 11, 11);
	assert_false(f->is_connected);
	tell(f, &put, 1);
	assert_true(f->is_connected);
	assert_false(f->is_over);
}

/* For each case a watch of its own. */
static void each_shown(const struct happening *last, const struct happening *others, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		void *state;
		struct fixture *f;

		setup(&state);
		f = state;
		come_back(f, last);
		say_created(f, 20, CLUSTER);
		tell(f, &others[i], 1);
		check_restored(f);
		teardown(&state);
	}
}

static void test_etcd_watch__a_history_that_has_overtaken_is_another_one(void **state)
{
	static const struct happening others[] = {
		{11, "/a/x", "3"},  /* another value */
		{11, "/a/y", "2"},  /* another key */
		{11, "/a/x", NULL}, /* gone instead */
		{12, "/a/x", "2"},  /* not then */
	};

	(void)state;
	each_shown(&put, others, ARRAY_SIZE(others));
	each_shown(&removal, others, 2);
}

/* What it shows may all be somebody else's: then nothing comes. */
static void test_etcd_watch__a_quorum_without_the_last_change_is_another_history(void **state)
{
	static const int64_t found[] = {0, 10, 9};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(found); i++) {
		void *own;
		struct fixture *f;

		setup(&own);
		f = own;
		come_back(f, &put);
		say_created(f, 20, CLUSTER);
		answer_range(f, STORAGE_OK, 20, found[i]);
		check_restored(f);
		teardown(&own);
	}
}

static void test_etcd_watch__a_quorum_with_what_was_deleted_is_another_history(void **state)
{
	struct fixture *f = *state;

	come_back(f, &removal);
	say_created(f, 20, CLUSTER);
	answer_range(f, STORAGE_OK, 20, 10);
	check_restored(f);
}

static void test_etcd_watch__a_quorum_that_never_had_what_was_deleted_is_another_history(void **state)
{
	struct fixture *f = *state;

	come_back(f, &removal);
	say_created(f, 20, CLUSTER);
	answer_range(f, STORAGE_OK, 20, 0);
	assert_int_equal(f->client.question.at_revision, 10);
	answer_range(f, STORAGE_OK, 20, 0);
	check_restored(f);
}

/* Etcd may have been compacted at 11, which removes what says that something was deleted then: nobody knows any more. */
static void test_etcd_watch__a_deletion_that_is_not_shown_again_may_be_compacted(void **state)
{
	struct fixture *f = *state;

	come_back(f, &removal);
	say_created(f, 12, CLUSTER);
	TELL(f, {12, "/a/y", "1"});
	hang_up(f);
	assert_true(f->is_over);
	assert_int_equal(f->why, STORAGE_COMPACTED);
}

static void test_etcd_watch__a_quorum_that_has_compacted_says_so(void **state)
{
	struct fixture *f = *state;

	come_back(f, &removal);
	say_created(f, 12, CLUSTER);
	answer_range(f, STORAGE_OK, 12, 0);
	answer_range(f, STORAGE_COMPACTED, 0, 0);
	hang_up(f);
	assert_true(f->is_over);
	assert_int_equal(f->why, STORAGE_COMPACTED);
}

static void test_etcd_watch__a_deletion_that_is_shown_again_is_as_good(void **state)
{
	struct fixture *f = *state;

	come_back(f, &removal);
	say_created(f, 12, CLUSTER);
	answer_range(f, STORAGE_OK, 12, 0);
	answer_range(f, STORAGE_OK, 12, 10);
	TELL(f, {11, "/a/x", NULL}, {12, "/a/y", "1"});
	assert_int_equal(f->revision, 12);
	assert_false(f->is_over);
}

static void test_etcd_watch__a_stream_that_is_refused_says_up_to_where(void **state)
{
	Etcdserverpb__WatchResponse m = ETCDSERVERPB__WATCH_RESPONSE__INIT;
	struct fixture *f = *state;

	come_back(f, &put);
	say_created(f, 20, CLUSTER);
	answer_range(f, STORAGE_COMPACTED, 0, 0);
	assert_false(f->client.stream->is_canceled);
	m.canceled = true;
	m.compact_revision = 15;
	send_message(f, &m, 0, CLUSTER);
	hang_up(f);
	assert_int_equal(f->why, STORAGE_COMPACTED);
	assert_int_equal(f->compact_revision, 15);
}

/* What was loaded at 9 may have been loaded from what is not there any more when the watch begins. */
static void test_etcd_watch__the_place_to_begin_at_may_be_of_another_history(void **state)
{
	struct fixture *f = *state;

	say_created(f, 5, CLUSTER);
	assert_false(f->is_connected);
	answer_range(f, STORAGE_OK, 5, 0);
	hang_up(f);
	assert_true(f->is_over);
	assert_int_equal(f->why, STORAGE_RESTORED);
}

#define WATCH_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WATCH_TEST(test_etcd_watch__nothing_counts_behind_what_cannot_be_understood),
		WATCH_TEST(test_etcd_watch__a_revision_is_delivered_when_it_is_whole),
		WATCH_TEST(test_etcd_watch__what_a_lost_stream_has_begun_is_told_anew),
		WATCH_TEST(test_etcd_watch__goes_on_where_the_last_change_is_shown_again),
		WATCH_TEST(test_etcd_watch__another_cluster_is_another_history),
		WATCH_TEST(test_etcd_watch__a_quorum_that_is_behind_is_another_history),
		WATCH_TEST(test_etcd_watch__a_member_that_is_behind_is_waited_for),
		WATCH_TEST(test_etcd_watch__a_history_that_has_overtaken_is_another_one),
		WATCH_TEST(test_etcd_watch__a_quorum_without_the_last_change_is_another_history),
		WATCH_TEST(test_etcd_watch__a_quorum_with_what_was_deleted_is_another_history),
		WATCH_TEST(test_etcd_watch__a_quorum_that_never_had_what_was_deleted_is_another_history),
		WATCH_TEST(test_etcd_watch__a_quorum_that_has_compacted_says_so),
		WATCH_TEST(test_etcd_watch__a_stream_that_is_refused_says_up_to_where),
		WATCH_TEST(test_etcd_watch__a_deletion_that_is_not_shown_again_may_be_compacted),
		WATCH_TEST(test_etcd_watch__a_deletion_that_is_shown_again_is_as_good),
		WATCH_TEST(test_etcd_watch__the_place_to_begin_at_may_be_of_another_history),
	};
	return cmocka_run_group_tests_name("etcd_watch", tests, NULL, NULL);
}
