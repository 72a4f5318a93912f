/* How a member of an etcd cluster is, by its own account: for those who look after it, not for what annals does with it. */
#ifndef STORAGE_ETCD_ETCD_HEALTH_H
#define STORAGE_ETCD_ETCD_HEALTH_H

#include "storage/etcd/etcd.h"

struct etcd_member {
	uint64_t id;
	struct str name;       /* empty: never started */
	struct str client_url; /* the first */
	bool is_learner;
};

enum etcd_alarm_kind { ETCD_ALARM_OTHER, ETCD_ALARM_NOSPACE, ETCD_ALARM_CORRUPT };

struct etcd_alarm {
	uint64_t member;
	enum etcd_alarm_kind kind;
};

struct etcd_health {
	uint64_t cluster, member;
	uint64_t leader;      /* 0: none, and then alarms are not asked for */
	struct str version;   /* "3.4.23" */
	int64_t size, in_use; /* bytes of the database file, and of what is in it */
	int64_t quota;        /* bytes; 0: it does not say (before 3.6) */
	bool is_learner;
	struct etcd_member *members;
	size_t n_members;
	struct etcd_alarm *alarms;
	size_t n_alarms;
	/* Why there are none of them; empty: they are here. */
	struct str members_problem, alarms_problem;
};

/* Asks the one endpoint that the options name, over a connection of its own, and waits. 0 with text in the arena; a storage_result
 * where it does not answer, or -errno, with a sentence in err. */
int etcd_health_read(struct etcd_health *ret, const struct storage_etcd_options *options, struct arena *a, struct buf *err);

#endif
