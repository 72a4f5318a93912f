/* Keeps findings until all checks are done, because the counts and the causes need all of them. Text from the
 * cluster is escaped for the terminal. Commands are neither cut nor wrapped, since people paste them. */
#include "cli/doctor/doctor_report.h"
#include "base/json.h"
#include "base/visible.h"
#include "cli/common/terminal.h"

#include <assert.h>
#include <ctype.h>

/* Bytes of all findings, and of one text that is made printable. */
enum { TEXT_MAX = 64 << 20, FINDINGS_MAX = 1000 };

static const char *const severity_names[N_SEVERITIES] = {"ok", "skipped", "warning", "error"};

void report_init(struct report *r)
{
	*r = (struct report){.part = ""};
	arena_init(&r->arena, TEXT_MAX);
}

void report_done(struct report *r)
{
	mem_free(r->findings);
	arena_done(&r->arena);
	*r = (struct report){0};
}

/* As one line, and escaped. */
static struct str make_printable(struct report *r, struct str s)
{
	_cleanup_(buf_done) struct buf shown;
	buf_init(&shown, TEXT_MAX);
	visible_add_lines(&shown, str_trim(s));
	for (size_t i = 0; i < shown.n; i++) {
		shown.p[i] = shown.p[i] == '\n' || shown.p[i] == '\t' ? ' ' : shown.p[i];
	}
	return arena_dup(&r->arena, buf_str(&shown));
}

static void report_keep(struct report *r, struct finding f)
{
	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 32;
		r->findings = mem_realloc_array(r->findings, r->cap, sizeof(*r->findings));
	}
	r->findings[r->n++] = f;
}

void report_add(struct report *r, enum severity severity, struct str subject, struct str fix, const char *format, ...)
{
	r->counts[severity]++;
	if (r->n == FINDINGS_MAX || arena_is_full(&r->arena)) {
		return;
	}
	va_list ap;
	va_start(ap, format);
	struct str found = arena_vprintf(&r->arena, format, ap);
	va_end(ap);
	report_keep(r,
		(struct finding){.severity = severity,
			.topic = r->topic,
			.part = r->part,
			.subject = make_printable(r, subject),
			.found = make_printable(r, found),
			.fix = fix});
}

/* ---- as text ---- */

struct writing {
	struct buf *out;
	bool has_colours;
};

static void write_finding(const struct writing *w, const struct finding *f)
{
	static const char *const colours[N_SEVERITIES] = {COLOUR_GREEN, "", COLOUR_YELLOW, COLOUR_RED};
	const char *colour = w->has_colours ? colours[f->severity] : "";
	buf_printf(w->out, "  %s%-8s%s " STR_FMT ": " STR_FMT "\n", colour, severity_names[f->severity],
		*colour ? COLOUR_END : "", STR_ARG(f->subject), STR_ARG(f->found));
	if (f->cause) {
		buf_printf(
			w->out, "           It may follow from the error of " STR_FMT ", above.\n", STR_ARG(f->cause->subject));
	} else if (f->fix.n) {
		BUF_LITERAL(w->out, "           fix:\n");
		visible_add_lines(w->out, f->fix);
		BUF_LITERAL(w->out, "\n\n");
	}
}

static void write_count(const char *name, const char *plural, size_t n, struct buf *out)
{
	buf_printf(out, "%zu %s", n, n == 1 ? name : plural);
}

/* Either errors that cause others, which come first and in a section of their own; or all other
 * findings, by parts. */
static bool is_shown(const struct finding *f, bool is_cause)
{
	return (f->n_effects > 0 && !f->cause) == is_cause;
}

static bool write_findings(const struct report *r, const struct writing *w, bool is_cause, bool is_first)
{
	const char *part = "";
	for (size_t i = 0; i < r->n; i++) {
		const struct finding *f = &r->findings[i];
		if (!is_shown(f, is_cause)) {
			continue;
		}
		if (strcmp(part, f->part) != 0) {
			buf_printf(w->out, "%s%s%s%s%s\n", is_first ? "" : "\n", w->has_colours ? COLOUR_BOLD : "",
				is_cause ? "fix this first: " : "", f->part, w->has_colours ? COLOUR_END : "");
			part = f->part;
			is_first = false;
		}
		write_finding(w, f);
		if (is_cause) {
			BUF_LITERAL(w->out, "           ");
			write_count("finding below may follow from it\n", "findings below may follow from it\n", f->n_effects,
				w->out);
		}
	}
	return is_first;
}

void report_write_text(const struct report *r, bool has_colours, struct buf *out)
{
	const struct writing w = {out, has_colours};
	bool is_first = write_findings(r, &w, true, true);
	write_findings(r, &w, false, is_first);
	BUF_LITERAL(out, "\n");
	write_count("error, ", "errors, ", r->counts[SEVERITY_ERROR], out);
	write_count("warning, ", "warnings, ", r->counts[SEVERITY_WARNING], out);
	buf_printf(out, "%zu ok, %zu not checked\n", r->counts[SEVERITY_OK], r->counts[SEVERITY_SKIPPED]);
}

/* ---- as JSON ---- */

static void add_text(struct arena *a, struct json *object, const char *name, struct str text)
{
	json_add(a, object, str_of(name), json_string(a, json_is_utf8(text) ? text : STR("(not UTF-8)")));
}

static struct json *finding_json(struct arena *a, const struct finding *f)
{
	struct json *j = json_object(a);
	add_text(a, j, "severity", str_of(severity_names[f->severity]));
	add_text(a, j, "part", str_of(f->part));
	add_text(a, j, "subject", f->subject);
	add_text(a, j, "found", f->found);
	if (f->fix.n) {
		add_text(a, j, "fix", f->fix);
	}
	if (f->cause) {
		add_text(a, j, "cause", f->cause->subject);
	}
	return j;
}

void report_write_json(struct report *r, struct buf *out)
{
	struct arena *a = &r->arena;
	struct json *root = json_object(a), *findings = json_array(a), *counts = json_object(a);
	for (int rest = 0; rest < 2; rest++) {
		for (size_t i = 0; i < r->n; i++) {
			if (is_shown(&r->findings[i], !rest)) {
				json_append(a, findings, finding_json(a, &r->findings[i]));
			}
		}
	}
	for (size_t i = 0; i < N_SEVERITIES; i++) {
		json_add(a, counts, str_of(severity_names[i]), json_int(a, (int64_t)r->counts[i]));
	}
	json_add(a, root, STR("findings"), findings);
	json_add(a, root, STR("counts"), counts);
	json_encode(out, root);
	buf_addc(out, '\n');
}

/* ---- shells ---- */

static bool is_plain(char c)
{
	return isalnum((unsigned char)c) || strchr("_-./:=,@%+", c);
}

struct str shell_word(struct arena *a, struct str word)
{
	size_t n_plain = 0, n_quotes = 0;
	for (size_t i = 0; i < word.n; i++) {
		n_plain += word.p[i] && is_plain(word.p[i]);
		n_quotes += word.p[i] == '\'';
	}
	if (word.n && n_plain == word.n) {
		return word;
	}
	char *text = arena_text(a, word.n + 3 * n_quotes + 2), *p = text;
	*p++ = '\'';
	for (size_t i = 0; i < word.n; i++) {
		if (word.p[i] == '\'') {
			memcpy(p, "'\\''", 4);
			p += 4;
		} else {
			*p++ = word.p[i];
		}
	}
	*p++ = '\'';
	return (struct str){text, (size_t)(p - text)};
}

/* ---- causes ----
 *
 * One broken thing breaks all that stands on it, and ten errors hide the one to fix. Each row has the topics that a
 * topic stands on. Two errors are connected even if the thing between them is well: perhaps nobody looked at it. */

#define ON(topic) (1U << (topic))

static const unsigned stands_on[N_TOPICS] = {
	[TOPIC_ENDPOINT] = ON(TOPIC_ETCD_FILES),
	[TOPIC_MEMBER] = ON(TOPIC_ENDPOINT),
	[TOPIC_KEYS] = ON(TOPIC_ENDPOINT) | ON(TOPIC_MEMBER),
	[TOPIC_UP_SERVER] = ON(TOPIC_DIRECTORY) | ON(TOPIC_UP_FILES) | ON(TOPIC_ENDPOINT) | ON(TOPIC_MEMBER),
	[TOPIC_CLUSTER] = ON(TOPIC_APISERVER),
	[TOPIC_AVAILABLE] = ON(TOPIC_ROUTE) | ON(TOPIC_SERVING_FILES) | ON(TOPIC_ACCESS) | ON(TOPIC_TRUST) |
		ON(TOPIC_ENDPOINT) | ON(TOPIC_MEMBER),
};

/* All topics that a topic depends on, directly or not. They come earlier in the enum, so one
 * walk backwards finds them. */
static unsigned foundations(enum topic topic)
{
	_Static_assert(N_TOPICS <= 32, "a set of topics is an unsigned");
	assert(stands_on[topic] < ON(topic)); /* a topic depends only on earlier topics */
	unsigned all = stands_on[topic];
	for (unsigned t = topic; t-- > 0;) {
		all |= all & ON(t) ? stands_on[t] : 0;
	}
	return all;
}

/* The lowest topic that is broken. */
static struct finding *find_cause(const struct report *r, const struct finding *f)
{
	unsigned below = foundations(f->topic);
	struct finding *lowest = NULL;
	for (size_t i = 0; i < r->n; i++) {
		struct finding *other = &r->findings[i];
		bool is_below = other->severity == SEVERITY_ERROR && (below & ON(other->topic));
		if (is_below && (!lowest || other->topic < lowest->topic)) {
			lowest = other;
		}
	}
	return lowest;
}

void report_find_causes(struct report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct finding *f = &r->findings[i];
		bool may_follow = f->severity == SEVERITY_ERROR || f->severity == SEVERITY_SKIPPED;
		struct finding *cause = may_follow ? find_cause(r, f) : NULL;
		if (cause) {
			f->cause = cause;
			cause->n_effects++;
		}
	}
}
