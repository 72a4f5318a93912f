/* The kubectl plugin, `kubectl annals` (kubectl-annals, or `annals kubectl`).
 *
 * A command is a struct kubectl_command: a row with its texts, flags and run(). Its struct kubectl has the flags, the client,
 * the object, and the output; it lives as long as one command. kubectl.c parses flags, calls run(), and prints the output.
 * Every function returns 0, or -1 with a sentence in k->err. All of it is for one thread; the page has a struct kubectl for
 * each call. */
#ifndef CLI_KUBECTL_KUBECTL_H
#define CLI_KUBECTL_KUBECTL_H

#include "base/options.h"
#include "client/api_resources.h"

#include <stdio.h>

enum { OUTPUT_MAX = 64 << 20 }; /* bytes of one command's output */

enum { TAIL_NOT_GIVEN = -2 };

struct kubectl {
	/* flags; text points into argv */
	const char *kubeconfig, *context, *server, *token, *ca_file, *as;
	struct option_strings as_groups;
	bool is_insecure;
	const char *request_timeout;
	int64_t request_timeout_ms; /* by request_timeout, as in client/config.h */
	const char *ns, *output, *colour, *dry_run, *field_selector, *label_selector;
	int64_t revision, to, to_revision; /* -1: not given */
	int64_t tail;                      /* -1: all */
	const char *by, *path, *since, *since_time, *until, *deleted_since;
	struct option_strings without; /* JSON pointers to what undo and restore leave out */
	bool is_everywhere, is_following, is_agreed, wants_own, skips_redacted, shows_patches, has_no_headers, is_client_alone;
	bool takes_all, replaces, forces_conflicts, shows_diffs;
	bool has_headings_behind; /* the headings of custom columns were printed, or are not wanted */
	int64_t port; /* 0: any */
	bool may_write, has_no_browser;
	/* made by kubectl_open() and kubectl_connect() */
	struct client *client;
	struct discovery discovery;
	struct arena arena;
	char *config_ns, *config_context, *config_server; /* config_context NULL: it has no name */
	struct buf out, err;                              /* the output; a sentence without a stop, if something fails */
	int refused_code;    /* the server's code, if it refused; 502: no answer that proves anything; 0: another failure */
	struct buf notes;    /* lines for standard error, printed before `out` */
	bool is_diff;        /* `out` is a difference, whose lines may be coloured */
	char **words;        /* of argv, for WORDS_OBJECTS and WORDS_REVISIONS */
	size_t n_words;
	/* the object of the command; type NULL: none was named */
	const struct api_resource *type;
	struct target target;      /* without a name: all of that type */
	const struct json *object; /* NULL until kubectl_get() */
	struct answer answer;      /* holds the object */
	struct bulk *bulk;         /* the command's other objects (kubectl_bulk.h); NULL: it is about one */
};

/* The arguments and flags of a command. */
enum kubectl_words {
	WORDS_OBJECT,         /* TYPE/NAME or TYPE NAME */
	WORDS_OBJECT_OR_NONE, /* the same, TYPE, or nothing */
	WORDS_OBJECTS,        /* TYPE,..., TYPE NAME ..., TYPE/NAME ..., or nothing, in k->words */
	WORDS_REVISIONS,      /* the object, and in k->words up to two revisions, or another object */
	WORDS_NONE,           /* nothing */
};

struct kubectl_command {
	const char *name, *usage, *summary, *description, *examples,
		*flags,   /* names of its flags beside the common ones, comma separated */
		*outputs; /* values of -o, comma separated */
	enum kubectl_words words;
	bool connects_itself; /* run() does it */
	int (*check)(
		struct kubectl *k); /* flags and words, before anything is asked: 0, or -1 with a sentence in k->err; or NULL */
	/* 0, with what is to be printed in k->out; or -1 with a sentence in k->err. */
	int (*run)(struct kubectl *k);
};

extern const struct kubectl_command kubectl_diff, kubectl_history, kubectl_log, kubectl_migrations, kubectl_restore,
	kubectl_show, kubectl_ui, kubectl_undo, kubectl_verify, kubectl_version, kubectl_who_uses;
/* All of them, in the order of the overview; ends with NULL. */
extern const struct kubectl_command *const kubectl_commands[];
const struct kubectl_command *kubectl_find_command(struct str name); /* or NULL */

/* ---- flags and connecting ---- */

enum { KUBECTL_FLAGS_MAX = 56 };
/* The flags of a command, or with c NULL those that all have; ends with no name. Returns how many. */
size_t kubectl_flags(struct kubectl *k, const struct kubectl_command *c, struct option ret[KUBECTL_FLAGS_MAX]);
/* Makes the client, which asks nothing yet. */
int kubectl_open(struct kubectl *k);
/* Makes the client, and reads which types the server has. */
int kubectl_connect(struct kubectl *k);
void kubectl_init(struct kubectl *k);
void kubectl_done(struct kubectl *k);

/* ---- output ---- */

/* Writes k->err. -1. */
int kubectl_fail(struct kubectl *k, const char *format, ...) _printf_(2, 3);
/* Reports a server's refusal in kubectl's words. Returns -1. */
int kubectl_refused(struct kubectl *k, int error, const struct answer *a);
/* Writes a line to standard error. The exit status stays as it is. */
void kubectl_note(struct kubectl *k, const char *format, ...) _printf_(2, 3);
/* Prints the value if -o is json, yaml, jsonpath= or custom-columns=; otherwise returns false. */
bool kubectl_print(struct kubectl *k, const struct json *value);
bool kubectl_prints_objects(const struct kubectl *k); /* would it? */
/* *ret_is: -o has a template. -1: it cannot be read. */
int kubectl_check_template(struct kubectl *k, bool *ret_is);
bool kubectl_wants(const struct kubectl *k, const char *output);
/* Writes to a standard stream: escaped for terminals, and in colours if they are wanted. Returns
 * false if it could not be written. */
bool kubectl_write_diff(const struct kubectl *k, FILE *out, struct str lines);
bool kubectl_may_ask(void); /* is there a terminal whose user can answer? */

/* Reads Go's durations, perhaps with days before them: 7d, 1d12h. */
bool kubectl_read_duration(const char *text, int64_t *ret_us);

/* ---- the object ---- */

/* Sets type and target by TYPE/NAME, or by TYPE alone if the command takes that. TYPE is a plural, a singular, a kind or a
 * short name, perhaps with its group behind a dot. */
int kubectl_find(struct kubectl *k, struct str type_and_name, enum kubectl_words words);
/* Calls each() with type and target set for each object of k->words, as kubectl get takes them: TYPE,TYPE, TYPE NAME NAME or
 * TYPE/NAME TYPE/NAME. Without a name: all of that type. Ends with the first error of each(), and returns it. */
int kubectl_find_all(struct kubectl *k, int (*each)(struct kubectl *k, void *ctx), void *ctx);
int kubectl_get(struct kubectl *k);
/* Do k->words name one object, as TYPE/NAME or TYPE NAME? *ret is TYPE/NAME then. */
bool kubectl_names_one(struct kubectl *k, struct str *ret);
/* statefulset.apps/web */
struct str kubectl_name(struct kubectl *k);
struct str kubectl_type_name(struct kubectl *k, const struct api_resource *type);

/* ---- tables ---- */

/* Columns of a table; custom-columns with more is refused. */
enum { TABLE_COLUMNS_MAX = 16 };
struct text_table {
	struct str (*rows)[TABLE_COLUMNS_MAX]; /* the first row has the headings */
	size_t n, cap, n_columns;
	size_t widths[TABLE_COLUMNS_MAX]; /* of columns; they only grow */
};
/* Adds an empty row. */
struct str *text_table_row(struct text_table *t);
/* Columns are three blanks apart, like kubectl's. Cells are escaped (base/visible.h), in the arena. */
void text_table_write(struct text_table *t, struct arena *a, struct buf *out);
void text_table_done(struct text_table *t);
/* How long ago, as kubectl shows it: 5m. */
struct str age_text(struct arena *a, const struct json *object);
struct str age_of_time(struct arena *a, struct str time);

/* ---- revisions ---- */

struct revision {
	int64_t number;
	struct str name, earlier;  /* earlier: its former numbers, with commas between them */
	const struct json *object; /* of a recorded revision only the metadata, until revision_load() */
	/* An own revision has a patch for its owner, and a recorded one a state. NULL: it has none, or was not loaded. */
	const struct json *data;
	struct answer answer; /* private */
	bool is_loaded;
};

/* The recorded revisions of an object, which its History has; or its own, which its controller keeps. */
struct revisions {
	struct revision *v; /* sorted by number; the last is the newest */
	size_t n;
	const struct api_resource *type;      /* of the revisions */
	const struct json *history;           /* NULL: these are own revisions */
	struct answer answer, history_answer; /* private */
};
/* Lists the recorded revisions of k's object, or its own with --own or if it has no History. Own revisions need the object,
 * which is read into k->object. revisions_done() in any case. */
int revisions_list(struct kubectl *k, struct revisions *ret);
void revisions_done(struct revisions *r);
struct revision *revisions_by_name(const struct revisions *r, struct str name); /* or NULL */
/* The revision of the object's present state, or of its last one if it was deleted: the one that its status names, or else
 * the newest. NULL: there is none. */
struct revision *revisions_today(const struct kubectl *k, const struct revisions *r);
/* The revision before that, in the order of changes. NULL: there is none. */
struct revision *revisions_before(const struct kubectl *k, const struct revisions *r);
/* NULL, with a sentence in k->err. */
struct revision *revisions_find(struct kubectl *k, const struct revisions *r, int64_t number);
/* Is that the state with the digest that was recorded (record_digest())? Empty: annals 0.1 recorded none. */
int state_check(struct kubectl *k, struct str revision, const struct json *data, struct str recorded);
/* Reads r->data. -1 also if it has none, or if it is not the state that was recorded. */
int revision_load(struct kubectl *k, const struct revisions *all, struct revision *r);
/* The change cause of an own revision. */
struct str revision_cause(const struct revision *r);
/* Its name in a difference; the text ends with a NUL. */
struct str revision_title(struct kubectl *k, const struct revision *r);
/* Writes the difference of two loaded revisions, as lines of YAML. */
void revisions_write_diff(struct kubectl *k, const struct revision *from, const struct revision *to, struct buf *out);

/* The same for any two values. NULL is an empty text. Names end with a NUL. */
void kubectl_write_yaml_diff(const struct json *const values[2], const struct str names[2], struct buf *out);

/* ---- histories ---- */

extern const struct resource histories;
/* -1: the server has no Histories, and k->err says why. */
int histories_check(struct kubectl *k);
/* Finds the History of k's object. 1: *ret, which ret_answer holds; 0: there is none; -1. */
int history_find(struct kubectl *k, struct answer *ret_answer, const struct json **ret);
/* A field selector for k's type, and for its name if it has one. */
struct str histories_selector(struct kubectl *k);
struct str history_subject(struct arena *a, const struct json *history); /* deployment.apps/web */
bool history_is_deleted(const struct json *history);
/* The last change that led to a recorded revision. NULL: the History no longer lists it. */
const struct json *change_to(struct kubectl *k, const struct revisions *all, const struct revision *r);
/* Texts of an item of status.changes: who made it, and which paths changed. They are shortened unless is_wide. */
struct str change_by(struct arena *a, const struct json *change);
/* Was the user among the authors of the gap before the change? ret_time: when the user last wrote in it; set only then. */
bool change_is_in_gap_by(const struct json *change, struct str user, struct str *ret_time);
struct str change_what(struct arena *a, const struct json *change, bool is_wide);

#endif
