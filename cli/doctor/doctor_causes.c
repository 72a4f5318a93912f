/* One thing that is broken breaks what stands on it, and a list of ten errors hides the one to mend.
 * The rows say what stands on what. Where two errors are connected only through a third thing that
 * is well, they are connected all the same: that thing was perhaps not looked at. */
#include "cli/doctor/doctor_report.h"

#define ON(topic) (1U << (topic))

static const unsigned stands_on[N_TOPICS] = {
	[TOPIC_ENDPOINT] = ON(TOPIC_ETCD_FILES),
	[TOPIC_MEMBER] = ON(TOPIC_ENDPOINT),
	[TOPIC_KEYS] = ON(TOPIC_ENDPOINT) | ON(TOPIC_MEMBER),
	[TOPIC_UP_SERVER] = ON(TOPIC_DIRECTORY) | ON(TOPIC_UP_FILES) | ON(TOPIC_ENDPOINT) | ON(TOPIC_MEMBER),
	[TOPIC_CLUSTER] = ON(TOPIC_APISERVER),
	[TOPIC_READY] = ON(TOPIC_SERVING_FILES) | ON(TOPIC_ACCESS) | ON(TOPIC_TRUST) | ON(TOPIC_ENDPOINT) | ON(TOPIC_MEMBER),
	[TOPIC_AVAILABLE] = ON(TOPIC_ROUTE) | ON(TOPIC_READY),
	[TOPIC_DISCOVERY] = ON(TOPIC_AVAILABLE),
};

/* All that it stands on, directly or not. Topics are in that order, so one walk backwards finds them. */
static unsigned foundations(enum topic topic)
{
	unsigned all = stands_on[topic];
	for (unsigned t = topic; t-- > 0;) {
		all |= all & ON(t) ? stands_on[t] : 0;
	}
	return all;
}

/* The lowest of them that is broken. */
static struct finding *find_cause(const struct report *r, const struct finding *f)
{
	unsigned below = foundations(f->topic);
	struct finding *lowest = NULL;
	for (size_t i = 0; i < r->n; i++) {
		struct finding *other = &r->findings[i];
		bool is_below = other->severity == SEVERITY_ERROR && (below & ON(other->topic));
		if (is_below && (!lowest || other->topic < lowest->topic)) {
			lowest = other;
		}
	}
	return lowest;
}

void report_find_causes(struct report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct finding *f = &r->findings[i];
		bool may_follow = f->severity == SEVERITY_ERROR || f->severity == SEVERITY_SKIPPED;
		struct finding *cause = may_follow ? find_cause(r, f) : NULL;
		if (cause) {
			f->cause = cause;
			cause->n_effects++;
		}
	}
}
