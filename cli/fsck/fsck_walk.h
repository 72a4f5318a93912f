/* What `annals fsck` does: reads every key under the prefix, by pages at one revision, and holds it to what must be true of it. */
#ifndef CLI_FSCK_FSCK_WALK_H
#define CLI_FSCK_FSCK_WALK_H

#include "cli/fsck/fsck_report.h"
#include "storage/storage.h"

struct fsck_options {
	struct storage *storage;
	struct str prefix;
	bool repairs; /* index entries are brought in line with the objects, which are not touched */
};

/* 0, with everything found in the report and *ret_revision the one it is true of; or -EIO with a sentence in err. */
int fsck_walk(const struct fsck_options *options, struct fsck_report *report, int64_t *ret_revision, struct buf *err);

#endif
