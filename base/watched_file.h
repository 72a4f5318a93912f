/* A small file (tokens, policy) that is read again when it changes.
 *
 * A user of the contents polls first. At most once a second one of the callers looks at the file
 * and, when it is another one, reads and loads it there and then; everybody else goes on with what
 * is in force. A file that cannot be read, and contents that do not load, are reported once and
 * change nothing; the file is not touched again before it is another one, or may be read by others.
 */
#ifndef BASE_WATCHED_FILE_H
#define BASE_WATCHED_FILE_H

#include "base/file.h"
#include <pthread.h>
#include <stdatomic.h>

/* For logs. problem NULL: new contents are in force; otherwise why they are not. From any thread;
 * report may be NULL. */
struct reload_hook {
	void (*report)(void *ctx, const char *path, const char *problem);
	void *ctx;
};

struct watched_file {
	char *path;
	/* 0: the text's meaning is in force; -EINVAL with a sentence in err: nothing has changed. Never two calls at once. */
	int (*load)(void *ctx, struct str text, struct buf *err);
	void *ctx;
	struct reload_hook hook;
	/* private */
	pthread_mutex_t lock;         /* held by the one who looks */
	_Atomic int64_t next_look_ms; /* monotonic */
	struct file_stamp seen;       /* of what was loaded, or could not be */
};

/* Loads for the first time: 0, or -errno with a sentence in err; watched_file_done() either way. */
int watched_file_init(struct watched_file *f, const char *path, int (*load)(void *ctx, struct str text, struct buf *err),
	void *ctx, struct reload_hook hook, struct buf *err);
void watched_file_done(struct watched_file *f); /* also of a zeroed one */
void watched_file_poll(struct watched_file *f); /* does nothing for a zeroed one */

#endif
