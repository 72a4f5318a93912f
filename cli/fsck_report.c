#include "cli/fsck_report.h"

#include "base/json.h"

enum { LINE_MAX_BYTES = 64 << 20 };

void fsck_report_init(struct fsck_report *r, FILE *out, bool is_json)
{
	*r = (struct fsck_report){.out = out, .is_json = is_json};
	buf_init(&r->line, LINE_MAX_BYTES);
}

void fsck_report_done(struct fsck_report *r)
{
	buf_done(&r->line);
}

static void flush(struct fsck_report *r)
{
	fwrite(r->line.p, 1, r->line.n, r->out);
	buf_clear(&r->line);
}

/* Keys and values are anybody's bytes; JSON's escapes keep a terminal from obeying them. */
static void add_text(struct buf *out, struct str s)
{
	if (json_is_utf8(s)) {
		json_encode_string(out, s);
		return;
	}
	buf_addc(out, '"');
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		buf_printf(out, c < ' ' || c > '~' || c == '"' || c == '\\' ? "\\\\x%02x" : "%c", c);
	}
	buf_addc(out, '"');
}

static void add_plain(struct buf *out, struct str s)
{
	size_t start = out->n;
	add_text(out, s);
	if (!out->is_over) {
		memmove(out->p + start, out->p + start + 1, out->n - start - 2);
		buf_truncate(out, out->n - 2);
	}
}

static void write_text(struct fsck_report *r, const struct fsck_finding *f)
{
	buf_printf(&r->line, "%-10s  ", f->check);
	add_plain(&r->line, f->subject);
	buf_adds(&r->line, ": ");
	add_plain(&r->line, f->found);
	if (f->repair) {
		buf_printf(&r->line, "%s%s", f->is_repaired ? "; repaired: " : "; not repaired: ", f->repair);
	}
	buf_addc(&r->line, '\n');
}

static void write_json(struct fsck_report *r, const struct fsck_finding *f)
{
	const struct {
		const char *name;
		struct str value;
	} members[] = {{"subject", f->subject}, {"key", f->key}, {"found", f->found}};
	buf_printf(&r->line, "%s{\"check\":\"%s\"", r->n_findings ? ",\n" : "{\"findings\":[\n", f->check);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		buf_printf(&r->line, ",\"%s\":", members[i].name);
		add_text(&r->line, members[i].value);
	}
	buf_printf(&r->line, ",\"repaired\":%s", f->is_repaired ? "true" : "false");
	if (f->repair) {
		BUF_LITERAL(&r->line, ",\"repair\":");
		add_text(&r->line, str_of(f->repair));
	}
	buf_addc(&r->line, '}');
}

void fsck_report_add(struct fsck_report *r, const struct fsck_finding *f)
{
	if (r->is_json) {
		write_json(r, f);
	} else {
		write_text(r, f);
	}
	flush(r);
	r->n_findings++;
	r->n_repaired += f->is_repaired;
}

bool fsck_report_end(struct fsck_report *r, int64_t revision, bool has_repaired)
{
	const unsigned long long keys = r->n_keys, objects = r->n_objects, findings = r->n_findings, repaired = r->n_repaired;
	if (r->is_json) {
		buf_printf(&r->line,
			"%s],\"revision\":\"%lld\",\"keys\":%llu,\"objects\":%llu,\"found\":%llu,\"repaired\":%llu}\n",
			findings ? "\n" : "{\"findings\":[", (long long)revision, keys, objects, findings, repaired);
	} else {
		buf_printf(&r->line, "%llu keys, %llu objects at revision %lld: ", keys, objects, (long long)revision);
		buf_printf(&r->line, findings ? "%llu wrong" : "all well", findings);
		buf_printf(&r->line, has_repaired && findings ? ", %llu repaired\n" : "\n", repaired);
	}
	flush(r);
	return fflush(r->out) == 0 && !ferror(r->out);
}
