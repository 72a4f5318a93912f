/* StorageVersions: made, kept true, and removed with their kinds. */
#include "migration/migrator_private.h"

#include "api/model/members.h"
#include "base/clock.h"
#include "migration/version_plan.h"

/* Numbers change with every object: they are not worth a write each time. After a quiet time the first change is told at once, then at
 * intervals that double, up to report_ms: who has just begun sees what was done, and load costs one write for many. */
static void note_report(struct migrator *m, const struct kind *k)
{
	int64_t now_ms = clock_mono_ms(), longest_ms = m->options.report_ms;
	int64_t *wait_ms = &m->report_wait_ms[k->index];
	bool was_quiet = *wait_ms == 0 || now_ms >= m->reported_ms[k->index] + 2 * longest_ms;

	*wait_ms = MIN(was_quiet ? m->options.poll_ms : *wait_ms * 2, longest_ms);
	m->reported_ms[k->index] = now_ms;
	m->is_report_due[k->index] = false;
}

static bool is_worth_it(struct migrator *m, const struct kind *k, const struct json *status, const struct json *old)
{
	if (json_equal(status, old)) {
		return false;
	}
	return !old || m->is_report_due[k->index] || version_status_is_news(status, old) ||
		clock_mono_ms() >= m->reported_ms[k->index] + m->report_wait_ms[k->index];
}

static void report(struct migrator *m, const struct agreement_view *view, const struct kind *k, struct arena *a)
{
	struct record r = {.kind = m->versions, .name = kind_group_resource(k, a)};
	_cleanup_(cached_unrefp) struct cached *old = cache_get(m->options.cache, r.kind, STR(""), r.name);
	const struct door *common = agreement_common(m->options.agreement, k);
	const struct json *old_status = NULL;
	struct cache_census census;
	struct object *o;

	r.old = old;
	if (old && cached_object(&o, old, a) == 0) {
		old_status = json_gets(o->fields, "status");
	}
	cache_census(m->options.cache, k, &census);
	r.status =
		version_status(view, k, common == view_common(view, k) ? common : NULL, &census, old_status, clock_wall_s(), a);
	if (is_worth_it(m, k, r.status, old_status) && record_put(m, &r, a)) {
		note_report(m, k);
	}
}

/* ---- kinds that are no more ---- */

static bool is_of_our_kinds(struct migrator *m, struct str name, struct arena *a)
{
	for (size_t i = 0; i < kind_count(); i++) {
		if (kind_has_version(kind_at(i), m->options.is_standalone) &&
			str_eq(name, kind_group_resource(kind_at(i), a))) {
			return true;
		}
	}
	return false;
}

/* Another server may know a kind that this one does not: as long as one is alive that it names, it is none of our business. */
static bool is_over(const struct agreement_view *view, const struct cached *version, struct arena *a)
{
	const struct json *servers, *each;
	struct object *o;

	if (cached_object(&o, version, a)) {
		return false;
	}
	servers = json_gets(json_gets(o->fields, "status"), "storageVersions");
	for (uint32_t i = 0; (each = list_item(servers, i)); i++) {
		if (agreement_view_find(view, member_text(each, "apiServerID"))) {
			return false;
		}
	}
	return true;
}

static void remove_others(struct migrator *m, const struct agreement_view *view, struct arena *a)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(m->options.cache, m->versions);
	const struct cache_filter all = {0};
	const struct cached *each;
	struct cache_iter it;

	cache_iter_init(&it, s, &all, STR(""));
	while ((each = cache_iter_next(&it)) && migrator_goes_on(m)) {
		if (!is_of_our_kinds(m, each->name, a) && is_over(view, each, a)) {
			record_remove(m, each, a);
		}
	}
}

void reports_update(struct migrator *m, const struct agreement_view *view, struct arena *a)
{
	for (size_t i = 0; i < kind_count() && migrator_goes_on(m); i++) {
		if (kind_has_version(kind_at(i), m->options.is_standalone)) {
			report(m, view, kind_at(i), a);
		}
	}
	remove_others(m, view, a);
}
