/* The report of `annals doctor`: findings in the order in which doctor looked, which error may be the cause of
 * which, and the commands that fix them.
 *
 * Parts of doctor ask (doctor_check_*) and judge (judge_*). A judgement takes facts and adds findings; it asks
 * nobody, so unit tests call it without a cluster, an etcd or files. One thread does everything. */
#ifndef CLI_DOCTOR_DOCTOR_REPORT_H
#define CLI_DOCTOR_DOCTOR_REPORT_H

#include "base/arena.h"
#include "base/buf.h"

enum severity {
	SEVERITY_OK,
	SEVERITY_SKIPPED, /* the check was not possible */
	SEVERITY_WARNING,
	SEVERITY_ERROR,
	N_SEVERITIES,
};

/* The subject matter of a finding. A topic can only be the cause of later topics: the table stands_on in
 * doctor_report.c has the rules. */
enum topic {
	TOPIC_NONE,
	TOPIC_ETCD_FILES,    /* the certificate shown to etcd, and the authorities to trust */
	TOPIC_ENDPOINT,      /* an etcd answers */
	TOPIC_MEMBER,        /* it has a leader */
	TOPIC_KEYS,          /* the stored keys */
	TOPIC_DIRECTORY,     /* the directory of annals up */
	TOPIC_UP_FILES,      /* the certificates in that directory */
	TOPIC_UP_SERVER,     /* the server of annals up is ready */
	TOPIC_SERVING_FILES, /* certificates of annals serve */
	TOPIC_APISERVER,     /* kube-apiserver answers */
	TOPIC_CLUSTER,       /* everything in the cluster */
	TOPIC_TRUST,         /* the authorities that annals trusts, by the cluster's ConfigMap */
	TOPIC_ACCESS,        /* what annals may do in the cluster */
	TOPIC_ROUTE,         /* the APIService and its CA */
	TOPIC_AVAILABLE,     /* the APIService, to kube-apiserver */
	N_TOPICS,
};

struct finding {
	enum severity severity;
	enum topic topic;
	const char *part;   /* "cluster", "etcd", "files" */
	struct str subject; /* the checked file, endpoint or object */
	struct str found;
	struct str fix;              /* a command, or lines of them; empty: nothing to do */
	const struct finding *cause; /* an error that it may follow from; NULL: none is known */
	size_t n_effects;            /* how many have it as their cause */
};

struct report {
	struct arena arena; /* holds all text */
	const char *part;   /* for the next findings */
	enum topic topic;   /* for the next findings */
	struct finding *findings;
	size_t n, cap;
	size_t counts[N_SEVERITIES];
};

void report_init(struct report *r);
void report_done(struct report *r);
/* The fix must live as long as the report, whose arena has room for it. Control characters of the subject and of
 * the text are escaped, since strangers may have written them. Findings beyond a thousand are only counted. */
void report_add(struct report *r, enum severity severity, struct str subject, struct str fix, const char *format, ...)
	_printf_(5, 6);
#define NO_FIX ((struct str){NULL, 0})
/* Text for subjects and fixes. */
#define report_text(r, ...) arena_printf(&(r)->arena, __VA_ARGS__)

/* Finds for each error and each skipped check the error that it may follow from. Call it once, after all checks. */
void report_find_causes(struct report *r);

/* Errors from which others may follow come first. */
void report_write_text(const struct report *r, bool has_colours, struct buf *out);
void report_write_json(struct report *r, struct buf *out);

/* A word of a shell, quoted if it must be. */
struct str shell_word(struct arena *a, struct str word);

#endif
