/* What `annals doctor` has found, in the order in which it looked. */
#ifndef CLI_DOCTOR_DOCTOR_REPORT_H
#define CLI_DOCTOR_DOCTOR_REPORT_H

#include "base/arena.h"
#include "base/buf.h"
#include "cli/doctor/doctor_host.h"

enum severity {
	SEVERITY_OK,
	SEVERITY_SKIPPED, /* could not be looked at */
	SEVERITY_WARNING,
	SEVERITY_ERROR,
	N_SEVERITIES,
};

/* What a finding is about, in the order in which one may follow from another: the table in doctor_causes.c says which do. */
enum topic {
	TOPIC_NONE,
	TOPIC_ETCD_FILES,    /* what is shown to etcd, and whom to believe */
	TOPIC_ENDPOINT,      /* an etcd answers */
	TOPIC_MEMBER,        /* it has a leader */
	TOPIC_KEYS,          /* what is stored */
	TOPIC_DIRECTORY,     /* of annals up */
	TOPIC_UP_FILES,      /* its certificates */
	TOPIC_UP_SERVER,     /* it is ready */
	TOPIC_SERVING_FILES, /* certificates of annals serve */
	TOPIC_APISERVER,     /* kube-apiserver answers */
	TOPIC_CLUSTER,       /* everything in the cluster */
	TOPIC_TRUST,         /* whom annals believes, as the cluster says */
	TOPIC_ACCESS,        /* what annals may do in the cluster */
	TOPIC_ROUTE,         /* APIService, Service, the CA and the certificate behind them */
	TOPIC_READY,         /* pods of annals */
	TOPIC_AVAILABLE,     /* the APIService, to kube-apiserver */
	TOPIC_DISCOVERY,
	N_TOPICS,
};

struct finding {
	enum severity severity;
	enum topic topic;
	const char *part;   /* "cluster", "etcd", "files" */
	struct str subject; /* what was looked at */
	struct str found;
	struct str mend; /* a command, or lines of them; empty: nothing to do */
	const struct finding *cause; /* an error that it may follow from; NULL: none is known */
	size_t n_effects;            /* how many have it as their cause */
};

struct report {
	struct arena arena; /* of all text */
	struct doctor_host host;
	const char *part; /* of the findings to come */
	enum topic topic; /* of these, too */
	struct finding *findings;
	size_t n, cap;
	size_t counts[N_SEVERITIES];
};

void report_init(struct report *r);
void report_done(struct report *r);
/* The mend must live as long as the report, whose arena has room for it. Control characters of the rest, which may be anybody's text,
 * are escaped. Findings beyond a thousand are counted and not kept. */
void report_add(struct report *r, enum severity severity, struct str subject, struct str mend, const char *format, ...)
	_printf_(5, 6);
#define NO_MEND ((struct str){NULL, 0})
/* Text for subjects and mends. */
#define report_text(r, ...) arena_printf(&(r)->arena, __VA_ARGS__)

/* Of each error, and of what could not be looked at: which error it may follow from. Once, when all is found. */
void report_find_causes(struct report *r);

/* Errors from which others may follow come first. */
void report_write_text(const struct report *r, bool has_colours, struct buf *out);
void report_write_json(struct report *r, struct buf *out);

/* A word of a shell's, quoted where it has to be. */
struct str shell_word(struct arena *a, struct str word);

#endif
