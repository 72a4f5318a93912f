/* Calls and streams to etcd over gRPC core; only etcd_client.c uses that library.
 *
 * One thread, the completion thread, runs every callback, task and timer of a client. Each endpoint
 * has two channels, and gRPC connects those that are used. One is for calls. The other has a
 * connection of its own for watches and leases, which a queue of calls must not hold up. Each lane
 * uses one endpoint until that fails, then the next.
 *
 * Calls in flight are not bounded here: callers (server/, by its in-flight limits) have a bound,
 * and etcd has its own. */
#ifndef STORAGE_ETCD_ETCD_CLIENT_H
#define STORAGE_ETCD_ETCD_CLIENT_H

#include "base/list.h"
#include "storage/etcd/etcd.h"

#include <protobuf-c/protobuf-c.h>

struct etcd_client;

enum etcd_lane { LANE_CALLS, LANE_STREAMS, N_LANES };

struct etcd_method {
	const char *path;
	enum etcd_lane lane;
	bool is_read;      /* may be sent again when its answer is lost */
	bool wants_leader; /* a member that knows no leader refuses it, with certainty */
};

struct etcd_reply {
	enum storage_result result;
	const char *message; /* never NULL */
	struct str body;     /* a protobuf message, where result is STORAGE_OK */
};

int etcd_client_new(struct etcd_client **ret, const struct storage_etcd_options *options, struct buf *err);
/* Ends everything under way with STORAGE_CANCELED first. Not on the completion thread. */
struct etcd_client *etcd_client_free(struct etcd_client *c);

/* Sends one request, which has one answer; from any thread. The request is packed before this
 * returns. `done` may use the reply only during the call. timeout_ms 0: the client's. */
void etcd_client_call(struct etcd_client *c, const struct etcd_method *method, const ProtobufCMessage *request,
	int64_t timeout_ms, void (*done)(void *ctx, const struct etcd_reply *reply), void *ctx);

/* A stream: one request, any number of answers, on the completion thread alone. on_end comes
 * last, also after etcd_stream_cancel(); the stream is freed by then. */
struct etcd_stream;
struct etcd_stream_handler {
	void (*on_message)(void *ctx, struct str body);
	void (*on_end)(void *ctx, enum storage_result why, const char *message);
};
/* Returns NULL when the client is being freed; then no callback comes. */
struct etcd_stream *etcd_stream_open(struct etcd_client *c, const struct etcd_method *method, const ProtobufCMessage *request,
	const struct etcd_stream_handler *handler, void *ctx);
void etcd_stream_cancel(struct etcd_stream *s);

/* A task for the completion thread. It is embedded in its owner, and in one queue at a time. */
struct etcd_task {
	void (*run)(struct etcd_task *task);
	struct list node;
	int64_t due_ms; /* clock_mono_ms() */
};
/* Runs a task soon; from any thread. */
void etcd_client_post(struct etcd_client *c, struct etcd_task *task);
/* Runs a task later; on the completion thread. When the client is being freed, the delay is
 * dropped. */
void etcd_client_schedule(struct etcd_client *c, struct etcd_task *task, int64_t delay_ms);
/* Returns how long to wait before another try, after a wait of last_ms; 0: the first. */
int64_t etcd_client_backoff_ms(const struct etcd_client *c, int64_t last_ms);

#endif
