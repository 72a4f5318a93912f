/* Shared by the files of `annals fsck`. There is one thread. An arena holds everything about a
 * page of keys, and is emptied for the next page.
 *
 * Everything is read at one revision, so concurrent writes of servers make no difference. A
 * check that needs other keys asks a question (fsck_ask), which is answered together with many
 * others. */
#ifndef CLI_FSCK_FSCK_PRIVATE_H
#define CLI_FSCK_FSCK_PRIVATE_H

#include "api/model/kind.h"
#include "base/hash_table.h"
#include "cli/common/terminal.h"
#include "storage/cache/bases.h"
#include "storage/engine/plan.h"
#include "storage/keys.h"
#include "storage/storage.h"

#include <stdio.h>

/* ---- fsck.c: the report. It is written at once and not kept, so that any number of findings costs no memory ---- */

struct fsck_finding {
	const char *check;  /* "references" */
	struct str subject; /* the object's name for people; else the key */
	struct str key;     /* the wrong key in etcd */
	struct str found;   /* what is wrong with it, a sentence without a stop */
	const char *repair; /* what was done about it; NULL: nothing */
	bool is_repaired;
};

/* How many objects of a kind are stored in which version. */
struct fsck_counts {
	uint64_t stored[KIND_VERSIONS_MAX];
	uint64_t unknown; /* in versions that are not known here */
};

struct fsck_report {
	FILE *out;
	bool is_json;
	struct buf line;
	uint64_t n_keys, n_objects, n_findings, n_repaired;
	struct fsck_counts census[KIND_COUNT_MAX]; /* by kind->index */
	struct buf defined;  /* private: the counts of kinds that definitions describe, as they will be written */
	size_t n_counts;     /* private: counts written so far */
	uint64_t n_left_out; /* kinds whose counts have no room in `defined` */
};

void fsck_report_init(struct fsck_report *r, FILE *out, bool is_json);
void fsck_report_done(struct fsck_report *r);
/* Takes the counts of a kind that a definition describes. */
void fsck_report_count(struct fsck_report *r, const struct kind *k, const struct fsck_counts *counts);
/* Text from etcd is shown with its control characters escaped. */
void fsck_report_add(struct fsck_report *r, const struct fsck_finding *f);
/* Writes the census and the totals of what was read at that revision. Returns false if not
 * everything could be written. */
bool fsck_report_end(struct fsck_report *r, int64_t revision, bool has_repaired);

/* ---- fsck_walk.c: the walk ---- */

struct fsck_options {
	struct storage *storage;
	struct str prefix;
	bool repairs; /* index entries are brought in line with the objects, which are not touched */
};

/* Returns 0, with all findings in the report and the revision that was read in *ret_revision; or
 * -EIO with a sentence in err. */
int fsck_walk(const struct fsck_options *options, struct fsck_report *report, int64_t *ret_revision, struct buf *err);

enum {
	QUESTIONS_AT_ONCE = 128,     /* bounds the memory of answers, each of which may be a whole object */
	DEFINITION_NAME_BYTES = 253, /* of a definition's name, as of all names of that form */
};

/* The definition of the resource whose keys are being read, or its absence. */
struct fsck_definition {
	struct buf name;         /* RESOURCE.GROUP; empty: of none */
	const struct kind *kind; /* NULL: none is described, and problem says why */
	const char *problem;     /* "does not exist" */
	struct fsck_counts counts;
};

struct fsck {
	struct storage *storage;
	struct str prefix;
	bool repairs;
	int64_t revision;
	struct fsck_report report;
	struct arena page;
	struct question *questions[QUESTIONS_AT_ONCE]; /* waiting to be asked */
	size_t n_questions;
	struct hash_table uids; /* of the objects so far */
	struct arena seen;      /* holds them */
	struct progress progress;
	struct base_shelf shelf; /* of what stored values continue */
	struct fsck_definition definition;
	struct buf err;
};

/* A readable object, in the page's arena. */
struct subject {
	struct object_id id;
	struct str key, title; /* title: dependents.annals.dev default/web */
	struct object *object;
	bool is_packed; /* its value is in compressed form */
};

struct question {
	struct storage_range range; /* the asker sets key, range_end and limits */
	void (*answer)(struct fsck *f, struct question *q);
	const struct subject *subject;
	const struct fsck_index *index;
	struct str key, value;
	bool is_optional, may_be_bare; /* of an entry of an index */
	struct object_id id;
};

void fsck_find(struct fsck *f, const char *check, struct str subject, struct str key, const char *format, ...) _printf_(5, 6);

/* Makes a question in the page's arena. The caller fills it in and passes it to fsck_ask(). */
struct question *fsck_question(struct fsck *f, struct str key, void (*answer)(struct fsck *f, struct question *q));
/* 0, or -EIO with a sentence in f->err. */
int fsck_ask(struct fsck *f, struct question *q);
int fsck_answer_all(struct fsck *f);

/* object_decode_stored() of a value read at f->revision, which may continue a base. Returns also -EIO, with a sentence in
 * f->err, or -ENOENT or -EBADMSG: the base is not there, or damaged. */
int fsck_decode(struct fsck *f, struct object **ret, const struct kind *k, const struct storage_kv *kv, struct arena *a);
/* Decodes the value as it was at that etcd revision; 0: now. Reports no finding. */
int fsck_decode_at(struct fsck *f, struct object **ret, const struct kind *k, const struct storage_kv *kv, int64_t revision,
	struct arena *a);

/* ---- fsck_definition.c ---- */

void fsck_definition_init(struct fsck_definition *d);
/* Ends the present one: no question waits. */
void fsck_definition_done(struct fsck *f);
/* Finds the kind of an object's key that a definition describes. It lives until the next call. NULL: there is none, and
 * f->definition says why. 0, or -EIO with a sentence in f->err. */
int fsck_defined_kind(struct fsck *f, const struct key_parts *parts, const struct kind **ret);
int fsck_check_definition(struct fsck *f, const struct subject *s);

/* Every check of one object. */
int fsck_check_object(struct fsck *f, const struct subject *s);

/* ---- indexes ---- */

/* Keys that are derived from objects. A new index is a row of the table in fsck_index.c. */
struct fsck_index {
	const char *name, *directory; /* "references", "/references/" */
	/* The entries that an object should have in it. */
	size_t (*entries)(const struct object_id *id, const struct object *o, struct str prefix, struct arena *a,
		struct index_entry ret[INDEX_ENTRIES_MAX]);
	/* Finds the object that an entry belongs to, by its key behind the directory. Returns
	 * false if the key does not have the index's form. A kind that is not the program's is in ret_defined. */
	bool (*owner)(struct str rest, struct object_id *ret, struct key_parts *ret_defined);
};

int fsck_check_entries(struct fsck *f, const struct subject *s);
/* Returns the index that a key belongs to, or NULL. */
const struct fsck_index *fsck_index_of(const struct fsck *f, struct str key, struct str *ret_rest);
int fsck_check_entry(struct fsck *f, const struct fsck_index *index, const struct storage_kv *kv, struct str rest);

#endif
