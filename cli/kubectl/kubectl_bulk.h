/* Undo and restore of many objects: a plan, a dry run of all of it, one question, the writes, and a summary. A command adds
 * the objects, and says by `plan` how each gets its action; the rest is the same for all commands.
 *
 * A failed read is a reason to refuse the object, never an absence. If one object fails, the others go on. */
#ifndef CLI_KUBECTL_KUBECTL_BULK_H
#define CLI_KUBECTL_KUBECTL_BULK_H

#include "base/map.h"
#include "cli/kubectl/kubectl.h"

enum {
	BULK_ITEMS_MAX = 10000,          /* objects of one command; more are refused */
	BULK_BYTES_MAX = 256 << 20,      /* of all planned writes; objects beyond it are refused */
	BULK_ITEM_BYTES_MAX = 128 << 20, /* of all that is read to plan one object */
	BULK_DIFF_MAX = 4 << 20,         /* of the difference of one object; a longer one is not shown */
	BULK_BODY_MAX = 16 << 20,        /* of a request; servers refuse more than 3 MiB */
	BULK_SUBJECTS_MAX = 64,          /* types and names on the command line */
};

/* In the order of what they become: a plan is made once, and a REFUSE stays one. */
enum bulk_action { BULK_SKIP, BULK_CREATE, BULK_CHANGE, BULK_REPLACE, BULK_DELETE, BULK_REFUSE };
enum bulk_outcome { BULK_PLANNED, BULK_DONE, BULK_FAILED };

struct bulk_item {
	struct str group, kind, namespace, name;
	struct str old_uid; /* as its History has it; empty: unknown */
	enum bulk_action action;
	enum bulk_outcome outcome;
	int rank;                        /* creations and changes go from low to high, deletions from high to low */
	int64_t revision;                /* to go back to; -1: none */
	struct str reason;               /* why this action, why refused, or what went wrong */
	struct str notes;                /* lines */
	struct str diff;                 /* for people, with --diff */
	const struct api_resource *type; /* as the state has it; NULL while unknown */
	struct str object;               /* JSON that is created; of a change with --replace, in case the server refuses it */
	struct str patch;                /* JSON of a change */
	const char *patch_type;
	struct str uid, version; /* of the live object that is changed or deleted */
	struct json *links;      /* references to owners that the same command creates; or NULL */
	struct str new_uid;      /* once it is created */
	bool is_hidden;          /* the selector does not match it, so the plan does not show it */
	bool is_untested;        /* no dry run: its namespace or its type comes first */
};

/* A type, or an object of it, of the command line. */
struct bulk_subject {
	const struct api_resource *type;
	struct str name; /* empty: all */
};

struct new_type;

struct bulk {
	struct kubectl *k;
	const char *verb; /* for sentences: "restored" */
	struct bulk_subject subjects[BULK_SUBJECTS_MAX];
	size_t n_subjects;
	struct bulk_item *v;
	size_t n, cap;
	struct arena arena;         /* holds all texts */
	struct map known;           /* by subject: that it was added */
	struct map by_uid;          /* by old uid: the item */
	struct new_type *new_types; /* of CustomResourceDefinitions that are created */
	unsigned n_pauses;          /* of all waiting for Recorders */
	/* Decides about one object, with k->type and k->target set, by bulk_create() and so on. -1, with a sentence in k->err:
	 * it is refused. */
	int (*plan)(struct bulk *b, struct bulk_item *item);
	void *ctx;
	struct bulk_item *planned; /* while plan() runs */
};

void bulk_init(struct bulk *b, struct kubectl *k);
void bulk_done(struct bulk *b);
/* Reads k->words. */
int bulk_find_subjects(struct bulk *b);
/* Does the command line mean the History's subject? All, if it names none. */
bool bulk_is_meant(const struct bulk *b, const struct json *history);
/* Lists the Histories that a command may be about; of all namespaces with -A, and for types without a namespace. */
int bulk_list(struct bulk *b, struct str field_selector, bool (*each)(void *ctx, const struct json *history));
/* Adds the subject of a History, once. -1: there are too many. */
int bulk_add(struct bulk *b, const struct json *history);
/* Plans, asks, writes, and tells. */
int bulk_run(struct bulk *b);

/* ---- for plan() ---- */

/* Takes the object that is to be created. */
void bulk_create(struct bulk *b, struct bulk_item *item, const struct json *object, int64_t revision);
/* Takes the patch for k->object, and what comes of it. */
void bulk_change(struct bulk *b, struct bulk_item *item, const char *type, const struct json *patch, const struct json *wanted,
	int64_t revision);
/* k->object is deleted. */
void bulk_delete(struct bulk *b, struct bulk_item *item);
/* Nothing is to be done. */
void bulk_skip(struct bulk *b, struct bulk_item *item, const char *why);
/* With --diff: keeps the difference for people, of both states as undo_write_diff() takes them. */
void bulk_show(
	struct bulk *b, struct bulk_item *item, const struct json *now, const struct json *then, const struct revision *r);
/* Texts of the item. */
struct str bulk_text(struct bulk *b, const char *format, ...) _printf_(2, 3);

/* ---- for the plans of single objects; b may be NULL ---- */

/* The type of a CustomResourceDefinition that the same command creates; or NULL. */
const struct api_resource *bulk_find_kind(const struct bulk *b, struct str api_version, struct str kind);
/* Is that such a type? The server does not have it yet, so that it has no objects of it. */
bool bulk_is_new(const struct bulk *b, const struct api_resource *type);
/* Does the same command create that owner anew? Then the reference is linked to it once it has a uid. */
bool bulk_takes_owner(struct bulk *b, const struct json *reference);

/* ---- private to kubectl_bulk.c and kubectl_bulk_write.c ---- */

struct str bulk_kept(struct bulk *b, struct str text);
struct str bulk_encoded(struct bulk *b, const struct json *value);
struct json *bulk_decoded(struct str text, struct arena *a); /* of our own text */
struct str bulk_name_of(struct bulk *b, const struct bulk_item *item);
struct bulk_item *bulk_owner_of(const struct bulk *b, const struct json *reference); /* or NULL */
bool bulk_is_anywhere(const struct bulk *b);
bool bulk_is_written(const struct bulk_item *item);
void bulk_plan_item(struct bulk *b, struct bulk_item *item);
int bulk_request(struct bulk *b, const struct bulk_item *item, const char *method, const char *content_type, struct str body,
	bool is_dry, struct answer *ret);
int bulk_request_deletion(struct bulk *b, const struct bulk_item *item, bool is_dry, struct answer *ret);
struct str bulk_refusal(struct bulk *b, int error, const struct answer *a);
const struct bulk_item *bulk_missing_of(
	const struct bulk *b, const struct bulk_item *item, const struct answer *a); /* or NULL */
/* Prints the plan, asks for confirmation, writes, and reports each result. */
int bulk_carry_out(struct bulk *b);

/* ---- the commands ---- */

int restore_bulk(struct kubectl *k);
/* undo --by, or undo --replace of one object. */
int undo_bulk(struct kubectl *k);
int undo_by_check(struct kubectl *k); /* the flags */

#endif
