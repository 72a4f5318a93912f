/* What a gRPC status of etcd's means for whoever asked.
 *
 * Conservative about writes: only what is known to be refused before it reached the log is called certain. */
#ifndef STORAGE_ETCD_ETCD_ERROR_H
#define STORAGE_ETCD_ETCD_ERROR_H

#include "storage/storage.h"

struct etcd_verdict {
	enum storage_result result;
	bool is_local; /* the trouble is this member's, or is on the way to it: another may do better */
};

/* code: a gRPC status code; text: its details. */
struct etcd_verdict etcd_judge(int code, struct str text, bool is_read);

#endif
