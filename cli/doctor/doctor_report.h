/* What `annals doctor` has found, in the order in which it looked. */
#ifndef CLI_DOCTOR_DOCTOR_REPORT_H
#define CLI_DOCTOR_DOCTOR_REPORT_H

#include "base/arena.h"
#include "base/buf.h"

enum severity {
	SEVERITY_OK,
	SEVERITY_SKIPPED, /* could not be looked at */
	SEVERITY_WARNING,
	SEVERITY_ERROR,
	N_SEVERITIES,
};

struct finding {
	enum severity severity;
	const char *part;   /* "cluster", "etcd", "files" */
	struct str subject; /* what was looked at */
	struct str found;
	struct str mend; /* a command, or lines of them; empty: nothing to do */
};

struct report {
	struct arena arena; /* of all text */
	const char *part;   /* of the findings to come */
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

void report_write_text(const struct report *r, struct buf *out);
void report_write_json(struct report *r, struct buf *out);

/* A word of a shell's, quoted where it has to be. */
struct str shell_word(struct arena *a, struct str word);

#endif
