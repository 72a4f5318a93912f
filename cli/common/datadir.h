/* The folder of `annals up` (keys, kubeconfig and etcd's data) or of `annals certs` (keys), for one user and one process at a time.
 *
 * Files are written under another name, synced and renamed: at every moment each is either whole or not there. */
#ifndef CLI_COMMON_DATADIR_H
#define CLI_COMMON_DATADIR_H

#include "base/buf.h"
#include <sys/types.h>

struct datadir {
	char *path; /* absolute */
	int fd;
	int lock_fd;      /* locked by flock() while it is open */
	bool is_fleeting; /* files need not survive a crash of the machine: nothing is synced */
};

/* Returns $XDG_DATA_HOME/annals, or ~/.local/share/annals. Free it with mem_free(). */
char *datadir_default(void);
/* Creates the folder (0700) if it is missing, and locks it. Refuses a folder that others can
 * write to, and one that another process has locked, which it names. Returns 0, or -errno with a
 * sentence in err; datadir_done() either way. */
int datadir_open(struct datadir *d, const char *path, struct buf *err);
void datadir_done(struct datadir *d);

bool datadir_is_plain(const struct datadir *d);                /* true when its path needs no quoting in a URL or a shell */
char *datadir_file(const struct datadir *d, const char *name); /* its path; mem_free */
/* Appends the whole file. Returns 0, or -errno: -ENOENT if there is none, -EFBIG beyond the
 * buffer's ceiling. */
int datadir_read(const struct datadir *d, const char *name, struct buf *out);
/* Gives the whole file as base64; free it with mem_free(). Returns 0, or -errno with a sentence
 * in err. */
int datadir_encode(const struct datadir *d, const char *name, char **ret, struct buf *err);
int datadir_write(const struct datadir *d, const char *name, struct str text, mode_t mode, struct buf *err);
/* Creates a folder in it that only its owner may use. */
int datadir_make(const struct datadir *d, const char *name, struct buf *err);

#endif
