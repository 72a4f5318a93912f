/* The file that audit events go to, with kube-apiserver's rotation: when another line would make it longer than --audit-log-maxsize, it
 * becomes NAME-2006-01-02T15-04-05.000.EXT beside it, and the oldest of those go. For one thread. */
#ifndef SERVER_AUDIT_AUDIT_FILE_H
#define SERVER_AUDIT_AUDIT_FILE_H

#include "base/buf.h"

struct audit_file;

struct audit_file_options {
	const char *path;     /* "-": stdout, which is never rotated */
	int64_t max_size;     /* bytes; 0: never rotated */
	int64_t max_backups;  /* 0: all are kept */
	int64_t max_age_days; /* 0: for ever */
};

/* 0, or -errno with a sentence in err. Makes the folder (0700) and the file (0600). */
int audit_file_open(struct audit_file **ret, const struct audit_file_options *options, struct buf *err);
struct audit_file *audit_file_close(struct audit_file *f);
/* Whole lines. 0; or -errno, with *ret_n_lost the lines that could not be written: of those not even a part is in the file, if it is a
 * regular one. -errno with no lines lost: the file should have been set aside and could not be, so it grows. */
int audit_file_write(struct audit_file *f, struct str lines, size_t *ret_n_lost);

#endif
