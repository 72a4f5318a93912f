/* The kubectl plugin, `kubectl annals` (kubectl-annals, or `annals kubectl`): what its commands share. Everything lives as long as the process
 * needs for one command. */
#ifndef CLI_KUBECTL_KUBECTL_H
#define CLI_KUBECTL_KUBECTL_H

#include "client/api_resources.h"

enum { OUTPUT_MAX = 64 << 20 }; /* bytes that one command prints */

struct kubectl {
	/* flags; text points into argv */
	const char *kubeconfig, *context, *ns, *output, *dry_run;
	int64_t revision, to, to_revision; /* -1: not given */
	/* what they lead to */
	struct client *client;
	struct discovery discovery;
	struct arena arena;
	char *config_ns;
	struct buf out, err; /* what will be printed; a sentence without a stop, when something fails */
	/* the object that the command is about */
	const struct api_resource *type;
	struct target target;
	const struct json *object; /* NULL until kubectl_get() */
	struct answer answer;      /* holds it */
};

struct kubectl_command {
	const char *name, *usage, *summary, *description,
		*flags; /* flags: names that it takes beside the common ones, comma separated */
	/* 0, with what is to be printed in k->out; or -1 with a sentence in k->err. */
	int (*run)(struct kubectl *k);
};

extern const struct kubectl_command kubectl_history, kubectl_diff, kubectl_undo, kubectl_who_uses;

/* k->err; -1. */
int kubectl_fail(struct kubectl *k, const char *format, ...) _printf_(2, 3);
/* The same of a server that refuses: worded as kubectl does. */
int kubectl_refused(struct kubectl *k, int error, const struct answer *a);

/* TYPE/NAME, where TYPE is a plural, a singular, a kind or a short name, perhaps with its group behind a dot. Sets type and target. */
int kubectl_find(struct kubectl *k, struct str type_and_name);
int kubectl_get(struct kubectl *k);
/* statefulset.apps/web */
struct str kubectl_name(struct kubectl *k);
struct str kubectl_type_name(struct kubectl *k, const struct api_resource *type);
/* -o json or yaml: prints it, true. Else false. */
bool kubectl_print(struct kubectl *k, const struct json *value);

/* ---- tables ---- */

enum { TABLE_COLUMNS_MAX = 8 };
struct text_table {
	struct str (*rows)[TABLE_COLUMNS_MAX]; /* the first one has the headings */
	size_t n, cap, n_columns;
};
/* One more row, to be filled in. */
struct str *text_table_row(struct text_table *t);
/* Columns three blanks apart, as kubectl does; cells are escaped (base/visible.h), in the arena. */
void text_table_write(const struct text_table *t, struct arena *a, struct buf *out);
void text_table_done(struct text_table *t);
/* How long ago, as kubectl shows it: 5m. */
struct str age_text(struct arena *a, const struct json *object);

/* ---- revisions ---- */

struct revision {
	int64_t number;
	struct str name;
	const struct json *object;
	const struct json *data; /* a patch that makes its owner as it was; NULL: it holds none */
};

struct revisions {
	struct revision *v; /* by number; the last one is the newest */
	size_t n;
	const struct api_resource *type; /* through which they were found */
	struct answer answer;            /* holds them */
};
/* Those of k->object, which has been got. 0 or -1; revisions_done() either way. */
int revisions_list(struct kubectl *k, struct revisions *ret);
void revisions_done(struct revisions *r);
const struct revision *revisions_by_name(const struct revisions *r, struct str name); /* or NULL */
/* The one that says what k->object is now: what its status calls the update, or else the newest. NULL: there is none. */
const struct revision *revisions_today(const struct kubectl *k, const struct revisions *r);
/* NULL, with a sentence in k->err. */
const struct revision *revisions_find(struct kubectl *k, const struct revisions *r, int64_t number);

#endif
