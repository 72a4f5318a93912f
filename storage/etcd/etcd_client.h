/* Calls and streams to etcd over gRPC core; etcd_client.c alone knows that library.
 *
 * One thread, the completion thread, runs every callback, task and timer of a client. Each endpoint has two channels, of which gRPC
 * connects those that are used: one for calls; another, with a connection of its own, for watches and leases, which a queue of calls
 * must not hold up. Each lane uses one endpoint until that disappoints, then the next.
 *
 * There is no bound here on calls in flight: those who make them (server/, by its in-flight limits) have one, and etcd has its own.
 */
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
	bool wants_leader; /* to be refused, certainly, by a member that knows no leader */
};

struct etcd_reply {
	enum storage_result result;
	const char *message; /* never NULL */
	struct str body;     /* a protobuf message, where result is STORAGE_OK */
};

int etcd_client_new(struct etcd_client **ret, const struct storage_etcd_options *options, struct buf *err);
/* Everything under way ends with STORAGE_CANCELED first. Not on the completion thread. */
struct etcd_client *etcd_client_free(struct etcd_client *c);

/* One request, one answer; from any thread. The request is packed before this returns; `done` has the reply for the time of the call.
 * timeout_ms 0: the client's. */
void etcd_client_call(struct etcd_client *c, const struct etcd_method *method, const ProtobufCMessage *request,
	int64_t timeout_ms, void (*done)(void *ctx, const struct etcd_reply *reply), void *ctx);

/* One request, any number of answers, on the completion thread alone. on_end comes last, also after etcd_stream_cancel(); the stream
 * is gone by then. */
struct etcd_stream;
struct etcd_stream_handler {
	void (*on_message)(void *ctx, struct str body);
	void (*on_end)(void *ctx, enum storage_result why, const char *message);
};
/* NULL when the client is being freed: there will be no callback. */
struct etcd_stream *etcd_stream_open(struct etcd_client *c, const struct etcd_method *method, const ProtobufCMessage *request,
	const struct etcd_stream_handler *handler, void *ctx);
void etcd_stream_cancel(struct etcd_stream *s);

/* Something to do on the completion thread. Embedded in its owner; in one queue at a time. */
struct etcd_task {
	void (*run)(struct etcd_task *task);
	struct list node;
	int64_t due_ms; /* clock_mono_ms() */
};
/* From any thread. */
void etcd_client_post(struct etcd_client *c, struct etcd_task *task);
/* On the completion thread. When the client is being freed, the delay is none. */
void etcd_client_schedule(struct etcd_client *c, struct etcd_task *task, int64_t delay_ms);
/* How long to wait before something is tried again, after a wait of last_ms; 0: the first. */
int64_t etcd_client_backoff_ms(const struct etcd_client *c, int64_t last_ms);

#endif
