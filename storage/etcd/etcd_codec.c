/* Converts operations to etcd's messages and back, and judges etcd's errors.
 *
 * protobuf-c gets its memory from arenas: a message with thousands of parts costs a few
 * allocations, and is freed at once. Requests are built beside the operation, and point to its
 * texts. A malformed answer is an error, never half an answer. */
#include "storage/etcd/etcd_codec.h"
#include "proto/rpc.pb-c.h"

#include <assert.h>

/* ---- memory: protobuf-c allocates from an arena, where nothing fails and nothing is freed singly ---- */

static void *allocator_alloc(void *arena, size_t n)
{
	return arena_alloc(arena, n);
}

static void allocator_free(void *arena, void *p)
{
	(void)arena;
	(void)p;
}

static ProtobufCBinaryData bytes_of(struct str s)
{
	return (ProtobufCBinaryData){.len = s.n, .data = (uint8_t *)(uintptr_t)s.p};
}

static struct str str_of_bytes(ProtobufCBinaryData b)
{
	return (struct str){(const char *)b.data, b.len};
}

/* Returns a new message with its defaults, in the arena. */
static void *message_new(struct arena *a, const ProtobufCMessageDescriptor *type)
{
	void *m = arena_alloc(a, type->sizeof_message);
	protobuf_c_message_init(type, m);
	return m;
}

/* Returns NULL when the message is malformed. */
static void *message_unpack(struct arena *a, const ProtobufCMessageDescriptor *type, struct str body)
{
	ProtobufCAllocator allocator = {.alloc = allocator_alloc, .free = allocator_free, .allocator_data = a};
	return protobuf_c_message_unpack(type, &allocator, body.n, (const uint8_t *)body.p);
}

/* ---- requests ---- */

const ProtobufCMessage *etcd_encode_range(struct arena *a, const struct storage_op *op)
{
	const struct storage_range *r = container_of(op, const struct storage_range, op);
	assert(r->limit >= 0 && r->at_revision >= 0 && r->changed_after >= 0);
	Etcdserverpb__RangeRequest *m = message_new(a, &etcdserverpb__range_request__descriptor);
	m->key = bytes_of(r->key);
	m->range_end = bytes_of(r->range_end);
	m->limit = r->limit;
	m->revision = r->at_revision;
	m->serializable = r->is_serializable;
	m->keys_only = r->keys_only;
	m->count_only = r->count_only;
	if (r->changed_after > 0) {
		m->min_mod_revision = r->changed_after + 1;
		m->sort_order = ETCDSERVERPB__RANGE_REQUEST__SORT_ORDER__DESCEND;
		m->sort_target = ETCDSERVERPB__RANGE_REQUEST__SORT_TARGET__MOD;
	}
	return &m->base;
}

/* The enums of storage.h are numbered as etcd's. */
_Static_assert((int)COMPARE_VERSION == ETCDSERVERPB__COMPARE__COMPARE_TARGET__VERSION, "");
_Static_assert((int)COMPARE_LEASE == ETCDSERVERPB__COMPARE__COMPARE_TARGET__LEASE, "");
_Static_assert((int)COMPARE_EQUAL == ETCDSERVERPB__COMPARE__COMPARE_RESULT__EQUAL, "");
_Static_assert((int)COMPARE_NOT_EQUAL == ETCDSERVERPB__COMPARE__COMPARE_RESULT__NOT_EQUAL, "");

static const Etcdserverpb__Compare__TargetUnionCase compare_members[] = {
	[COMPARE_VERSION] = ETCDSERVERPB__COMPARE__TARGET_UNION_VERSION,
	[COMPARE_CREATE] = ETCDSERVERPB__COMPARE__TARGET_UNION_CREATE_REVISION,
	[COMPARE_MOD] = ETCDSERVERPB__COMPARE__TARGET_UNION_MOD_REVISION,
	[COMPARE_VALUE] = ETCDSERVERPB__COMPARE__TARGET_UNION_VALUE,
	[COMPARE_LEASE] = ETCDSERVERPB__COMPARE__TARGET_UNION_LEASE,
};

static Etcdserverpb__Compare *encode_compare(struct arena *a, const struct storage_compare *c)
{
	assert(c->target < ARRAY_SIZE(compare_members) && c->result <= COMPARE_NOT_EQUAL);
	Etcdserverpb__Compare *m = message_new(a, &etcdserverpb__compare__descriptor);
	m->target = (Etcdserverpb__Compare__CompareTarget)c->target;
	m->result = (Etcdserverpb__Compare__CompareResult)c->result;
	m->key = bytes_of(c->key);
	m->range_end = bytes_of(c->range_end);
	m->target_union_case = compare_members[c->target];
	if (c->target == COMPARE_VALUE) {
		m->value = bytes_of(c->value);
	} else {
		m->version = c->number; /* all numbers share one member of the union */
	}
	return m;
}

static void encode_get(struct arena *a, const struct storage_step *step, Etcdserverpb__RequestOp *ret)
{
	Etcdserverpb__RangeRequest *m = message_new(a, &etcdserverpb__range_request__descriptor);
	m->key = bytes_of(step->key);
	m->range_end = bytes_of(step->range_end);
	m->limit = step->limit;
	m->keys_only = step->keys_only;
	ret->request_case = ETCDSERVERPB__REQUEST_OP__REQUEST_REQUEST_RANGE;
	ret->request_range = m;
}

static void encode_put(struct arena *a, const struct storage_step *step, Etcdserverpb__RequestOp *ret)
{
	Etcdserverpb__PutRequest *m = message_new(a, &etcdserverpb__put_request__descriptor);
	m->key = bytes_of(step->key);
	m->value = bytes_of(step->value);
	m->lease = step->lease;
	ret->request_case = ETCDSERVERPB__REQUEST_OP__REQUEST_REQUEST_PUT;
	ret->request_put = m;
}

static void encode_delete(struct arena *a, const struct storage_step *step, Etcdserverpb__RequestOp *ret)
{
	Etcdserverpb__DeleteRangeRequest *m = message_new(a, &etcdserverpb__delete_range_request__descriptor);
	m->key = bytes_of(step->key);
	m->range_end = bytes_of(step->range_end);
	ret->request_case = ETCDSERVERPB__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE;
	ret->request_delete_range = m;
}

static Etcdserverpb__RequestOp *encode_step(struct arena *a, const struct storage_step *step)
{
	static void (*const encoders[])(struct arena *, const struct storage_step *, Etcdserverpb__RequestOp *) = {
		[STEP_GET] = encode_get,
		[STEP_PUT] = encode_put,
		[STEP_DELETE] = encode_delete,
	};
	Etcdserverpb__RequestOp *m = message_new(a, &etcdserverpb__request_op__descriptor);
	assert(step->kind < ARRAY_SIZE(encoders));
	encoders[step->kind](a, step, m);
	return m;
}

static Etcdserverpb__RequestOp **encode_steps(struct arena *a, const struct storage_step *steps, size_t n)
{
	Etcdserverpb__RequestOp **list = arena_array(a, Etcdserverpb__RequestOp *, n);
	for (size_t i = 0; i < n; i++) {
		list[i] = encode_step(a, &steps[i]);
	}
	return list;
}

const ProtobufCMessage *etcd_encode_txn(struct arena *a, const struct storage_op *op)
{
	const struct storage_txn *t = container_of(op, const struct storage_txn, op);
	Etcdserverpb__TxnRequest *m = message_new(a, &etcdserverpb__txn_request__descriptor);
	m->n_compare = t->n_compares;
	m->compare = arena_array(a, Etcdserverpb__Compare *, t->n_compares);
	for (size_t i = 0; i < t->n_compares; i++) {
		m->compare[i] = encode_compare(a, &t->compares[i]);
	}
	m->n_success = t->n_success;
	m->success = encode_steps(a, t->success, t->n_success);
	m->n_failure = t->n_failure;
	m->failure = encode_steps(a, t->failure, t->n_failure);
	return &m->base;
}

const ProtobufCMessage *etcd_encode_compact(struct arena *a, const struct storage_op *op)
{
	const struct storage_compact *c = container_of(op, const struct storage_compact, op);
	Etcdserverpb__CompactionRequest *m = message_new(a, &etcdserverpb__compaction_request__descriptor);
	m->revision = c->at_revision;
	return &m->base;
}

const ProtobufCMessage *etcd_encode_status(struct arena *a, const struct storage_op *op)
{
	(void)op;
	return message_new(a, &etcdserverpb__status_request__descriptor);
}

const ProtobufCMessage *etcd_encode_grant(struct arena *a, const struct storage_op *op)
{
	const struct storage_lease *l = container_of(op, const struct storage_lease, op);
	Etcdserverpb__LeaseGrantRequest *m = message_new(a, &etcdserverpb__lease_grant_request__descriptor);
	m->id = l->id;
	m->ttl = l->ttl_s;
	return &m->base;
}

const ProtobufCMessage *etcd_encode_keep_alive(struct arena *a, const struct storage_op *op)
{
	const struct storage_lease *l = container_of(op, const struct storage_lease, op);
	Etcdserverpb__LeaseKeepAliveRequest *m = message_new(a, &etcdserverpb__lease_keep_alive_request__descriptor);
	m->id = l->id;
	return &m->base;
}

const ProtobufCMessage *etcd_encode_revoke(struct arena *a, const struct storage_op *op)
{
	const struct storage_lease *l = container_of(op, const struct storage_lease, op);
	Etcdserverpb__LeaseRevokeRequest *m = message_new(a, &etcdserverpb__lease_revoke_request__descriptor);
	m->id = l->id;
	return &m->base;
}

const ProtobufCMessage *etcd_encode_watch(struct arena *a, const struct storage_watch *w, int64_t start_revision)
{
	assert(start_revision >= 0 && w->key.n > 0);
	Etcdserverpb__WatchCreateRequest *create = message_new(a, &etcdserverpb__watch_create_request__descriptor);
	create->key = bytes_of(w->key);
	create->range_end = bytes_of(w->range_end);
	create->start_revision = start_revision;
	/* Without fragments, one revision with many changes could exceed what gRPC takes. */
	create->fragment = true;
	Etcdserverpb__WatchRequest *m = message_new(a, &etcdserverpb__watch_request__descriptor);
	m->request_union_case = ETCDSERVERPB__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST;
	m->create_request = create;
	return &m->base;
}

/* ---- answers ---- */

static int64_t header_revision(const Etcdserverpb__ResponseHeader *header)
{
	return header ? header->revision : 0;
}

static void decode_header(struct storage_op *op, const Etcdserverpb__ResponseHeader *header)
{
	op->revision = header_revision(header);
	op->cluster = header ? header->cluster_id : 0;
}

static void decode_kv(struct storage_kv *ret, const Mvccpb__KeyValue *m)
{
	*ret = (struct storage_kv){
		.key = str_of_bytes(m->key),
		.value = str_of_bytes(m->value),
		.create_revision = m->create_revision,
		.mod_revision = m->mod_revision,
		.version = m->version,
		.lease = m->lease,
	};
}

static struct storage_kv *decode_kvs(struct arena *a, Mvccpb__KeyValue *const *list, size_t n)
{
	struct storage_kv *kvs = arena_alloc(a, n * sizeof(*kvs));
	for (size_t i = 0; i < n; i++) {
		decode_kv(&kvs[i], list[i]);
	}
	return kvs;
}

enum storage_result etcd_decode_range(struct storage_op *op, struct str body)
{
	struct storage_range *r = container_of(op, struct storage_range, op);
	const Etcdserverpb__RangeResponse *m = message_unpack(&op->arena, &etcdserverpb__range_response__descriptor, body);
	if (!m) {
		return STORAGE_ERROR;
	}
	decode_header(op, m->header);
	r->kvs = decode_kvs(&op->arena, m->kvs, m->n_kvs);
	r->n_kvs = m->n_kvs;
	r->has_more = m->more;
	r->count = m->count;
	return STORAGE_OK;
}

static bool decode_get(struct arena *a, struct storage_step *step, const Etcdserverpb__ResponseOp *m)
{
	if (m->response_case != ETCDSERVERPB__RESPONSE_OP__RESPONSE_RESPONSE_RANGE) {
		return false;
	}
	step->kvs = decode_kvs(a, m->response_range->kvs, m->response_range->n_kvs);
	step->n_kvs = m->response_range->n_kvs;
	step->count = m->response_range->count;
	return true;
}

static bool decode_put(struct arena *a, struct storage_step *step, const Etcdserverpb__ResponseOp *m)
{
	(void)a;
	(void)step;
	return m->response_case == ETCDSERVERPB__RESPONSE_OP__RESPONSE_RESPONSE_PUT;
}

static bool decode_delete(struct arena *a, struct storage_step *step, const Etcdserverpb__ResponseOp *m)
{
	(void)a;
	if (m->response_case != ETCDSERVERPB__RESPONSE_OP__RESPONSE_RESPONSE_DELETE_RANGE) {
		return false;
	}
	step->count = m->response_delete_range->deleted;
	return true;
}

static bool decode_steps(struct arena *a, struct storage_step *steps, size_t n, Etcdserverpb__ResponseOp *const *list)
{
	static bool (*const decoders[])(struct arena *, struct storage_step *, const Etcdserverpb__ResponseOp *) = {
		[STEP_GET] = decode_get,
		[STEP_PUT] = decode_put,
		[STEP_DELETE] = decode_delete,
	};
	for (size_t i = 0; i < n; i++) {
		if (!decoders[steps[i].kind](a, &steps[i], list[i])) {
			return false;
		}
	}
	return true;
}

enum storage_result etcd_decode_txn(struct storage_op *op, struct str body)
{
	struct storage_txn *t = container_of(op, struct storage_txn, op);
	const Etcdserverpb__TxnResponse *m = message_unpack(&op->arena, &etcdserverpb__txn_response__descriptor, body);
	if (!m) {
		return STORAGE_ERROR;
	}
	decode_header(op, m->header);
	t->succeeded = m->succeeded;
	struct storage_step *steps = m->succeeded ? t->success : t->failure;
	size_t n = m->succeeded ? t->n_success : t->n_failure;
	bool is_sound = m->n_responses == n && decode_steps(&op->arena, steps, n, m->responses);
	return is_sound ? STORAGE_OK : STORAGE_ERROR;
}

enum storage_result etcd_decode_compact(struct storage_op *op, struct str body)
{
	const Etcdserverpb__CompactionResponse *m =
		message_unpack(&op->arena, &etcdserverpb__compaction_response__descriptor, body);
	decode_header(op, m ? m->header : NULL);
	return m ? STORAGE_OK : STORAGE_ERROR;
}

enum storage_result etcd_decode_status(struct storage_op *op, struct str body)
{
	struct storage_status *s = container_of(op, struct storage_status, op);
	const Etcdserverpb__StatusResponse *m = message_unpack(&op->arena, &etcdserverpb__status_response__descriptor, body);
	if (!m) {
		return STORAGE_ERROR;
	}
	decode_header(op, m->header);
	s->version = m->version;
	s->db_size = m->dbsize;
	s->db_quota = m->dbsizequota;
	s->leader = m->leader;
	for (size_t i = 0; i < m->n_errors; i++) { /* "memberID:1 alarm:NOSPACE" */
		s->has_nospace |= strstr(m->errors[i], "NOSPACE") != NULL;
		s->has_corrupt |= strstr(m->errors[i], "CORRUPT") != NULL;
	}
	return STORAGE_OK;
}

enum storage_result etcd_decode_grant(struct storage_op *op, struct str body)
{
	struct storage_lease *l = container_of(op, struct storage_lease, op);
	const Etcdserverpb__LeaseGrantResponse *m =
		message_unpack(&op->arena, &etcdserverpb__lease_grant_response__descriptor, body);
	if (!m) {
		return STORAGE_ERROR;
	}
	decode_header(op, m->header);
	l->id = m->id;
	l->ttl_s = m->ttl;
	return STORAGE_OK;
}

enum storage_result etcd_decode_keep_alive(struct storage_op *op, struct str body)
{
	struct storage_lease *l = container_of(op, struct storage_lease, op);
	const Etcdserverpb__LeaseKeepAliveResponse *m =
		message_unpack(&op->arena, &etcdserverpb__lease_keep_alive_response__descriptor, body);
	if (!m) {
		return STORAGE_ERROR;
	}
	decode_header(op, m->header);
	l->ttl_s = m->ttl;
	/* etcd reports an unknown lease only like this. */
	return m->ttl > 0 ? STORAGE_OK : STORAGE_LEASE_GONE;
}

enum storage_result etcd_decode_revoke(struct storage_op *op, struct str body)
{
	const Etcdserverpb__LeaseRevokeResponse *m =
		message_unpack(&op->arena, &etcdserverpb__lease_revoke_response__descriptor, body);
	decode_header(op, m ? m->header : NULL);
	return m ? STORAGE_OK : STORAGE_ERROR;
}

/* Checks the order that etcd promises, and on which everything above watches relies. */
static bool are_in_order(const struct storage_event *events, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (events[i].kv.mod_revision < events[i - 1].kv.mod_revision) {
			return false;
		}
	}
	return true;
}

static bool decode_event(struct storage_event *ret, const Mvccpb__Event *m)
{
	if (!m->kv) {
		return false;
	}
	ret->type = m->type == MVCCPB__EVENT__EVENT_TYPE__DELETE ? EVENT_DELETE : EVENT_PUT;
	decode_kv(&ret->kv, m->kv);
	return true;
}

bool etcd_decode_watch(struct etcd_watch_answer *ret, struct arena *a, struct str body)
{
	const Etcdserverpb__WatchResponse *m = message_unpack(a, &etcdserverpb__watch_response__descriptor, body);
	if (!m) {
		return false;
	}
	struct storage_event *events = arena_array(a, struct storage_event, m->n_events);
	for (size_t i = 0; i < m->n_events; i++) {
		if (!decode_event(&events[i], m->events[i])) {
			return false;
		}
	}
	if (!are_in_order(events, m->n_events)) {
		return false;
	}
	*ret = (struct etcd_watch_answer){
		.revision = header_revision(m->header),
		.cluster = m->header ? m->header->cluster_id : 0,
		.is_progress = m->watch_id == -1 && !m->created && !m->canceled,
		.is_created = m->created,
		.is_canceled = m->canceled,
		.is_fragment = m->fragment,
		.compact_revision = m->compact_revision,
		.cancel_reason = m->cancel_reason,
		.events = events,
		.n_events = m->n_events,
	};
	return true;
}

/* ---- errors ----
 *
 * etcd's codes do not distinguish a refusal from a loss: UNAVAILABLE is both. Its texts do, so
 * rules look for those first, in order, and the codes alone come last. An error that matches no
 * rule counts as "perhaps" for a write: after a wrong "no" a client would write twice. */

/* https://github.com/grpc/grpc/blob/master/doc/statuscodes.md; <grpc/status.h> has them too, but
 * only etcd_client.c may include it. */
enum status_code {
	ANY = -1,
	CODE_OK = 0,
	CODE_CANCELLED = 1,
	CODE_INVALID_ARGUMENT = 3,
	CODE_DEADLINE_EXCEEDED = 4,
	CODE_NOT_FOUND = 5,
	CODE_ALREADY_EXISTS = 6,
	CODE_PERMISSION_DENIED = 7,
	CODE_FAILED_PRECONDITION = 9,
	CODE_OUT_OF_RANGE = 11,
	CODE_UNIMPLEMENTED = 12,
	CODE_UNAVAILABLE = 14,
	CODE_UNAUTHENTICATED = 16,
};

struct rule {
	int code;
	const char *text; /* occurs in the details; NULL: whatever they are */
	enum storage_result read;
	enum storage_result write;
	bool is_local;
};

/* The first rule that fits counts. Texts: etcd's api/v3rpc/rpctypes/error.go, grpc-go's
 * rpc_util.go, gRPC core's message_size_filter.cc and pick_first.cc. */
static const struct rule rules[] = {
	{CODE_OK, NULL, STORAGE_OK, STORAGE_OK, false},

	{ANY, "required revision has been compacted", STORAGE_COMPACTED, STORAGE_COMPACTED, false},
	{ANY, "required revision is a future revision", STORAGE_FUTURE, STORAGE_FUTURE, false},
	{ANY, "requested lease not found", STORAGE_LEASE_GONE, STORAGE_LEASE_GONE, false},

	{ANY, "etcdserver: request is too large", STORAGE_TOO_LARGE, STORAGE_TOO_LARGE, false},
	{ANY, "grpc: received message larger than max", STORAGE_TOO_LARGE, STORAGE_TOO_LARGE, false},
	/* The answer is too large for etcd to send, or (gRPC core's capital R) for annals to
	 * take. A write has been carried out by then. */
	{ANY, "grpc: trying to send message larger than max", STORAGE_TOO_LARGE, STORAGE_UNKNOWN, false},
	{ANY, "Received message larger than max", STORAGE_TOO_LARGE, STORAGE_UNKNOWN, false},

	/* Never sent. */
	{CODE_UNAVAILABLE, "failed to connect to all addresses", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	{CODE_UNAVAILABLE, "DNS resolution failed", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	/* Refused before anything was proposed: by the interceptor that looks for a leader, by
	 * raft without one, or by the bound on proposals. */
	{ANY, "etcdserver: no leader", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	{ANY, "raft proposal dropped", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	{ANY, "etcdserver: too many requests", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, false},
	/* The write that crosses the quota gets this answer although it is applied
	 * (server/etcdserver/apply: quotaApplierV3). Later ones are refused in the same words. */
	{ANY, "database space exceeded", STORAGE_UNAVAILABLE, STORAGE_NO_SPACE, false},

	{ANY, "etcdserver: request timed out", STORAGE_TIMEOUT, STORAGE_TIMEOUT, true},
	{CODE_DEADLINE_EXCEEDED, NULL, STORAGE_TIMEOUT, STORAGE_TIMEOUT, true},
	{CODE_UNAVAILABLE, NULL, STORAGE_UNAVAILABLE, STORAGE_UNKNOWN, true},
	{CODE_CANCELLED, NULL, STORAGE_UNAVAILABLE, STORAGE_UNKNOWN, true},

	{CODE_INVALID_ARGUMENT, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_NOT_FOUND, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_ALREADY_EXISTS, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_PERMISSION_DENIED, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_FAILED_PRECONDITION, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_OUT_OF_RANGE, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_UNIMPLEMENTED, NULL, STORAGE_ERROR, STORAGE_ERROR, false},
	{CODE_UNAUTHENTICATED, NULL, STORAGE_ERROR, STORAGE_ERROR, false},

	{ANY, NULL, STORAGE_ERROR, STORAGE_UNKNOWN, false},
};

static bool rule_fits(const struct rule *rule, int code, struct str text)
{
	return (rule->code == ANY || rule->code == code) && (!rule->text || str_contains(text, str_of(rule->text)));
}

struct etcd_verdict etcd_judge(int code, struct str text, bool is_read)
{
	const struct rule *rule = rules;
	while (!rule_fits(rule, code, text)) {
		rule++;
		assert(rule < rules + ARRAY_SIZE(rules)); /* the last one fits everything */
	}
	return (struct etcd_verdict){.result = is_read ? rule->read : rule->write, .is_local = rule->is_local};
}
