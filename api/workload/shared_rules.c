/* The rules that StatefulSets, Deployments and the like have in common. Where upstream reports a mistake twice,
 * so does this. */
#include "api/workload/shared_rules.h"

#include "api/model/members.h"

bool is_same_value(const struct json *x, const struct json *y)
{
	return (!x && !y) || (x && y && json_equal(x, y));
}

void check_fixed(struct field_errors *e, const struct where *at, const struct json *now, const struct json *before)
{
	if (!is_same_value(now, before)) {
		refuse_invalid(e, at, now, "field is immutable");
	}
}

/* ---- selector and template ---- */

static bool is_selector(const struct json *selector)
{
	return json_is(selector, JSON_OBJECT);
}

bool check_workload_selector(struct field_errors *e, const struct where *at, const struct json *selector,
	const struct selector_texts *texts, struct label_selector *ret)
{
	struct str problem;
	*ret = (struct label_selector){0};
	if (!is_selector(selector)) {
		return true;
	}
	size_t before = e->n;
	check_label_selector(e, at, selector);
	bool is_valid = e->n == before && !label_selector_read(ret, selector, e->arena, &problem);
	if (texts->empty && member_count(selector, "matchLabels") + member_count(selector, "matchExpressions") == 0) {
		refuse_invalid(e, at, selector, texts->empty);
	}
	if (texts->invalid && !is_valid) {
		refuse_invalid(e, at, selector, texts->invalid);
	}
	return is_valid;
}

bool selector_takes(const struct json *selector, const struct label_selector *read, const struct json *labels, struct arena *a)
{
	const struct label *list;
	size_t n = labels_read(&list, labels, a);
	return is_selector(selector) && label_selector_matches(read, list, n);
}

void check_pods_run_on(struct field_errors *e, const struct where *at, const struct json *template, const char *forbidden)
{
	static const char *const restarts[] = {"Always", NULL};
	const struct json *spec = json_gets(template, "spec");
	const struct where *spec_at = WHERE(at, "spec");
	check_choice(e, WHERE(spec_at, "restartPolicy"), member_text(spec, "restartPolicy"), restarts, false);
	if (json_gets(spec, "activeDeadlineSeconds")) {
		refuse_forbidden(e, WHERE(spec_at, "activeDeadlineSeconds"), forbidden);
	}
}

/* ---- shares ---- */

static bool is_percent(struct str s, int64_t *ret)
{
	if (s.n < 2 || s.p[s.n - 1] != '%') {
		return false;
	}
	*ret = 0;
	for (size_t i = 0; i + 1 < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9') {
			return false;
		}
		*ret = MIN(*ret * 10 + (s.p[i] - '0'), INT32_MAX);
	}
	return true;
}

void check_share(struct field_errors *e, const struct where *at, const struct json *share)
{
	int64_t n;
	if (!json_is(share, JSON_STRING)) {
		check_not_negative(e, at, share);
	} else if (!is_percent(json_text(share), &n)) {
		refuse_invalid(e, at, share,
			"a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
			"regex used for validation is '[0-9]+%')");
	}
}

void check_share_fits(struct field_errors *e, const struct where *at, const struct json *share)
{
	int64_t n;
	if (json_is(share, JSON_STRING) && is_percent(json_text(share), &n) && n > 100) {
		refuse_invalid(e, at, share, "must not be greater than 100%");
	}
}

int64_t share_value(const struct json *share)
{
	int64_t n = 0;
	if (!json_is(share, JSON_STRING)) {
		return share && json_to_int64(share, &n) ? n : 0;
	}
	return is_percent(json_text(share), &n) || str_to_int64(json_text(share), &n) ? n : 0;
}

/* "maxSurge" as Go has it: "MaxSurge". */
static struct str go_name(const char *member, struct arena *a)
{
	return arena_printf(a, "%c%s", member[0] - 'a' + 'A', member + 1);
}

struct json *strategy_in_go(const struct json *strategy, const char *const *members, struct arena *a)
{
	const struct json *rolling = json_gets(strategy, "rollingUpdate");
	struct json *shown = json_object(a), *shown_rolling = rolling ? json_object(a) : json_null(a);
	for (size_t i = 0; rolling && members[i]; i++) {
		struct json *value = json_gets(rolling, members[i]);
		json_add(a, shown_rolling, go_name(members[i], a), value ? value : json_int(a, 0));
	}
	json_add(a, shown, STR("Type"), json_string(a, member_text(strategy, "type")));
	json_add(a, shown, STR("RollingUpdate"), shown_rolling);
	return shown;
}

/* ---- status ---- */

void check_counts(struct field_errors *e, const struct json *status, const char *const *names)
{
	const struct where *at = WHERE(NULL, "status");
	for (; *names; names++) {
		check_not_negative(e, WHERE_NAMED(at, *names), json_gets(status, *names));
	}
}

void check_at_most(struct field_errors *e, const struct json *status, const char *name, const char *limit, const char *message)
{
	if (member_int(status, name) > member_int(status, limit)) {
		refuse_invalid(
			e, WHERE_NAMED(WHERE(NULL, "status"), name), json_int(e->arena, member_int(status, name)), message);
	}
}

void check_collisions(struct field_errors *e, const struct json *status, const struct json *old_status)
{
	int64_t n = member_int(status, "collisionCount");
	if (json_gets(old_status, "collisionCount") && n < member_int(old_status, "collisionCount")) {
		refuse_invalid(
			e, WHERE(WHERE(NULL, "status"), "collisionCount"), json_int(e->arena, n), "cannot be decremented");
	}
}
