/* The JSON objects of a file, one by one, whatever stands between them: lines, blanks, or a List around them as kubectl prints it. Memory holds one object;
 * a List of any length is never there as a whole.
 *
 * Only brackets and quotes are looked at: whether an object is JSON is for who parses it to say. */
#ifndef CLI_EXPORT_DOCUMENTS_H
#define CLI_EXPORT_DOCUMENTS_H

#include "base/buf.h"

struct document {
	struct str text;                    /* until the next one is asked for */
	uint64_t offset, line;              /* of its first byte; lines from 1 */
	uint64_t length;                    /* in the file, where there are blanks that text has not */
	bool is_item;                       /* of a List */
	struct str list_kind, list_version; /* of that, where they stand before its items; else empty */
};

struct documents {
	int fd;
	struct buf text;
	uint64_t offset, line; /* of the next byte */
	/* private */
	char *chunk;
	size_t at, n;
	bool is_in_list, is_first_item;
	char list_kind[128], list_version[128];
};

void documents_init(struct documents *d, int fd, size_t max_bytes); /* of one object */
void documents_done(struct documents *d);
/* 1 and *ret; 0 at the end of the file; or -errno with a sentence in err, which names the line. */
int documents_next(struct documents *d, struct document *ret, struct buf *err);

#endif
