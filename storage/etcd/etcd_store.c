/* A store over etcd. Each operation is a row: etcd's method, how to write the request, how to
 * read the answer. A transaction that only reads has a row of its own, because it may be sent
 * again when its answer is lost. */
#include "storage/etcd/etcd.h"
#include "storage/etcd/etcd_client.h"
#include "storage/etcd/etcd_codec.h"
#include "storage/etcd/etcd_watch.h"

#include <assert.h>

/* Room for the messages of a usual transaction; their texts belong to the caller. */
enum { REQUEST_SCRATCH = 4096 };

struct etcd_store {
	struct storage storage;
	struct etcd_client *client;
	struct etcd_watches *watches;
};

struct trip {
	struct etcd_method method;
	const ProtobufCMessage *(*encode)(struct arena *a, const struct storage_op *op);
	enum storage_result (*decode)(struct storage_op *op, struct str body);
};

/* With .wants_leader, a request gets a certain refusal when there is no leader, rather than a
 * timeout that leaves everything open. Reads rather wait for a leader. No guard depends on a
 * lease: when in doubt it expires. */
static const struct trip trip_range = {
	{"/etcdserverpb.KV/Range", LANE_CALLS, .is_read = true}, etcd_encode_range, etcd_decode_range};
static const struct trip trip_txn = {
	{"/etcdserverpb.KV/Txn", LANE_CALLS, .wants_leader = true}, etcd_encode_txn, etcd_decode_txn};
static const struct trip trip_txn_read = {
	{"/etcdserverpb.KV/Txn", LANE_CALLS, .is_read = true}, etcd_encode_txn, etcd_decode_txn};
static const struct trip trip_compact = {
	{"/etcdserverpb.KV/Compact", LANE_CALLS, .wants_leader = true}, etcd_encode_compact, etcd_decode_compact};
static const struct trip trip_status = {
	{"/etcdserverpb.Maintenance/Status", LANE_CALLS, .is_read = true}, etcd_encode_status, etcd_decode_status};
static const struct trip trip_grant = {
	{"/etcdserverpb.Lease/LeaseGrant", LANE_STREAMS, .wants_leader = true}, etcd_encode_grant, etcd_decode_grant};
/* A stream to etcd that serves as a call: one request, half-closed, has one answer. */
static const struct trip trip_keep_alive = {
	{"/etcdserverpb.Lease/LeaseKeepAlive", LANE_STREAMS, .is_read = true}, etcd_encode_keep_alive, etcd_decode_keep_alive};
static const struct trip trip_revoke = {
	{"/etcdserverpb.Lease/LeaseRevoke", LANE_STREAMS, .wants_leader = true}, etcd_encode_revoke, etcd_decode_revoke};

static struct etcd_store *etcd_store(struct storage *s)
{
	return container_of(s, struct etcd_store, storage);
}

static void op_take_answer(struct storage_op *op, const struct trip *trip, struct str body)
{
	op->result = trip->decode(op, body);
	op->message = "";
	if (op->result == STORAGE_ERROR) {
		op->result = trip->method.is_read ? STORAGE_ERROR : STORAGE_UNKNOWN;
		op->message = "etcd's answer cannot be understood";
	} else if (op->result == STORAGE_LEASE_GONE) {
		op->message = "etcdserver: requested lease not found";
	}
}

static void op_on_reply(void *ctx, const struct etcd_reply *reply)
{
	struct storage_op *op = ctx;
	arena_init(&op->arena, SIZE_MAX); /* the client bounds what it receives */
	if (reply->result == STORAGE_OK) {
		op_take_answer(op, op->impl, reply->body);
	} else {
		op->result = reply->result;
		op->message = arena_strdup(&op->arena, reply->message);
	}
	assert(op->message);
	op->done(op);
}

static void store_submit(struct storage *s, struct storage_op *op, const struct trip *trip)
{
	assert(op->done && op->timeout_ms >= 0);
	char scratch[REQUEST_SCRATCH];
	struct arena arena;
	arena_init_with(&arena, SIZE_MAX, scratch, sizeof(scratch));
	const ProtobufCMessage *request = trip->encode(&arena, op);
	op->impl = (void *)(uintptr_t)trip;
	op->revision = 0;
	op->cluster = 0;
	op->compact_revision = 0;
	etcd_client_call(etcd_store(s)->client, &trip->method, request, op->timeout_ms, op_on_reply, op);
	arena_done(&arena);
}

static void etcd_range(struct storage *s, struct storage_range *r)
{
	store_submit(s, &r->op, &trip_range);
}

static bool steps_only_read(const struct storage_step *steps, size_t n)
{
	size_t i = 0;
	while (i < n && steps[i].kind == STEP_GET) {
		i++;
	}
	return i == n;
}

static void etcd_txn(struct storage *s, struct storage_txn *t)
{
	bool is_read = steps_only_read(t->success, t->n_success) && steps_only_read(t->failure, t->n_failure);
	store_submit(s, &t->op, is_read ? &trip_txn_read : &trip_txn);
}

static void etcd_compact(struct storage *s, struct storage_compact *c)
{
	store_submit(s, &c->op, &trip_compact);
}

static void etcd_status(struct storage *s, struct storage_status *status)
{
	store_submit(s, &status->op, &trip_status);
}

static void etcd_lease_grant(struct storage *s, struct storage_lease *l)
{
	store_submit(s, &l->op, &trip_grant);
}

static void etcd_lease_keep_alive(struct storage *s, struct storage_lease *l)
{
	store_submit(s, &l->op, &trip_keep_alive);
}

static void etcd_lease_revoke(struct storage *s, struct storage_lease *l)
{
	store_submit(s, &l->op, &trip_revoke);
}

static void etcd_watch(struct storage *s, struct storage_watch *w)
{
	etcd_watch_start(etcd_store(s)->watches, w);
}

static void etcd_cancel(struct storage *s, struct storage_watch *w)
{
	etcd_watch_cancel(etcd_store(s)->watches, w);
}

static void etcd_free(struct storage *s)
{
	struct etcd_store *store = etcd_store(s);
	store->client = etcd_client_free(store->client);
	store->watches = etcd_watches_free(store->watches);
	mem_free(store);
}

static const struct storage_ops etcd_ops = {
	.range = etcd_range,
	.txn = etcd_txn,
	.compact = etcd_compact,
	.status = etcd_status,
	.lease_grant = etcd_lease_grant,
	.lease_keep_alive = etcd_lease_keep_alive,
	.lease_revoke = etcd_lease_revoke,
	.watch = etcd_watch,
	.watch_cancel = etcd_cancel,
	.free = etcd_free,
};

int storage_etcd_new(struct storage **ret, const struct storage_etcd_options *options, struct buf *err)
{
	struct etcd_client *client;
	int r = etcd_client_new(&client, options, err);
	if (r < 0) {
		return error_trace(r);
	}
	struct etcd_store *store = mem_new(struct etcd_store);
	store->storage.ops = &etcd_ops;
	store->client = client;
	store->watches = etcd_watches_new(client);
	*ret = &store->storage;
	return 0;
}
