/* What `annals fsck` has found. It is written at once and not kept, so that any number of findings costs no memory. */
#ifndef CLI_FSCK_FSCK_REPORT_H
#define CLI_FSCK_FSCK_REPORT_H

#include "api/model/kind.h"
#include <stdio.h>

struct fsck_finding {
	const char *check;  /* "references" */
	struct str subject; /* the object, as people call it; else the key */
	struct str key;     /* in etcd: what is wrong */
	struct str found;   /* what is wrong with it, a sentence without a stop */
	const char *repair; /* what was done about it; NULL: nothing */
	bool is_repaired;
};

/* In which versions objects are stored, by kind->index. */
struct fsck_census {
	uint64_t stored[KIND_COUNT_MAX][KIND_DOORS_MAX];
	uint64_t unknown[KIND_COUNT_MAX]; /* in versions that are not known here */
};

struct fsck_report {
	FILE *out;
	bool is_json;
	struct buf line;
	uint64_t n_keys, n_objects, n_findings, n_repaired;
	struct fsck_census census;
	size_t n_counts; /* private: written of it */
};

void fsck_report_init(struct fsck_report *r, FILE *out, bool is_json);
void fsck_report_done(struct fsck_report *r);
/* Text from etcd is shown with its control characters escaped. */
void fsck_report_add(struct fsck_report *r, const struct fsck_finding *f);
/* The census and the sum, of what was read at that revision. False when not everything could be written. */
bool fsck_report_end(struct fsck_report *r, int64_t revision, bool has_repaired);

#endif
