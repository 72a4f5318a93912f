/* Everything that happens comes out of one completion queue: answers, posted tasks, and timers
 * between two events. So streams and timers need no lock; the lock is only for what other
 * threads add. gRPC owns the memory of a batch until its tag comes back: until then the client
 * may only cancel it. */
#include "storage/etcd/etcd_client.h"

#include "base/clock.h"
#include "base/thread.h"
#include "storage/etcd/etcd_codec.h"
#include "storage/etcd/etcd_endpoint.h"

#include <assert.h>
#include <errno.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	TIMEOUT_DEFAULT_MS = 10000,
	/* Below 5 s etcd hangs up (GOAWAY too_many_pings); without pings a stopped etcd goes
	 * unnoticed. */
	KEEPALIVE_EVERY_MS = 10000,
	/* gRPC's own backoff would grow to two minutes. */
	BACKOFF_FIRST_MS = 100,
	BACKOFF_MAX_MS = 1000,
	/* gRPC's "minimal backoff" is how long one attempt, handshakes included, may take. */
	CONNECT_TIMEOUT_MS = 2000,
	/* The least time between look-ups of a host name when connecting fails. gRPC's default
	 * is 30 s, in which an etcd that has moved would not be found. */
	LOOK_UP_EVERY_MS = 1000,
	/* A larger answer is refused here; callers ask for smaller pages. */
	RECEIVE_MAX = 256 << 20,
	LOOK_AT_FILES_S = 5, /* certificates and keys; a Secret reaches a pod within a minute or two */
	SHUTDOWN_WAIT_MS = 5000,
};

/* A tag of the completion queue. The thread that starts an operation writes `fire` last, and the
 * completion thread reads it first. gRPC hands the tag over, with locks that ThreadSanitizer
 * cannot see. */
struct tag;
typedef void fire_fn(struct tag *tag, bool ok);
struct tag {
	_Atomic(fire_fn *) fire;
};

static void tag_arm(struct tag *tag, fire_fn *fire)
{
	atomic_store_explicit(&tag->fire, fire, memory_order_release);
}

static void tag_fire(struct tag *tag, bool ok)
{
	fire_fn *fire = atomic_load_explicit(&tag->fire, memory_order_acquire);
	fire(tag, ok);
}

struct lane {
	grpc_channel **channels; /* by endpoint */
	atomic_uint current;
};

struct etcd_client {
	struct lane lanes[N_LANES];
	unsigned n_endpoints;
	int64_t timeout_ms, backoff_max_ms;
	grpc_completion_queue *queue;
	grpc_metadata leader_header;
	pthread_t thread;
	atomic_bool is_closing;
	struct list timers; /* etcd_task.node; used by the completion thread */
	struct tag wake_tag;

	pthread_mutex_t lock; /* guards the fields below; only grpc_call_cancel is called while it is held */
	struct list flights;  /* flight.node */
	struct list tasks;    /* etcd_task.node */
	bool is_woken;        /* wake_tag is on its way */
};

/* The common part of a call and a stream: one gRPC call to one endpoint. */
struct flight {
	struct list node;
	struct etcd_client *client;
	const struct etcd_method *method;
	unsigned endpoint;
	grpc_call *call;
	grpc_metadata_array headers, trailers;
	grpc_byte_buffer *sent; /* sending empties it, so it serves one flight */
	grpc_byte_buffer *received;
	grpc_status_code status;
	grpc_slice details;
	bool is_canceled; /* by this client */
};

struct call {
	struct tag tag;
	struct flight flight;
	grpc_slice request;
	gpr_timespec deadline;
	unsigned n_attempts;
	void (*done)(void *ctx, const struct etcd_reply *reply);
	void *ctx;
};

struct etcd_stream {
	struct tag started, ended, message; /* one for each batch under way */
	unsigned n_pending;                 /* batches */
	struct flight flight;
	const struct etcd_stream_handler *handler;
	void *ctx;
};

/* ---- requests and answers ---- */

static grpc_slice request_pack(const ProtobufCMessage *message)
{
	grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
	protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
	return slice;
}

/* Returns a received message as one slice, which the caller unrefs. It copies only when the
 * message came in pieces. */
static grpc_slice received_flatten(grpc_byte_buffer *buffer)
{
	if (buffer->type == GRPC_BB_RAW && buffer->data.raw.compression == GRPC_COMPRESS_NONE &&
		buffer->data.raw.slice_buffer.count == 1) {
		return grpc_slice_ref(buffer->data.raw.slice_buffer.slices[0]);
	}
	grpc_byte_buffer_reader reader;
	if (!grpc_byte_buffer_reader_init(&reader, buffer)) {
		return grpc_empty_slice();
	}
	grpc_slice whole = grpc_byte_buffer_reader_readall(&reader);
	grpc_byte_buffer_reader_destroy(&reader);
	return whole;
}

static struct str slice_str(const grpc_slice *slice)
{
	return (struct str){(const char *)GRPC_SLICE_START_PTR(*slice), GRPC_SLICE_LENGTH(*slice)};
}

/* ---- flights ---- */

static bool client_is_closing(struct etcd_client *c)
{
	return atomic_load_explicit(&c->is_closing, memory_order_acquire);
}

static void lane_leave(struct etcd_client *c, struct lane *lane, unsigned endpoint)
{
	unsigned expected = endpoint;
	atomic_compare_exchange_strong(&lane->current, &expected, (endpoint + 1) % c->n_endpoints);
}

/* Returns false when the client is being freed; then nothing is open. */
static bool flight_open(
	struct flight *f, struct etcd_client *c, const struct etcd_method *method, grpc_slice request, gpr_timespec deadline)
{
	struct lane *lane = &c->lanes[method->lane];
	unsigned endpoint = atomic_load(&lane->current);
	*f = (struct flight){
		.client = c,
		.method = method,
		.endpoint = endpoint,
		.details = grpc_empty_slice(),
		.call = grpc_channel_create_call(lane->channels[endpoint], NULL, GRPC_PROPAGATE_DEFAULTS, c->queue,
			grpc_slice_from_static_string(method->path), NULL, deadline, NULL),
	};
	grpc_metadata_array_init(&f->headers);
	grpc_metadata_array_init(&f->trailers);

	pthread_mutex_lock(&c->lock);
	bool is_open = !client_is_closing(c);
	if (is_open) {
		list_append(&c->flights, &f->node);
	}
	pthread_mutex_unlock(&c->lock);

	if (is_open) {
		f->sent = grpc_raw_byte_buffer_create(&request, 1);
	} else {
		grpc_call_unref(f->call);
	}
	return is_open;
}

/* Frees a flight, after its last event. */
static void flight_close(struct flight *f)
{
	assert(f->call);
	pthread_mutex_lock(&f->client->lock);
	list_remove(&f->node);
	pthread_mutex_unlock(&f->client->lock);

	grpc_byte_buffer_destroy(f->sent);
	if (f->received) {
		grpc_byte_buffer_destroy(f->received);
	}
	grpc_metadata_array_destroy(&f->headers);
	grpc_metadata_array_destroy(&f->trailers);
	grpc_slice_unref(f->details);
	grpc_call_unref(f->call);
}

static void flight_start_batch(struct flight *f, const grpc_op *ops, size_t n, struct tag *tag, fire_fn *fire)
{
	grpc_call *call = f->call; /* read before the flight is handed over */
	tag_arm(tag, fire);
	grpc_call_error e = grpc_call_start_batch(call, ops, n, tag, NULL);
	assert(e == GRPC_CALL_OK);
	(void)e;
}

static grpc_op flight_send_headers(struct flight *f)
{
	grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};
	if (f->method->wants_leader) {
		op.data.send_initial_metadata.count = 1;
		op.data.send_initial_metadata.metadata = &f->client->leader_header;
	}
	return op;
}

static grpc_op flight_send(struct flight *f)
{
	return (grpc_op){.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = f->sent};
}

static grpc_op flight_receive_headers(struct flight *f)
{
	return (grpc_op){
		.op = GRPC_OP_RECV_INITIAL_METADATA,
		.data.recv_initial_metadata.recv_initial_metadata = &f->headers,
	};
}

static grpc_op flight_receive(struct flight *f)
{
	return (grpc_op){.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &f->received};
}

static grpc_op flight_receive_status(struct flight *f)
{
	grpc_op op = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT};
	op.data.recv_status_on_client.trailing_metadata = &f->trailers;
	op.data.recv_status_on_client.status = &f->status;
	op.data.recv_status_on_client.status_details = &f->details;
	return op;
}

/* Judges how a flight ended. If the endpoint is at fault, its lane leaves it. */
static struct etcd_verdict flight_judge(struct flight *f)
{
	struct etcd_client *c = f->client;
	if (f->status == GRPC_STATUS_CANCELLED && (f->is_canceled || client_is_closing(c))) {
		return (struct etcd_verdict){.result = STORAGE_CANCELED};
	}
	struct etcd_verdict verdict = etcd_judge((int)f->status, slice_str(&f->details), f->method->is_read);
	if (verdict.is_local) {
		lane_leave(c, &c->lanes[f->method->lane], f->endpoint);
	}
	return verdict;
}

/* ---- calls ---- */

static struct call *call_free(struct call *call)
{
	grpc_slice_unref(call->request);
	return mem_free(call);
}

/* A refusal that needs no round trip. It is delivered on the completion thread all the same. */
struct refusal {
	struct etcd_task task;
	void (*done)(void *ctx, const struct etcd_reply *reply);
	void *ctx;
};

static void refusal_run(struct etcd_task *task)
{
	struct refusal *refusal = container_of(task, struct refusal, task);
	refusal->done(refusal->ctx, &(struct etcd_reply){.result = STORAGE_CANCELED, .message = "the store is being closed"});
	mem_free(refusal);
}

static void call_refuse(struct call *call, struct etcd_client *c)
{
	struct refusal *refusal = mem_new(struct refusal);
	*refusal = (struct refusal){.task = {.run = refusal_run}, .done = call->done, .ctx = call->ctx};
	call_free(call);
	etcd_client_post(c, &refusal->task);
}

static void call_fire(struct tag *tag, bool ok);

/* Starts a call. Once its batch is started, the call belongs to the completion thread. */
static void call_start(struct call *call, struct etcd_client *c, const struct etcd_method *method)
{
	struct flight *f = &call->flight;
	if (!flight_open(f, c, method, call->request, call->deadline)) {
		call_refuse(call, c);
		return;
	}
	call->n_attempts++;
	grpc_op ops[] = {
		flight_send_headers(f),
		flight_send(f),
		{.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
		flight_receive_headers(f),
		flight_receive(f),
		flight_receive_status(f),
	};
	flight_start_batch(f, ops, ARRAY_SIZE(ops), &call->tag, call_fire);
}

/* Returns true when the call may be sent again. Reads, and writes that have certainly not been
 * executed, try the next endpoint. A read whose only endpoint hung up tries that again, since
 * gRPC reconnects by itself. */
static bool call_may_go_again(const struct call *call, struct etcd_verdict verdict)
{
	bool is_read = call->flight.method->is_read;
	unsigned limit = MAX(call->flight.client->n_endpoints, is_read ? 2U : 1U);
	return verdict.is_local && (is_read || storage_result_is_certain(verdict.result)) && call->n_attempts < limit &&
		gpr_time_cmp(gpr_now(GPR_CLOCK_MONOTONIC), call->deadline) < 0;
}

static void call_answer(struct call *call, enum storage_result result)
{
	struct flight *f = &call->flight;
	char *text = grpc_slice_to_c_string(f->details);
	struct etcd_reply reply = {.result = result, .message = result == STORAGE_OK ? "" : text};
	grpc_slice body = grpc_empty_slice();
	if (result == STORAGE_OK && f->received) {
		body = received_flatten(f->received);
		reply.body = slice_str(&body);
	} else if (result == STORAGE_OK) {
		reply.result = f->method->is_read ? STORAGE_ERROR : STORAGE_UNKNOWN;
		reply.message = "etcd ended the call without an answer";
	}
	call->done(call->ctx, &reply);
	grpc_slice_unref(body);
	gpr_free(text);
}

static void call_fire(struct tag *tag, bool ok)
{
	struct call *call = container_of(tag, struct call, tag);
	assert(ok); /* a batch that asks for the status cannot fail */
	(void)ok;

	struct flight *f = &call->flight;
	struct etcd_verdict verdict = flight_judge(f);
	if (call_may_go_again(call, verdict)) {
		flight_close(f);
		call_start(call, f->client, f->method);
		return;
	}
	call_answer(call, verdict.result);
	flight_close(f);
	call_free(call);
}

void etcd_client_call(struct etcd_client *c, const struct etcd_method *method, const ProtobufCMessage *request,
	int64_t timeout_ms, void (*done)(void *ctx, const struct etcd_reply *reply), void *ctx)
{
	assert(done && timeout_ms >= 0 && method->lane < N_LANES);
	gpr_timespec timeout = gpr_time_from_millis(timeout_ms ? timeout_ms : c->timeout_ms, GPR_TIMESPAN);
	struct call *call = mem_alloc(sizeof(*call));
	*call = (struct call){
		.request = request_pack(request),
		.deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), timeout),
		.done = done,
		.ctx = ctx,
	};
	call_start(call, c, method);
}

/* ---- streams ---- */

static void stream_message(struct tag *tag, bool ok);

static void stream_receive(struct etcd_stream *s)
{
	assert(s->n_pending > 0 && !s->flight.received);
	grpc_op op = flight_receive(&s->flight);
	s->n_pending++;
	flight_start_batch(&s->flight, &op, 1, &s->message, stream_message);
}

static void stream_end(struct etcd_stream *s)
{
	struct flight *f = &s->flight;
	struct etcd_verdict verdict = flight_judge(f);
	char *text = grpc_slice_to_c_string(f->details);
	const struct etcd_stream_handler *handler = s->handler;
	void *ctx = s->ctx;
	flight_close(f);
	mem_free(s);

	handler->on_end(ctx, verdict.result, text);
	gpr_free(text);
}

static void stream_drop(struct etcd_stream *s)
{
	assert(s->n_pending > 0);
	if (--s->n_pending == 0) {
		stream_end(s);
	}
}

static void stream_started(struct tag *tag, bool ok)
{
	(void)ok; /* the status says why it failed */
	stream_drop(container_of(tag, struct etcd_stream, started));
}

static void stream_ended(struct tag *tag, bool ok)
{
	(void)ok;
	stream_drop(container_of(tag, struct etcd_stream, ended));
}

static void stream_message(struct tag *tag, bool ok)
{
	struct etcd_stream *s = container_of(tag, struct etcd_stream, message);
	struct flight *f = &s->flight;
	if (ok && f->received) {
		grpc_slice body = received_flatten(f->received);
		grpc_byte_buffer_destroy(f->received);
		f->received = NULL;
		s->handler->on_message(s->ctx, slice_str(&body));
		grpc_slice_unref(body);
		stream_receive(s);
	}
	stream_drop(s);
}

struct etcd_stream *etcd_stream_open(struct etcd_client *c, const struct etcd_method *method, const ProtobufCMessage *request,
	const struct etcd_stream_handler *handler, void *ctx)
{
	assert(handler->on_message && handler->on_end && method->lane == LANE_STREAMS);
	struct etcd_stream *s = mem_alloc(sizeof(*s));
	*s = (struct etcd_stream){
		.n_pending = 2,
		.handler = handler,
		.ctx = ctx,
	};
	struct flight *f = &s->flight;
	grpc_slice packed = request_pack(request);
	bool is_open = flight_open(f, c, method, packed, gpr_inf_future(GPR_CLOCK_MONOTONIC));
	grpc_slice_unref(packed);
	if (!is_open) {
		return mem_free(s);
	}
	grpc_op status = flight_receive_status(f);
	grpc_op start[] = {flight_send_headers(f), flight_send(f), flight_receive_headers(f)};
	flight_start_batch(f, &status, 1, &s->ended, stream_ended);
	flight_start_batch(f, start, ARRAY_SIZE(start), &s->started, stream_started);
	stream_receive(s);
	return s;
}

void etcd_stream_cancel(struct etcd_stream *s)
{
	s->flight.is_canceled = true;
	grpc_call_cancel(s->flight.call, NULL);
}

/* ---- the completion thread ---- */

static void client_woken(struct tag *tag, bool ok);

/* Wakes the completion thread. gRPC core has no public alarm; a query for a channel's state
 * change with a deadline in the past serves as one. */
static void client_wake(struct etcd_client *c)
{
	grpc_channel *channel = c->lanes[LANE_CALLS].channels[0];
	tag_arm(&c->wake_tag, client_woken);
	grpc_channel_watch_connectivity_state(channel, grpc_channel_check_connectivity_state(channel, 0),
		gpr_time_0(GPR_CLOCK_MONOTONIC), c->queue, &c->wake_tag);
}

void etcd_client_post(struct etcd_client *c, struct etcd_task *task)
{
	assert(task->run);
	pthread_mutex_lock(&c->lock);
	list_append(&c->tasks, &task->node);
	bool must_wake = !c->is_woken;
	c->is_woken = true;
	pthread_mutex_unlock(&c->lock);

	if (must_wake) {
		client_wake(c);
	}
}

static void tasks_run(struct list *tasks)
{
	while (!list_is_empty(tasks)) {
		struct etcd_task *task = list_entry(tasks->next, struct etcd_task, node);
		list_remove(&task->node);
		task->run(task);
	}
}

static void client_woken(struct tag *tag, bool ok)
{
	(void)ok;
	struct etcd_client *c = container_of(tag, struct etcd_client, wake_tag);
	struct list tasks = LIST_INIT(tasks);
	pthread_mutex_lock(&c->lock);
	assert(c->is_woken);
	c->is_woken = false;
	list_splice(&tasks, &c->tasks);
	pthread_mutex_unlock(&c->lock);
	tasks_run(&tasks);
}

void etcd_client_schedule(struct etcd_client *c, struct etcd_task *task, int64_t delay_ms)
{
	assert(task->run && delay_ms >= 0 && pthread_equal(pthread_self(), c->thread));
	task->due_ms = clock_mono_ms() + delay_ms;
	list_append(&c->timers, &task->node);
}

int64_t etcd_client_backoff_ms(const struct etcd_client *c, int64_t last_ms)
{
	assert(last_ms >= 0);
	return MIN(last_ms ? 2 * last_ms : BACKOFF_FIRST_MS, c->backoff_max_ms);
}

static void client_run_timers(struct etcd_client *c)
{
	if (list_is_empty(&c->timers)) {
		return;
	}
	int64_t now_ms = client_is_closing(c) ? INT64_MAX : clock_mono_ms();
	struct list due = LIST_INIT(due);
	list_for_each_safe(it, &c->timers) {
		if (list_entry(it, struct etcd_task, node)->due_ms <= now_ms) {
			list_remove(it);
			list_append(&due, it);
		}
	}
	tasks_run(&due);
}

static gpr_timespec client_next_timer(const struct etcd_client *c)
{
	if (list_is_empty(&c->timers)) {
		return gpr_inf_future(GPR_CLOCK_MONOTONIC);
	}
	int64_t next_ms = INT64_MAX;
	list_for_each(it, &c->timers) {
		next_ms = MIN(next_ms, list_entry(it, struct etcd_task, node)->due_ms);
	}
	gpr_timespec delay = gpr_time_from_millis(MAX(next_ms - clock_mono_ms(), 0), GPR_TIMESPAN);
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), delay);
}

static bool client_is_finished(struct etcd_client *c)
{
	if (!client_is_closing(c) || !list_is_empty(&c->timers)) {
		return false;
	}
	pthread_mutex_lock(&c->lock);
	bool is_finished = list_is_empty(&c->flights) && list_is_empty(&c->tasks);
	pthread_mutex_unlock(&c->lock);
	return is_finished;
}

static void *client_run(void *p)
{
	struct etcd_client *c = p;
	while (!client_is_finished(c)) {
		grpc_event event = grpc_completion_queue_next(c->queue, client_next_timer(c), NULL);
		if (event.type == GRPC_OP_COMPLETE) {
			tag_fire(event.tag, event.success);
		}
		client_run_timers(c);
	}
	return NULL;
}

/* ---- birth and death ---- */

/* Checks a file at the start, so that it does not show later as a failed handshake. */
static int check_readable(const char *path, struct buf *err)
{
	struct stat st = {0};
	if (!path) {
		return 0;
	}
	int r = access(path, R_OK) < 0 || stat(path, &st) < 0 ? -errno : st.st_size == 0 ? -ENODATA : 0;
	if (r < 0) {
		buf_printf(err, "cannot read %s: %s", path, strerror(-r));
	}
	return r;
}

/* gRPC reads the files, and again when they have changed, so renewed certificates need no
 * restart. */
static int credentials_new_tls(grpc_channel_credentials **ret, const struct storage_etcd_options *o, struct buf *err)
{
	int r = check_readable(o->ca_file, err);
	r = r ? r : check_readable(o->cert_file, err);
	r = r ? r : check_readable(o->key_file, err);
	if (r < 0) {
		return error_trace(r);
	}
	grpc_tls_credentials_options *options = grpc_tls_credentials_options_create();
	if (o->ca_file || o->cert_file) {
		grpc_tls_certificate_provider *files = grpc_tls_certificate_provider_file_watcher_create(o->key_file,
			o->cert_file, o->ca_file, (unsigned)(o->look_at_files_s ? o->look_at_files_s : LOOK_AT_FILES_S));
		grpc_tls_credentials_options_set_certificate_provider(options, files);
		grpc_tls_certificate_provider_release(files);
	}
	if (o->ca_file) {
		grpc_tls_credentials_options_watch_root_certs(options);
	}
	if (o->cert_file) {
		grpc_tls_credentials_options_watch_identity_key_cert_pairs(options);
	}
	*ret = grpc_tls_credentials_create(options);
	return 0;
}

static int credentials_new(
	grpc_channel_credentials **ret, const struct storage_etcd_options *options, bool is_tls, struct buf *err)
{
	if (is_tls && !options->cert_file != !options->key_file) {
		buf_printf(err, "a client certificate for etcd needs both its file and its key's");
		return -EINVAL;
	}
	if (!is_tls && (options->ca_file || options->cert_file || options->key_file)) {
		buf_printf(err, "certificates are given for etcd, but its endpoints are not https://");
		return -EINVAL;
	}
	if (is_tls) {
		return credentials_new_tls(ret, options, err);
	}
	*ret = grpc_insecure_credentials_create();
	return 0;
}

static int64_t backoff_max(const struct storage_etcd_options *options)
{
	return options->backoff_max_ms ? options->backoff_max_ms : BACKOFF_MAX_MS;
}

static grpc_arg arg_int(const char *key, int value)
{
	return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)key, .value.integer = value};
}

static grpc_channel *channel_new(const char *target, grpc_channel_credentials *credentials,
	const struct storage_etcd_options *options, enum etcd_lane lane)
{
	int keepalive_ms = options->keepalive_ms ? (int)options->keepalive_ms : KEEPALIVE_EVERY_MS;
	int backoff_max_ms = (int)backoff_max(options);
	grpc_arg args[] = {
		arg_int(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms),
		arg_int(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_ms / 2),
		arg_int(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
		arg_int(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0),
		arg_int(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, MIN(backoff_max_ms, (int)BACKOFF_FIRST_MS)),
		arg_int(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, backoff_max_ms),
		arg_int(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, CONNECT_TIMEOUT_MS),
		arg_int(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, LOOK_UP_EVERY_MS),
		arg_int(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, RECEIVE_MAX),
		arg_int(GRPC_ARG_ENABLE_RETRIES, 0),
		arg_int(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
		arg_int(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
		arg_int(GRPC_ARG_ENABLE_CHANNELZ, 0),
		/* Each filter costs every call. etcd compresses only on request, and idle
		 * connections must not end. */
		arg_int(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0),
		arg_int(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
		arg_int(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, INT32_MAX),
		/* gRPC shares connections between channels whose arguments are the same; this one makes them differ. */
		arg_int("annals.lane", (int)lane),
	};
	return grpc_channel_create(target, credentials, &(grpc_channel_args){.num_args = ARRAY_SIZE(args), .args = args});
}

static void endpoints_freep(struct etcd_endpoint **p)
{
	for (struct etcd_endpoint *e = *p; e && e->target; e++) {
		etcd_endpoint_done(e);
	}
	*p = mem_free(*p);
}

/* Returns an array that ends with an endpoint without a target. */
static int endpoints_new(struct etcd_endpoint **ret, const struct storage_etcd_options *options, struct buf *err)
{
	_cleanup_(endpoints_freep) struct etcd_endpoint *endpoints = mem_array(options->n_endpoints + 1, sizeof(*endpoints));
	if (options->n_endpoints == 0) {
		buf_printf(err, "no etcd endpoint is given");
		return -EINVAL;
	}
	for (size_t i = 0; i < options->n_endpoints; i++) {
		int r = etcd_endpoint_init(&endpoints[i], options->endpoints[i], err);
		if (r < 0) {
			return error_trace(r);
		}
		if (endpoints[i].is_tls != endpoints[0].is_tls) {
			buf_printf(err, "etcd endpoints must all be https:// or none of them");
			return -EINVAL;
		}
	}
	*ret = take_ptr(endpoints);
	return 0;
}

/* Discards gRPC's log: what matters is in the status of a call. */
static void discard_log(gpr_log_func_args *args)
{
	(void)args;
}

/* absl::SetMutexDeadlockDetectionMode(kIgnore). Debian builds Abseil with its checks, so gRPC's
 * locks are looked up in a graph of all locks held: a tenth of gRPC's cost. The
 * function has no C interface, and its name contains the version of Abseil's ABI. Where that
 * differs, or where Abseil is a library of its own, the symbol is missing, and the locks stay
 * slow. */
extern void ignore_deadlocks(int mode) __asm__("_ZN4absl7debian329SetMutexDeadlockDetectionModeENS0_15OnDeadlockCycleE")
	__attribute__((weak));

static void make_locks_quick(void)
{
	enum { ABSL_IGNORE = 0 };
	if (ignore_deadlocks) {
		ignore_deadlocks(ABSL_IGNORE);
	}
}

static struct etcd_client *client_new(const struct etcd_endpoint *endpoints, grpc_channel_credentials *credentials,
	const struct storage_etcd_options *options)
{
	struct etcd_client *c = mem_new(struct etcd_client);
	size_t n = options->n_endpoints;
	c->n_endpoints = (unsigned)n;
	c->timeout_ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_DEFAULT_MS;
	c->backoff_max_ms = backoff_max(options);
	c->queue = grpc_completion_queue_create_for_next(NULL);
	c->leader_header = (grpc_metadata){
		.key = grpc_slice_from_static_string("hasleader"),
		.value = grpc_slice_from_static_string("true"),
	};
	list_init(&c->timers);
	list_init(&c->flights);
	list_init(&c->tasks);
	pthread_mutex_init(&c->lock, NULL);
	for (enum etcd_lane lane = 0; lane < N_LANES; lane++) {
		c->lanes[lane].channels = mem_array(n, sizeof(grpc_channel *));
		for (size_t i = 0; i < n; i++) {
			c->lanes[lane].channels[i] = channel_new(endpoints[i].target, credentials, options, lane);
		}
	}
	return c;
}

int etcd_client_new(struct etcd_client **ret, const struct storage_etcd_options *options, struct buf *err)
{
	_cleanup_(endpoints_freep) struct etcd_endpoint *endpoints = NULL;
	int r = endpoints_new(&endpoints, options, err);
	if (r < 0) {
		return error_trace(r);
	}
	gpr_set_log_function(discard_log);
	make_locks_quick();
	grpc_init();
	grpc_channel_credentials *credentials = NULL;
	r = credentials_new(&credentials, options, endpoints[0].is_tls, err);
	if (r < 0) {
		grpc_shutdown();
		return error_trace(r);
	}
	struct etcd_client *c = client_new(endpoints, credentials, options);
	grpc_channel_credentials_release(credentials);

	thread_must_start(&c->thread, "etcd", client_run, c);
	*ret = c;
	return 0;
}

static void client_cancel_all(struct etcd_client *c)
{
	pthread_mutex_lock(&c->lock);
	atomic_store_explicit(&c->is_closing, true, memory_order_release);
	list_for_each(it, &c->flights) {
		grpc_call_cancel(list_entry(it, struct flight, node)->call, NULL);
	}
	bool must_wake = !c->is_woken;
	c->is_woken = true;
	pthread_mutex_unlock(&c->lock);

	if (must_wake) {
		client_wake(c);
	}
}

static void client_drain(grpc_completion_queue *queue)
{
	grpc_completion_queue_shutdown(queue);
	while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type != GRPC_QUEUE_SHUTDOWN) {
	}
	grpc_completion_queue_destroy(queue);
}

struct etcd_client *etcd_client_free(struct etcd_client *c)
{
	if (!c) {
		return NULL;
	}
	assert(!pthread_equal(pthread_self(), c->thread));
	client_cancel_all(c);
	pthread_join(c->thread, NULL);
	assert(list_is_empty(&c->flights) && list_is_empty(&c->tasks) && list_is_empty(&c->timers));

	client_drain(c->queue);
	for (enum etcd_lane lane = 0; lane < N_LANES; lane++) {
		for (unsigned i = 0; i < c->n_endpoints; i++) {
			grpc_channel_destroy(c->lanes[lane].channels[i]);
		}
		mem_free(c->lanes[lane].channels);
	}
	pthread_mutex_destroy(&c->lock);
	grpc_shutdown();
	return mem_free(c);
}

/* grpc_shutdown() leaves its threads to end on their own, and nothing reports when they have. */
void storage_etcd_shutdown(void)
{
	int64_t give_up_ms = clock_mono_ms() + SHUTDOWN_WAIT_MS;
	while (grpc_is_initialized() && clock_mono_ms() < give_up_ms) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}
