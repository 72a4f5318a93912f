/* What the files of `annals fsck` share. One thread; everything about a page of keys is in one arena, which the next page empties.
 *
 * All is read at one revision, so that what the servers write meanwhile makes no difference. A check that needs other keys than the one it
 * is about asks a question (fsck_ask), which is answered with many others at once. */
#ifndef CLI_FSCK_FSCK_PRIVATE_H
#define CLI_FSCK_FSCK_PRIVATE_H

#include "api/model/kind.h"
#include "cli/common/progress.h"
#include "cli/fsck/fsck_report.h"
#include "cli/fsck/index_entries.h"
#include "storage/keys.h"
#include "storage/storage.h"

struct uid_set {
	unsigned char (*slots)[16]; /* all 0: free */
	size_t cap, n;
};

struct fsck {
	struct storage *storage;
	struct str prefix;
	bool repairs;
	int64_t revision;
	struct fsck_report report;
	struct arena page;
	struct question *questions; /* to be asked; newest first */
	size_t n_questions;
	struct uid_set uids;
	struct progress progress;
	struct buf err;
};

/* An object that can be read. In the page's arena. */
struct subject {
	struct object_id id;
	struct str key, title; /* title: dependents.annals.dev default/web */
	struct object *object;
};

struct question {
	struct storage_range range; /* key, range_end and limits by who asks */
	void (*answer)(struct fsck *f, struct question *q);
	const struct subject *subject;
	const struct fsck_index *index;
	struct str key, value;
	struct object_id id;
	struct question *next; /* private */
};

void fsck_find(struct fsck *f, const char *check, struct str subject, struct str key, const char *format, ...) _printf_(5, 6);

/* One to be filled in, in the page's arena, and then asked. */
struct question *fsck_question(struct fsck *f, struct str key, void (*answer)(struct fsck *f, struct question *q));
/* 0, or -EIO with a sentence in f->err. */
int fsck_ask(struct fsck *f, struct question *q);
int fsck_answer_all(struct fsck *f);

/* Every check of one object. */
int fsck_check_object(struct fsck *f, const struct subject *s);
/* False: known before. */
bool uid_set_add(struct uid_set *s, struct str uid);

/* ---- indexes ---- */

/* Keys that follow from objects. A new index is a row of the table in fsck_index.c. */
struct fsck_index {
	const char *name, *directory; /* "references", "/references/" */
	/* What an object has in it. */
	size_t (*entries)(const struct object_id *id, const struct object *o, struct str prefix, struct arena *a,
		struct index_entry ret[INDEX_ENTRIES_MAX]);
	/* Whose an entry is, by its key behind the directory; false: not shaped like one. */
	bool (*owner)(struct str rest, struct object_id *ret);
};

int fsck_check_entries(struct fsck *f, const struct subject *s);
/* The index a key belongs to, or NULL. */
const struct fsck_index *fsck_index_of(const struct fsck *f, struct str key, struct str *ret_rest);
int fsck_check_entry(struct fsck *f, const struct fsck_index *index, const struct storage_kv *kv, struct str rest);

#endif
