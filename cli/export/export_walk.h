/* Objects of a store as lines of a file, all as they were at one revision. */
#ifndef CLI_EXPORT_EXPORT_WALK_H
#define CLI_EXPORT_EXPORT_WALK_H

#include "base/options.h"
#include "cli/export/export_form.h"
#include "storage/storage.h"

#include <stdio.h>

struct export_options {
	struct storage *storage;
	struct str prefix;
	const struct option_strings *resources, *namespaces; /* none: all */
	FILE *out;
};

/* 0, with how many objects there were and the revision; or -errno with a sentence in err. */
int export_walk(const struct export_options *options, uint64_t *ret_n, int64_t *ret_revision, struct buf *err);

#endif
