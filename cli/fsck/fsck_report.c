/* Findings are printed when they are found: a store may have more of them than memory has room
 * for. Keys and values in etcd may be any bytes, so nothing is printed as it is. */
#include "cli/fsck/fsck_report.h"

#include "api/model/storage_version.h"
#include "cli/common/command.h"

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
	command_print(r->out, buf_str(&r->line));
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

/* ---- the census ---- */

static void write_json_count(struct fsck_report *r, struct str resource, struct str version, unsigned long long n)
{
	const char *quote = version.n > 0 ? "\"" : "";
	struct str named = version.n > 0 ? version : STR("null");
	buf_printf(&r->line, "%s{\"resource\":\"" STR_FMT "\",\"version\":%s" STR_FMT "%s,\"count\":%llu}",
		r->n_counts++ ? "," : "", STR_ARG(resource), quote, STR_ARG(named), quote, n);
}

static void write_text_count(struct fsck_report *r, struct str resource, struct str version, unsigned long long n)
{
	const char *as = version.n > 0 ? "as " : "in a version that is not known here";
	buf_printf(&r->line, STR_FMT ": %llu stored %s" STR_FMT "\n", STR_ARG(resource), n, as, STR_ARG(version));
}

/* version empty: those that are not known here, together. */
static void write_count(struct fsck_report *r, struct str resource, struct str version, uint64_t n)
{
	if (n > 0) {
		(r->is_json ? write_json_count : write_text_count)(r, resource, version, n);
	}
}

static void write_census(struct fsck_report *r)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		struct str resource = kind_group_resource(k, &a);
		for (size_t d = 0; d < k->n_doors; d++) {
			write_count(r, resource, door_api_version(&k->doors[d], &a), r->census.stored[i][d]);
		}
		write_count(r, resource, STR(""), r->census.unknown[i]);
	}
}

bool fsck_report_end(struct fsck_report *r, int64_t revision, bool has_repaired)
{
	const unsigned long long keys = r->n_keys, objects = r->n_objects, findings = r->n_findings, repaired = r->n_repaired;
	if (r->is_json) {
		buf_printf(&r->line, "%s],\"stored\":[", findings ? "\n" : "{\"findings\":[");
		write_census(r);
		buf_printf(&r->line,
			"],\"revision\":\"%lld\",\"keys\":%llu,\"objects\":%llu,\"found\":%llu,\"repaired\":%llu}\n",
			(long long)revision, keys, objects, findings, repaired);
	} else {
		write_census(r);
		buf_printf(&r->line, "%llu keys, %llu objects at revision %lld: ", keys, objects, (long long)revision);
		buf_printf(&r->line, findings ? "%llu wrong" : "all well", findings);
		buf_printf(&r->line, has_repaired && findings ? ", %llu repaired\n" : "\n", repaired);
	}
	flush(r);
	return fflush(r->out) == 0 && !ferror(r->out);
}
