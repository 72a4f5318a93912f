/* The JSON objects of a file, one by one. Lines or blanks may separate them, or a List may
 * contain them, as kubectl prints it. Memory holds one object, never a whole List. Only brackets
 * and quotes are checked: the JSON parser judges the object. */
#ifndef CLI_EXPORT_DOCUMENTS_H
#define CLI_EXPORT_DOCUMENTS_H

#include "base/buf.h"

struct document {
	struct str text;                    /* valid until the next call */
	uint64_t offset, line;              /* of its first byte; lines from 1 */
	uint64_t length;                    /* length in the file, including blanks that text leaves out */
	bool is_item;                       /* of a List */
	struct str list_kind, list_version; /* of the List, if they come before its items; else empty */
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
/* Returns 1 with *ret; 0 at the end of the file; or -errno with a sentence in err, which names
 * the line. */
int documents_next(struct documents *d, struct document *ret, struct buf *err);

#endif
