/* What the files of `annals import` share. One thread.
 *
 * The file is read several times, and memory holds of each object only where it is and what tells it from others: about a hundred bytes. It is
 * read once to check it, without a look at the store (import_scan.c); once to compare it with the store (import_stored.c); and
 * once to write (import_write.c). The last two go by levels, so that owners come before what they own. */
#ifndef CLI_EXPORT_IMPORT_H
#define CLI_EXPORT_IMPORT_H

#include "api/model/kind.h"
#include "base/file.h"
#include "base/map.h"
#include "base/options.h"
#include "cli/common/progress.h"
#include "cli/fsck/index_entries.h"
#include "storage/storage.h"

enum { PRINT_SIZE = 16 };

/* Half a SHA-256 stands for a text of any length. */
struct print {
	unsigned char bytes[PRINT_SIZE];
};

enum import_state {
	ENTRY_NEW,     /* nothing is stored there */
	ENTRY_SAME,    /* it is stored already */
	ENTRY_REPLACE, /* something else is stored there, which it takes the place of */
	ENTRY_SKIP,    /* something else is stored there, and stays */
	ENTRY_DONE,    /* written */
};

/* An object of the file. */
struct entry {
	uint64_t offset;
	uint32_t length, line;
	struct print key, uid; /* uid: that of the file */
	uint32_t level;
	uint8_t kind, door;    /* kind->index; through which version it is read */
	uint8_t state;         /* enum import_state */
	bool has_uid, is_told; /* is_told: the newest state of a History, which is written with it */
};

/* From what must be there first, to who needs it. */
struct edge {
	struct print print; /* of a uid, or of a key */
	uint32_t entry;
	bool is_key, is_told; /* is_told: the entry is a History, and this the revision that it names */
};

/* Positions of entries by a print in them; open addressing. */
struct print_table {
	uint32_t *slots;       /* position + 1; 0: free */
	size_t cap, n, offset; /* offset: of the print in struct entry */
};

enum on_conflict { CONFLICT_REFUSE, CONFLICT_SKIP, CONFLICT_REPLACE };

struct rename {
	struct str from, to;
};

enum { RENAMES_MAX = 256, SALT_SIZE = 16, TROUBLES_SHOWN = 20 };

struct import_options {
	struct storage *storage;
	struct str prefix;
	bool is_exact, is_rehearsal, creates_namespaces;
	enum on_conflict on_conflict;
	struct rename renames[RENAMES_MAX];
	size_t n_renames;
	bool wants[KIND_COUNT_MAX];              /* by kind->index */
	const struct option_strings *namespaces; /* as the file has them; none: all */
};

struct import_counts {
	uint64_t created, same, replaced, skipped;
};

struct import {
	const struct import_options *options;
	int fd;
	struct file_stamp stamp;
	bool is_export; /* written by annals export */
	struct entry *entries;
	size_t n, cap;
	struct edge *edges;
	size_t n_edges, cap_edges;
	uint32_t *order;   /* of entries, by level */
	uint32_t *told_of; /* pairs: a History's position, that of the revision it names; sorted */
	size_t n_told;
	struct print_table by_key, by_uid;
	struct map histories;          /* NAMESPACE/NAME, as the file has them: the new name, where a namespace is renamed */
	struct map present_uids;       /* a uid of the file: that of the object which is stored in its place */
	struct map namespaces;         /* of objects, as they will be: NAMESPACE_... by name */
	bool has_namespaces;           /* objects must be in one that is there; else a kube-apiserver beside has them */
	unsigned char digest[32];      /* of the whole file */
	unsigned char salt[SALT_SIZE]; /* new uids are made of it */
	bool has_salt;
	struct arena names; /* of the maps */
	uint64_t n_troubles;
	struct progress progress;
	struct import_counts counts;
	struct buf *err;
};

/* ---- import_file.c ---- */

/* Bytes of a copy without a name, on a disk that others need, too. */
#define IMPORT_COPY_MAX ((uint64_t)64 << 30)

/* A descriptor of the input that can be read again and again: of the file itself, or of a copy that has no name. -errno with a sentence
 * in err. */
int import_file_open(const char *path, struct buf *err);
int import_file_temporary(struct buf *err);
/* The digest of the whole file, and that of its first `upto` bytes. */
int import_file_digest(int fd, uint64_t upto, unsigned char all[32], unsigned char part[32], struct buf *err);
/* The bytes of an entry, in the arena. */
int import_file_read(struct import *im, const struct entry *e, struct arena *a, struct str *ret);

/* ---- import_from.c ---- */

/* The objects of another cluster as a file of lines; a descriptor, or -errno with a sentence in err. */
int import_fetch(const char *kubeconfig, const char *context, const struct option_strings *resources,
	const struct option_strings *namespaces, struct buf *err);

/* ---- import_index.c ---- */

struct print print_of(struct str text);
/* False: there are too many. */
bool import_add_entry(struct import *im, const struct entry *e);
bool import_add_edge(struct import *im, const struct edge *e);
void print_table_init(struct print_table *t, size_t offset);
void print_table_done(struct print_table *t);
/* The position of the entry with that print, or -1. */
int64_t print_table_find(const struct print_table *t, const struct entry *entries, const struct print *print);
/* False: there is one with that print already, at *ret_other. */
bool print_table_add(struct print_table *t, const struct entry *entries, size_t at, size_t *ret_other);
/* Once all entries and edges are known: levels, the order, who is told of. */
void import_arrange(struct import *im);
/* The revision that goes with a History, or -1. */
int64_t import_told(const struct import *im, size_t history);

/* ---- import_object.c ---- */

/* The object as it is to be stored: renamed, and but for --exact with its new uid. 0; or -EINVAL with why in the buffer. */
int import_object(
	struct import *im, const struct entry *e, struct str text, struct arena *a, struct object **ret, struct buf *why);
/* Without what is only known once the whole file has been read. */
int import_object_first(
	struct import *im, const struct entry *e, struct str text, struct arena *a, struct object **ret, struct buf *why);
/* As it stands in the file. */
int import_object_raw(
	struct import *im, const struct entry *e, struct str text, struct arena *a, struct object **ret, struct buf *why);
struct str import_renamed(const struct import *im, struct str ns);
struct str import_key(struct import *im, const struct object *o, struct arena *a);
/* The key of the revision that a History names; empty: it names none, or is no History. */
struct str import_told_key(struct import *im, const struct object *o, struct str *ret_name, struct arena *a);
/* Is what is stored the same object, but for what an import without --exact gives anew? */
bool import_is_same(const struct import *im, const struct object *wanted, const struct object *present, struct arena *a);

/* ---- a batch of entries: what the last two passes work on ---- */

enum { BATCH_MAX = 64 };

struct item {
	size_t at; /* in im->entries */
	struct object *object;
	struct str key;
};

struct batch {
	struct item items[BATCH_MAX];
	size_t n;
	struct arena arena; /* of all that is about it */
};

void batch_init(struct batch *b);
void batch_done(struct batch *b);
/* The next entries of one level, from *at of im->order on, of which `wants` says true. 0, also with none at the end; or -errno with a
 * sentence in im->err. */
int batch_fill(struct import *im, struct batch *b, size_t *at, bool (*wants)(const struct entry *e));
int batch_add(struct import *im, struct batch *b, size_t at);

/* What may become of what is stored in an entry's place. present: NULL, nothing is. Sets e->state, and tells of troubles. */
void import_decide(struct import *im, struct entry *e, struct object *wanted, const struct object *present, struct arena *a);
/* What takes the place of what is stored there; `wanted` becomes it. False: the rules of the kind do not allow it, and why says so. */
bool import_replace(
	const struct import *im, struct object *wanted, const struct object *present, struct arena *a, struct buf *why);
/* Where the salt is kept. */
struct str import_salt_key(const struct import *im, struct arena *a);

/* ---- the passes ---- */

enum { NAMESPACE_THERE = 1, NAMESPACE_IN_FILE, NAMESPACE_TO_MAKE, NAMESPACE_MISSING };

/* A trouble with the object that begins on that line; printed, and counted. */
void import_trouble(struct import *im, uint64_t line, const struct object *o, struct str text);
struct str import_title(const struct object *o, struct arena *a);

/* Each: 0; or -errno with a sentence in err: nothing more can be done. Troubles are counted beside. */
int import_scan(struct import *im);
int import_compare(struct import *im);
int import_write(struct import *im);

#endif
