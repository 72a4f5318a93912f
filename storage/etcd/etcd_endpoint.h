/* One endpoint of etcd: its name, and the health of the member behind it. */
#ifndef STORAGE_ETCD_ETCD_ENDPOINT_H
#define STORAGE_ETCD_ETCD_ENDPOINT_H

#include "base/buf.h"
#include "storage/etcd/etcd.h"

/* An etcd endpoint in the command line's form, and in gRPC's. */
struct etcd_endpoint {
	char *target; /* owned: gRPC's name for it */
	bool is_tls;
};

/* Reads http://h:p, https://h:p, unix:///path or h:p (plain). Returns 0, or -EINVAL with a
 * sentence in err. */
int etcd_endpoint_init(struct etcd_endpoint *e, const char *text, struct buf *err);
void etcd_endpoint_done(struct etcd_endpoint *e);

enum etcd_alarm_kind { ETCD_ALARM_OTHER, ETCD_ALARM_NOSPACE, ETCD_ALARM_CORRUPT };

struct etcd_alarm {
	uint64_t member;
	enum etcd_alarm_kind kind;
};

/* The state of an etcd member, by its own account. Operators read it; annals does not act on it. */
struct etcd_health {
	uint64_t cluster, member;
	uint64_t leader;    /* 0: none, and then alarms are not asked for */
	struct str version; /* "3.4.23" */
	bool is_learner;
	struct etcd_alarm *alarms;
	size_t n_alarms;
	struct str alarms_problem; /* why alarms are missing; empty: they are here */
};

/* Asks the one endpoint in the options, over a connection of its own, and waits. Returns 0, with
 * text in the arena. Returns a storage_result when the endpoint does not answer, or -errno, with
 * a sentence in err. */
int etcd_health_read(struct etcd_health *ret, const struct storage_etcd_options *options, struct arena *a, struct buf *err);

#endif
