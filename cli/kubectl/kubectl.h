/* The kubectl plugin, `kubectl annals` (kubectl-annals, or `annals kubectl`): what its commands share. Everything lives as long as the process
 * needs for one command. */
#ifndef CLI_KUBECTL_KUBECTL_H
#define CLI_KUBECTL_KUBECTL_H

#include "base/options.h"
#include "client/api_resources.h"

#include <stdio.h>

enum { OUTPUT_MAX = 64 << 20 }; /* bytes that one command prints */

struct kubectl {
	/* flags; text points into argv */
	const char *kubeconfig, *context, *server, *token, *ca_file, *as;
	struct option_strings as_groups;
	bool is_insecure;
	const char *request_timeout;
	int64_t request_timeout_ms; /* what it says, as client/config.h has it */
	const char *ns, *output, *colour, *dry_run, *field_selector, *label_selector;
	int64_t revision, to, to_revision; /* -1: not given */
	int64_t since_ms, tail;            /* 0: not given */
	bool is_everywhere, is_following, is_agreed, wants_own, skips_redacted;
	int64_t port; /* 0: any */
	bool may_write, has_no_browser;
	/* what they lead to */
	struct client *client;
	struct discovery discovery;
	struct arena arena;
	char *config_ns, *config_context, *config_server; /* the context's name: NULL where it has none */
	struct buf out, err; /* what will be printed; a sentence without a stop, when something fails */
	int refused_code;    /* of the server, where `err` says that it refused; 0: something else is in the way */
	struct buf notes;    /* lines for standard error, printed before `out` */
	bool is_diff;        /* what `out` holds: lines of it may be coloured */
	/* the object that the command is about; type NULL: none was named */
	const struct api_resource *type;
	struct target target;      /* no name: all of that type */
	const struct json *object; /* NULL until kubectl_get() */
	struct answer answer;      /* holds it */
};

/* What a command wants to be told. */
enum kubectl_words {
	WORDS_OBJECT,         /* TYPE/NAME or TYPE NAME */
	WORDS_OBJECT_OR_NONE, /* the same, TYPE, or nothing */
	WORDS_NONE,           /* nothing: it is about no object */
};

struct kubectl_command {
	const char *name, *usage, *summary, *description, *examples,
		*flags,   /* names that it takes beside the common ones, comma separated */
		*outputs; /* what -o may be */
	enum kubectl_words words;
	/* 0, with what is to be printed in k->out; or -1 with a sentence in k->err. */
	int (*run)(struct kubectl *k);
};

extern const struct kubectl_command kubectl_diff, kubectl_history, kubectl_log, kubectl_migrations, kubectl_restore,
	kubectl_show, kubectl_ui, kubectl_undo, kubectl_who_uses;
/* All of them, in the order of the overview; ends with NULL. */
extern const struct kubectl_command *const kubectl_commands[];
const struct kubectl_command *kubectl_find_command(struct str name); /* or NULL */

/* ---- flags and connecting ---- */

enum { KUBECTL_FLAGS_MAX = 40 };
/* The flags of a command, or with c NULL those that all have; ends with no name. Returns how many. */
size_t kubectl_flags(struct kubectl *k, const struct kubectl_command *c, struct option ret[KUBECTL_FLAGS_MAX]);
/* Whether values of flags are among those that there are. 0; or -1. */
int kubectl_check_flags(struct kubectl *k, const struct kubectl_command *c);
/* A client, which has not asked anything yet. 0 or -1. */
int kubectl_open(struct kubectl *k);
/* That, and what the server serves. 0 or -1. */
int kubectl_connect(struct kubectl *k);
void kubectl_init(struct kubectl *k);
void kubectl_done(struct kubectl *k);

/* ---- what is said ---- */

/* k->err; -1. */
int kubectl_fail(struct kubectl *k, const char *format, ...) _printf_(2, 3);
/* The same of a server that refuses: worded as kubectl does. */
int kubectl_refused(struct kubectl *k, int error, const struct answer *a);
/* A line for standard error; nothing fails. */
void kubectl_note(struct kubectl *k, const char *format, ...) _printf_(2, 3);
/* -o json or yaml: prints it, true. Else false. */
bool kubectl_print(struct kubectl *k, const struct json *value);
bool kubectl_wants(const struct kubectl *k, const char *output);
/* To the standard streams, harmless for terminals, with colours where they are wanted. False: it could not be written. */
bool kubectl_write_diff(const struct kubectl *k, FILE *out, struct str lines);
bool kubectl_may_ask(void); /* somebody is there to answer */

/* ---- the object ---- */

/* TYPE/NAME, where TYPE is a plural, a singular, a kind or a short name, perhaps with its group behind a dot; or TYPE alone, where the command takes that.
 * Sets type and target. */
int kubectl_find(struct kubectl *k, struct str type_and_name, enum kubectl_words words);
int kubectl_get(struct kubectl *k);
/* statefulset.apps/web */
struct str kubectl_name(struct kubectl *k);
struct str kubectl_type_name(struct kubectl *k, const struct api_resource *type);

/* ---- tables ---- */

enum { TABLE_COLUMNS_MAX = 8 };
struct text_table {
	struct str (*rows)[TABLE_COLUMNS_MAX]; /* the first one has the headings */
	size_t n, cap, n_columns;
	size_t widths[TABLE_COLUMNS_MAX]; /* at least so wide; as wide as they have become */
};
/* One more row, to be filled in. */
struct str *text_table_row(struct text_table *t);
/* Columns three blanks apart, as kubectl does; cells are escaped (base/visible.h), in the arena. */
void text_table_write(struct text_table *t, struct arena *a, struct buf *out);
void text_table_done(struct text_table *t);
/* How long ago, as kubectl shows it: 5m. */
struct str age_text(struct arena *a, const struct json *object);
struct str age_of_time(struct arena *a, struct str time);

/* ---- revisions ---- */

struct revision {
	int64_t number;
	struct str name;
	const struct json *object; /* of what a Recorder made its metadata alone, until revision_load() */
	/* Of an own revision a patch that makes its owner as it was; else a state. NULL: it holds none, or has not been loaded. */
	const struct json *data;
	struct answer answer; /* private */
	bool is_loaded;
};

/* A Recorder's, which a History has; or those that the controller of the object itself keeps. */
struct revisions {
	struct revision *v; /* by number; the last one is the newest */
	size_t n;
	const struct api_resource *type;      /* through which they were found */
	const struct json *history;           /* NULL: the object's own */
	struct answer answer, history_answer; /* private */
};
/* Of the object that k is about: its History's where there is one and --own was not given; else its own, for which it is got. 0 or -1;
 * revisions_done() either way. */
int revisions_list(struct kubectl *k, struct revisions *ret);
void revisions_done(struct revisions *r);
struct revision *revisions_by_name(const struct revisions *r, struct str name); /* or NULL */
/* The one that says what the object is now, or was when it was deleted: what its status calls the update, or else the newest. NULL: there is none. */
struct revision *revisions_today(const struct kubectl *k, const struct revisions *r);
/* The one before that, in the order of what happened. NULL: there is none. */
struct revision *revisions_before(const struct kubectl *k, const struct revisions *r);
/* NULL, with a sentence in k->err. */
struct revision *revisions_find(struct kubectl *k, const struct revisions *r, int64_t number);
/* Has its data. 0; or -1, also where it holds none. */
int revision_load(struct kubectl *k, const struct revisions *all, struct revision *r);
/* Of an own one: why it was made, as its owner said. */
struct str revision_cause(const struct revision *r);
/* What it is called where two are compared; the text ends with a NUL. */
struct str revision_title(struct kubectl *k, const struct revision *r);
/* How two differ, as lines of YAML. Both are loaded. */
void revisions_write_diff(struct kubectl *k, const struct revision *from, const struct revision *to, struct buf *out);

/* The same of any two values, of which NULL is no text at all; names end with a NUL. */
void kubectl_write_yaml_diff(const struct json *const values[2], const struct str names[2], struct buf *out);

/* ---- histories ---- */

extern const struct resource histories;
/* Why there can be none: -1. Else 0. */
int histories_check(struct kubectl *k);
/* That of the object that k is about. 1 and *ret, which ret_answer holds; 0: there is none; -1. */
int history_find(struct kubectl *k, struct answer *ret_answer, const struct json **ret);
/* A field selector: of k's type and, where one was given, name. */
struct str histories_selector(struct kubectl *k);
struct str history_subject(struct arena *a, const struct json *history); /* deployment.apps/web */
bool history_is_deleted(const struct json *history);
/* Of a Recorder's: the last change that led to it. NULL: it was long ago. */
const struct json *change_to(const struct revisions *all, const struct revision *r);
/* Of an item of status.changes: who made it, and what became another; shortened unless it may be wide. */
struct str change_by(struct arena *a, const struct json *change);
struct str change_what(struct arena *a, const struct json *change, bool is_wide);

#endif
