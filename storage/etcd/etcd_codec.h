/* Converts storage.h's operations to etcd's messages and back.
 *
 * A request is built in the given arena, and its slices point into the operation. An answer is
 * unpacked into the operation's arena. */
#ifndef STORAGE_ETCD_ETCD_CODEC_H
#define STORAGE_ETCD_ETCD_CODEC_H

#include "storage/storage.h"

#include <protobuf-c/protobuf-c.h>

const ProtobufCMessage *etcd_encode_range(struct arena *a, const struct storage_op *op);
const ProtobufCMessage *etcd_encode_txn(struct arena *a, const struct storage_op *op);
const ProtobufCMessage *etcd_encode_compact(struct arena *a, const struct storage_op *op);
const ProtobufCMessage *etcd_encode_status(struct arena *a, const struct storage_op *op);
const ProtobufCMessage *etcd_encode_grant(struct arena *a, const struct storage_op *op);
const ProtobufCMessage *etcd_encode_keep_alive(struct arena *a, const struct storage_op *op);
const ProtobufCMessage *etcd_encode_revoke(struct arena *a, const struct storage_op *op);
const ProtobufCMessage *etcd_encode_watch(struct arena *a, const struct storage_watch *w, int64_t start_revision);

/* Fill in the operation's results from a message. Return STORAGE_OK, or the result that the
 * message reports; STORAGE_ERROR when it is malformed. */
enum storage_result etcd_decode_range(struct storage_op *op, struct str body);
enum storage_result etcd_decode_txn(struct storage_op *op, struct str body);
enum storage_result etcd_decode_compact(struct storage_op *op, struct str body);
enum storage_result etcd_decode_status(struct storage_op *op, struct str body);
enum storage_result etcd_decode_grant(struct storage_op *op, struct str body);
enum storage_result etcd_decode_keep_alive(struct storage_op *op, struct str body);
enum storage_result etcd_decode_revoke(struct storage_op *op, struct str body);

/* One answer of a watch stream. */
struct etcd_watch_answer {
	int64_t revision; /* of the header */
	uint64_t cluster;
	bool is_progress; /* about all watches of the stream, without events */
	bool is_created;
	bool is_canceled;
	bool is_fragment; /* more of the same follows */
	int64_t compact_revision;
	const char *cancel_reason;
	struct storage_event *events;
	size_t n_events;
};
/* Returns false for a malformed message, which includes events out of the order of revisions. */
bool etcd_decode_watch(struct etcd_watch_answer *ret, struct arena *a, struct str body);

/* Judges a gRPC status of etcd's. It is conservative about writes: a refusal counts as certain
 * only if it is known to precede the log. */
struct etcd_verdict {
	enum storage_result result;
	bool is_local; /* the fault lies with this member or the connection to it, so another member may succeed */
};

/* code: a gRPC status code; text: its details. */
struct etcd_verdict etcd_judge(int code, struct str text, bool is_read);

#endif
