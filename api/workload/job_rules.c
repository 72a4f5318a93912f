/* The order of checks is the order of causes in the 422, so it is upstream's, with its duplicates. */
#include "api/workload/job_rules.h"

#include "api/core/pod_defaults.h"
#include "api/core/pod_validate.h"
#include "api/model/members.h"
#include "api/rules/validate.h"
#include "api/upstream/upstream.h"
#include "api/workload/cron.h"
#include "api/workload/job_indexes.h"
#include "api/workload/job_status.h"
#include "api/workload/replica_rules.h"
#include "api/workload/shared_rules.h"

#include <assert.h>
#include <strings.h>

#define LABEL_UID STR("batch.kubernetes.io/controller-uid")
#define LABEL_NAME STR("batch.kubernetes.io/job-name")
#define LABEL_OLD_UID STR("controller-uid")
#define LABEL_OLD_NAME STR("job-name")

static const struct json *labels_of(const struct json *spec)
{
	return json_gets(json_gets(json_gets(spec, "template"), "metadata"), "labels");
}

/* ---- defaults ---- */

static struct json *with_default(struct json *spec, const char *name, struct json *value, struct arena *a)
{
	return json_gets(spec, name) ? spec : schema_with(&type_batch_job_spec, spec, name, value, a);
}

static struct json *with_template_defaults(struct json *spec, struct arena *a)
{
	const struct json *template = json_gets(spec, "template");
	return template ? schema_with(&type_batch_job_spec, spec, "template", pod_template_defaults(template, a), a) : spec;
}

void job_set_defaults(struct object *o, struct arena *a)
{
	struct json *spec = with_template_defaults(object_spec(o), a);
	bool has_per_index = json_gets(spec, "backoffLimitPerIndex") != NULL;
	const char *replaced = json_gets(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed";
	if (!json_gets(spec, "parallelism")) {
		spec = with_default(spec, "completions", json_int(a, 1), a);
	}
	spec = with_default(spec, "parallelism", json_int(a, 1), a);
	spec = with_default(spec, "backoffLimit", json_int(a, has_per_index ? INT32_MAX : 6), a);
	spec = with_default(spec, "completionMode", json_string(a, STR("NonIndexed")), a);
	spec = with_default(spec, "suspend", json_bool(a, false), a);
	spec = with_default(spec, "podReplacementPolicy", json_string(a, str_of(replaced)), a);
	spec = with_default(spec, "manualSelector", json_bool(a, false), a);
	object_set_spec(o, spec, a);
	if (!o->meta.labels && labels_of(spec)) {
		o->meta.labels = json_gets(json_gets(json_gets(spec, "template"), "metadata"), "labels");
	}
}

/* A copy of labels with one more, in order, unless they have it. */
static struct json *with_label(const struct json *labels, struct str name, struct str value, struct arena *a)
{
	struct json *ret = json_object(a);
	uint32_t i = 0;
	for (; labels && i < labels->n && str_cmp(labels->members[i].name, name) < 0; i++) {
		json_add(a, ret, labels->members[i].name, labels->members[i].value);
	}
	if (!labels || i == labels->n || !str_eq(labels->members[i].name, name)) {
		json_add(a, ret, name, json_string(a, value));
	}
	for (; labels && i < labels->n; i++) {
		json_add(a, ret, labels->members[i].name, labels->members[i].value);
	}
	return ret;
}

static struct json *generated_labels(const struct object *o, const struct json *labels, struct arena *a)
{
	struct json *ret = with_label(labels, LABEL_OLD_NAME, o->meta.name, a);
	ret = with_label(ret, LABEL_NAME, o->meta.name, a);
	ret = with_label(ret, LABEL_OLD_UID, o->meta.uid, a);
	return with_label(ret, LABEL_UID, o->meta.uid, a);
}

static struct json *generated_selector(const struct object *o, struct arena *a)
{
	const struct json *given = json_gets(object_spec(o), "selector");
	struct json *labels = with_label(json_gets(given, "matchLabels"), LABEL_UID, o->meta.uid, a);
	return schema_with(&type_label_selector, given ? json_copy(a, given) : json_object(a), "matchLabels", labels, a);
}

static struct json *with_labels(const struct json *template, struct json *labels, struct arena *a)
{
	const struct json *metadata = json_gets(template, "metadata");
	metadata = schema_with(&type_embedded_meta, metadata ? metadata : json_object(a), "labels", labels, a);
	return schema_with(
		&type_pod_template_spec, template ? template : json_object(a), "metadata", (struct json *)metadata, a);
}

void job_prepare_create(struct object *o, struct arena *a)
{
	struct json *spec = object_spec(o);
	const struct json *template = json_gets(spec, "template"), *labels = labels_of(spec);
	/* Labels that are the template's by default get what it gets. */
	bool is_shared = !o->meta.labels || o->meta.labels == labels;
	if (!member_is_true(spec, "manualSelector")) {
		struct json *all = generated_labels(o, labels, a);
		spec = schema_with(&type_batch_job_spec, spec, "selector", generated_selector(o, a), a);
		spec = schema_with(&type_batch_job_spec, spec, "template", with_labels(template, all, a), a);
		o->meta.labels = is_shared ? json_copy(a, all) : o->meta.labels;
	}
	object_set_spec(o, spec, a);
	object_set_status(o, schema_zero(&type_batch_job_status, a), a);
}

void cron_job_set_defaults(struct object *o, struct arena *a)
{
	struct json *spec = object_spec(o), *template = json_gets(spec, "jobTemplate");
	struct json *job = json_gets(template, "spec");
	if (job) {
		template = schema_with(&type_batch_job_template_spec, template, "spec", with_template_defaults(job, a), a);
		object_set_spec(o, schema_with(&type_batch_cron_job_spec, spec, "jobTemplate", template, a), a);
	}
}

void cron_job_prepare_create(struct object *o, struct arena *a)
{
	object_set_status(o, schema_zero(&type_batch_cron_job_status, a), a);
}

/* ---- warnings ---- */

enum {
	MANY_COMPLETIONS = 100000, /* completions of an Indexed Job, above which its pods are limited */
	MANY_PODS = 10000,         /* pods at a time, and indexes that may fail, of such a Job */
	INDEXED_PODS_MAX = 100000, /* pods at a time, and indexes that may fail, of any Indexed Job */
};

#define MANY_INDEXES                                                                                                            \
	": In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might " \
	"not be able to track completedIndexes when a big number of indexes fail"

static bool is_hard_to_track(const struct json *spec)
{
	return str_is(member_text(spec, "completionMode"), "Indexed") && member_int(spec, "completions") > MANY_COMPLETIONS &&
		member_int(spec, "parallelism") > MANY_PODS;
}

size_t job_warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX])
{
	assert(!old || o->kind == old->kind);
	size_t n = warn_of_name(o, old, ret);
	if (is_hard_to_track(object_spec(o)) && (!old || !json_equal(object_spec(o), object_spec(old)))) {
		ret[n++] = STR("spec" MANY_INDEXES);
	}
	return n;
}

size_t cron_job_warn(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX])
{
	assert(!old || o->kind == old->kind);
	size_t n = warn_of_name(o, old, ret);
	const struct json *job = json_gets(json_gets(object_spec(o), "jobTemplate"), "spec");
	if (is_hard_to_track(job) && (!old || !json_equal(object_spec(o), object_spec(old)))) {
		ret[n++] = STR("spec.jobTemplate.spec" MANY_INDEXES);
	}
	if (old && str_contains(member_text(object_spec(o), "schedule"), STR("TZ"))) {
		ret[n++] = STR("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
			       "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details");
	}
	return n;
}

/* ---- failure and success ---- */

enum {
	RULES_MAX = 20,                /* rules of a policy */
	EXIT_CODES_MAX = 255,          /* exit codes of a rule */
	PATTERNS_MAX = 20,             /* conditions of a rule */
	INDEXES_BYTES_MAX = 64 * 1024, /* bytes of a rule's list of indexes */
};

/* Where there are too many, those beyond are not looked at. */
static uint32_t check_count(struct field_errors *e, const struct where *at, const struct json *list, uint32_t max)
{
	uint32_t n = json_is(list, JSON_ARRAY) ? list->n : 0;
	if (n > max) {
		field_too_many(e, where_path(at, e->arena), n, max);
	}
	return MIN(n, max);
}

static void check_named(
	struct field_errors *e, const struct where *at, struct str s, const char *const *supported, const char *absent)
{
	if (!s.n) {
		refuse_absent(e, at, absent);
		return;
	}
	check_choice(e, at, s, supported, false);
}

static bool has_container(const struct json *template, struct str name)
{
	static const char *const lists[] = {"containers", "initContainers"};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct json *list = json_gets(json_gets(template, "spec"), lists[i]), *each;
		for (uint32_t j = 0; (each = list_item(list, j)); j++) {
			if (str_eq(member_text(each, "name"), name)) {
				return true;
			}
		}
	}
	return false;
}

static void check_exit_codes(struct field_errors *e, const struct where *at, const struct json *codes, bool is_in)
{
	bool is_ordered = true;
	if (!json_is(codes, JSON_ARRAY) || codes->n == 0) {
		refuse_invalid(e, at, codes, "at least one value is required");
	}
	uint32_t n = check_count(e, at, codes, EXIT_CODES_MAX);
	int64_t code = 0, other, last = 0;
	for (uint32_t i = 0; i < n; i++, last = code) {
		code = 0;
		json_to_int64(codes->items[i], &code);
		if (is_in && code == 0) {
			refuse_invalid(e, WHERE_ITEM(at, i), codes->items[i], "must not be 0 for the In operator");
		}
		for (uint32_t j = 0; j < i; j++) {
			if (json_to_int64(codes->items[j], &other) && other == code) {
				field_duplicate(e, where_path(WHERE_ITEM(at, i), e->arena), codes->items[i]);
				break;
			}
		}
		is_ordered = is_ordered && (i == 0 || last <= code);
	}
	if (!is_ordered) {
		refuse_invalid(e, at, codes, "must be ordered");
	}
}

static void check_on_exit_codes(
	struct field_errors *e, const struct where *at, const struct json *on, const struct json *template)
{
	static const char *const operators[] = {"In", "NotIn", NULL};
	const struct json *container = json_gets(on, "containerName");
	struct str operator= member_text(on, "operator");
	check_named(e, WHERE(at, "operator"), operator, operators, "valid values: [\"In\" \"NotIn\"]");
	if (container && !has_container(template, json_text(container))) {
		refuse_invalid(e, WHERE(at, "containerName"), container,
			"must be one of the container or initContainer names in the pod template");
	}
	check_exit_codes(e, WHERE(at, "values"), json_gets(on, "values"), str_is(operator, "In"));
}

static void check_on_conditions(struct field_errors *e, const struct where *at, const struct json *patterns)
{
	static const char *const statuses[] = {"False", "True", "Unknown", NULL};
	uint32_t n = check_count(e, at, patterns, PATTERNS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		const struct where *each = WHERE_ITEM(at, i);
		check_text(e, WHERE(each, "type"), member_text(patterns->items[i], "type"), validate_qualified_name);
		check_named(e, WHERE(each, "status"), member_text(patterns->items[i], "status"), statuses,
			"valid values: [\"False\" \"True\" \"Unknown\"]");
	}
}

static void check_failure_rule(struct field_errors *e, const struct where *at, const struct json *rule, const struct json *spec)
{
	static const char *const actions[] = {"Count", "FailIndex", "FailJob", "Ignore", NULL};
	const struct json *codes = json_gets(rule, "onExitCodes"), *patterns = json_gets(rule, "onPodConditions");
	struct str action = member_text(rule, "action");
	bool has_patterns = list_item(patterns, 0) != NULL;
	check_named(e, WHERE(at, "action"), action, actions, "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]");
	if (str_is(action, "FailIndex") && !json_gets(spec, "backoffLimitPerIndex")) {
		refuse_text(e, WHERE(at, "action"), action, "requires the backoffLimitPerIndex to be set");
	}
	if (codes) {
		check_on_exit_codes(e, WHERE(at, "onExitCodes"), codes, json_gets(spec, "template"));
	}
	check_on_conditions(e, WHERE(at, "onPodConditions"), patterns);
	if (codes && has_patterns) {
		field_invalid_whole(
			e, where_path(at, e->arena), "specifying both OnExitCodes and OnPodConditions is not supported");
	}
	if (!codes && !has_patterns) {
		field_invalid_whole(
			e, where_path(at, e->arena), "specifying one of OnExitCodes and OnPodConditions is required");
	}
}

static void check_failure_policy(struct field_errors *e, const struct where *at, const struct json *spec)
{
	const struct json *rules = json_gets(json_gets(spec, "podFailurePolicy"), "rules");
	uint32_t n = check_count(e, at, rules, RULES_MAX);
	for (uint32_t i = 0; i < n; i++) {
		check_failure_rule(e, WHERE_ITEM(at, i), rules->items[i], spec);
	}
}

static void check_at_most_of(
	struct field_errors *e, const struct where *at, const struct json *count, int64_t max, const char *of)
{
	int64_t n;
	if (json_to_int64(count, &n) && n > max) {
		field_invalid(e, where_path(at, e->arena), count, "must be less than or equal to %lld (the number of %s)",
			(long long)max, of);
	}
}

static void check_success_rule(struct field_errors *e, const struct where *at, const struct json *rule, int64_t completions)
{
	const struct json *indexes = json_gets(rule, "succeededIndexes"), *count = json_gets(rule, "succeededCount");
	const struct where *indexes_at = WHERE(at, "succeededIndexes"), *count_at = WHERE(at, "succeededCount");
	int64_t n = 0;
	if (!indexes && !count) {
		refuse_absent(e, at, "at least one of succeededCount or succeededIndexes must be specified");
	}
	if (indexes) {
		struct str problem = indexes_problem(json_text(indexes), completions, &n, e->arena);
		if (json_text(indexes).n > INDEXES_BYTES_MAX) {
			field_too_long(e, where_path(indexes_at, e->arena), INDEXES_BYTES_MAX);
		}
		if (problem.n) {
			field_invalid(e, where_path(indexes_at, e->arena), indexes, "error parsing succeededIndexes: " STR_FMT,
				STR_ARG(problem));
		}
	}
	if (count) {
		check_not_negative(e, count_at, count);
		check_at_most_of(e, count_at, count, completions, "specified completions");
	}
	if (count && indexes) {
		check_at_most_of(e, count_at, count, n, "indexes in the specified succeededIndexes field");
	}
}

/* As messages show it: upstream's own form has no names for JSON. */
static struct json *success_policy_in_go(const struct json *policy, struct arena *a)
{
	static const char *const members[] = {"succeededIndexes", "succeededCount"};
	static const char *const shown[] = {"SucceededIndexes", "SucceededCount"};
	const struct json *rules = json_gets(policy, "rules"), *rule;
	struct json *ret = json_object(a), *list = json_array(a);
	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		struct json *one = json_object(a);
		for (size_t j = 0; j < ARRAY_SIZE(members); j++) {
			struct json *value = json_gets(rule, members[j]);
			json_add(a, one, str_of(shown[j]), value ? value : json_null(a));
		}
		json_insert(a, list, list->n, one);
	}
	json_add(a, ret, STR("Rules"), list);
	return ret;
}

static void check_success_policy(struct field_errors *e, const struct where *at, const struct json *spec, bool is_indexed)
{
	const struct json *policy = json_gets(spec, "successPolicy"), *rules = json_gets(policy, "rules");
	const struct where *rules_at = WHERE(at, "rules");
	if (!is_indexed) {
		refuse_invalid(e, at, success_policy_in_go(policy, e->arena), "requires indexed completion mode");
		return;
	}
	if (!list_item(rules, 0)) {
		refuse_absent(e, rules_at, "at least one rules must be specified when the successPolicy is specified");
	}
	uint32_t n = check_count(e, rules_at, rules, RULES_MAX);
	for (uint32_t i = 0; i < n; i++) {
		check_success_rule(e, WHERE_ITEM(rules_at, i), rules->items[i], member_int(spec, "completions"));
	}
}

/* ---- what a Job is to be ---- */

static void check_numbers(struct field_errors *e, const struct where *at, const struct json *spec)
{
	static const char *const names[] = {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
		"ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		check_not_negative(e, WHERE_NAMED(at, names[i]), json_gets(spec, names[i]));
	}
	if (json_gets(spec, "maxFailedIndexes") && !json_gets(spec, "backoffLimitPerIndex")) {
		refuse_absent(e, WHERE(at, "backoffLimitPerIndex"), "when maxFailedIndexes is specified");
	}
}

static bool is_path(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		bool is_letter = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z');
		bool is_other = s.p[i] && strchr("0123456789/-._~%!$&'()*+,;=:", s.p[i]);
		if (!is_letter && !is_other) {
			return false;
		}
	}
	return true;
}

enum { MANAGED_BY_MAX = 63 }; /* bytes of the name of a Job's controller */

static void check_managed_by(struct field_errors *e, const struct where *at, const struct json *manager)
{
	struct str text = json_text(manager), host, path;
	if (!text.n) {
		refuse_absent(e, at, "");
	} else if (!str_cut(text, '/', &host, &path) || !host.n || !path.n) {
		refuse_text(e, at, text, "must be a domain-prefixed path (such as \"acme.io/foo\")");
	} else {
		check_text(e, at, host, validate_dns_subdomain);
		if (!is_path(path)) {
			refuse_text(
				e, at, path, "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
		}
	}
	if (text.n > MANAGED_BY_MAX) {
		field_too_long(e, where_path(at, e->arena), MANAGED_BY_MAX);
	}
}

static void check_below(struct field_errors *e, const struct where *at, const struct json *spec, const char *name, int64_t max,
	const char *message)
{
	check_range(e, WHERE_NAMED(at, name), json_gets(spec, name), INT64_MIN, max, message);
}

static void check_indexed(struct field_errors *e, const struct where *at, const struct json *spec)
{
	const struct json *completions = json_gets(spec, "completions"), *failed = json_gets(spec, "maxFailedIndexes");
	if (!completions) {
		refuse_absent(e, WHERE(at, "completions"), "when completion mode is Indexed");
	}
	check_below(e, at, spec, "parallelism", INDEXED_PODS_MAX,
		"must be less than or equal to 100000 when completion mode is Indexed");
	if (completions) {
		check_below(e, at, spec, "maxFailedIndexes", member_int(spec, "completions"),
			"must be less than or equal to completions");
	}
	check_below(e, at, spec, "maxFailedIndexes", INDEXED_PODS_MAX, "must be less than or equal to 100000");
	if (member_int(spec, "completions") <= MANY_COMPLETIONS || !json_gets(spec, "backoffLimitPerIndex")) {
		return;
	}
	if (!failed) {
		refuse_absent(e, WHERE(at, "maxFailedIndexes"), "must be specified when completions is above 100000");
	}
	check_below(e, at, spec, "parallelism", MANY_PODS,
		"must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index");
	check_below(e, at, spec, "maxFailedIndexes", MANY_PODS,
		"must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index");
}

static void check_mode(struct field_errors *e, const struct where *at, const struct json *spec)
{
	static const char *const modes[] = {"NonIndexed", "Indexed", NULL},
				 *const indexed_only[] = {"backoffLimitPerIndex", "maxFailedIndexes"};
	const struct json *mode = json_gets(spec, "completionMode");
	if (mode) {
		check_choice(e, WHERE(at, "completionMode"), json_text(mode), modes, false);
	}
	if (str_is(json_text(mode), "Indexed")) {
		check_indexed(e, at, spec);
	} else if (!mode || str_is(json_text(mode), "NonIndexed")) {
		for (size_t i = 0; i < ARRAY_SIZE(indexed_only); i++) {
			const struct json *number = json_gets(spec, indexed_only[i]);
			if (number) {
				refuse_invalid(e, WHERE_NAMED(at, indexed_only[i]), number, "requires indexed completion mode");
			}
		}
	}
}

static void check_replacement(struct field_errors *e, const struct where *at, const struct json *spec)
{
	static const char *const policies[] = {"Failed", "TerminatingOrFailed", NULL}, *const failed[] = {"Failed", NULL};
	const struct json *policy = json_gets(spec, "podReplacementPolicy");
	if (policy) {
		check_choice(e, at, json_text(policy), json_gets(spec, "podFailurePolicy") ? failed : policies, false);
	}
}

/* The pods of a Job come to an end. */
static void check_restarts(struct field_errors *e, const struct where *at, const struct json *spec)
{
	static const char *const restarts[] = {"OnFailure", "Never", NULL};
	struct str restart = member_text(json_gets(json_gets(spec, "template"), "spec"), "restartPolicy");
	if (!restart.n || str_is(restart, "Always")) {
		refuse_absent(e, at, "valid values: \"OnFailure\", \"Never\"");
	} else if (!str_is(restart, "OnFailure") && !str_is(restart, "Never")) {
		refuse_unsupported(e, at, restart, restarts);
	} else if (json_gets(spec, "podFailurePolicy") && !str_is(restart, "Never")) {
		refuse_text(e, at, restart, "only \"Never\" is supported when podFailurePolicy is specified");
	}
}

/* Rules for Jobs, and for the Jobs that a CronJob creates. */
static void check_common(struct field_errors *e, const struct where *at, const struct json *spec)
{
	const struct where *template_at = WHERE(at, "template");
	check_numbers(e, at, spec);
	if (json_gets(spec, "managedBy")) {
		check_managed_by(e, WHERE(at, "managedBy"), json_gets(spec, "managedBy"));
	}
	check_mode(e, at, spec);
	check_failure_policy(e, WHERE(WHERE(at, "podFailurePolicy"), "rules"), spec);
	if (json_gets(spec, "successPolicy")) {
		check_success_policy(
			e, WHERE(at, "successPolicy"), spec, str_is(member_text(spec, "completionMode"), "Indexed"));
	}
	check_replacement(e, WHERE(at, "podReplacementPolicy"), spec);
	pod_template_validate(template_at, json_gets(spec, "template"), e);
	check_restarts(e, WHERE(WHERE(template_at, "spec"), "restartPolicy"), spec);
}

static void check_spec(struct field_errors *e, const struct json *spec)
{
	static const struct selector_texts texts = {0};
	const struct where *at = WHERE(NULL, "spec");
	const struct json *given = json_gets(spec, "selector"), *labels = labels_of(spec);
	struct label_selector selector;
	check_common(e, at, spec);
	if (!given) {
		refuse_absent(e, WHERE(at, "selector"), "");
	}
	if (check_workload_selector(e, WHERE(at, "selector"), given, &texts, &selector) &&
		!selector_takes(given, &selector, labels, e->arena)) {
		refuse_invalid(e, WHERE(WHERE(WHERE(at, "template"), "metadata"), "labels"), labels,
			"`selector` does not match template `labels`");
	}
}

/* ---- Jobs ---- */

static void check_label(struct field_errors *e, const struct json *labels, struct str name, struct str expected)
{
	const struct where *at = WHERE(WHERE(WHERE(WHERE(NULL, "spec"), "template"), "metadata"), "labels");
	const struct json *label = json_get(labels, name);
	if (!label) {
		field_required(e, where_path(WHERE_KEY(at, name), e->arena), "must be '" STR_FMT "'", STR_ARG(expected));
	} else if (!str_eq(json_text(label), expected)) {
		field_invalid(e, where_path(WHERE_KEY(at, name), e->arena), labels, "must be '" STR_FMT "'", STR_ARG(expected));
	}
}

/* has_new: with the labels that have a domain, which old Jobs lack. */
static void check_generated(struct field_errors *e, const struct object *o, bool has_new)
{
	const struct json *spec = object_spec(o), *given = json_gets(spec, "selector"), *labels = labels_of(spec);
	struct json *expected =
		with_label(with_label(NULL, LABEL_OLD_NAME, o->meta.name, e->arena), LABEL_OLD_UID, o->meta.uid, e->arena);
	struct label_selector selector;
	struct str problem;
	if (member_is_true(spec, "manualSelector") || !given) {
		return;
	}
	check_label(e, labels, LABEL_OLD_UID, o->meta.uid);
	check_label(e, labels, LABEL_OLD_NAME, o->meta.name);
	if (has_new) {
		check_label(e, labels, LABEL_UID, o->meta.uid);
		check_label(e, labels, LABEL_NAME, o->meta.name);
		expected = generated_labels(o, NULL, e->arena);
	}
	if (!label_selector_read(&selector, given, e->arena, &problem) &&
		!selector_takes(given, &selector, expected, e->arena)) {
		refuse_invalid(e, WHERE(WHERE(NULL, "spec"), "selector"), given, "`selector` not auto-generated");
	}
}

/* A pod of an Indexed Job is named after its index, too. */
static void check_host_name(struct field_errors *e, const struct object *o)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	int64_t n = member_int(object_spec(o), "completions");
	struct str host = arena_printf(e->arena, STR_FMT "-%lld", STR_ARG(o->meta.name), (long long)n - 1);
	if (str_is(member_text(object_spec(o), "completionMode"), "Indexed") && n > 0 && validate_dns_label(host, messages)) {
		field_invalid_str(e, where_path(WHERE(WHERE(NULL, "metadata"), "name"), e->arena), o->meta.name,
			"will not able to create pod with invalid DNS label: " STR_FMT, STR_ARG(host));
	}
}

static void check_job(struct field_errors *e, const struct object *o, bool has_new_labels)
{
	check_generated(e, o, has_new_labels);
	check_spec(e, object_spec(o));
	check_host_name(e, o);
}

void job_validate(const struct object *o, struct field_errors *errors)
{
	check_job(errors, o, true);
}

static void check_completions(struct field_errors *e, const struct where *at, const struct json *spec, const struct json *old)
{
	const struct json *now = json_gets(spec, "completions");
	if (!str_is(member_text(spec, "completionMode"), "Indexed")) {
		check_fixed(e, at, now, json_gets(old, "completions"));
	} else if (now && !is_same_value(now, json_gets(old, "completions")) &&
		member_int(spec, "completions") != member_int(spec, "parallelism")) {
		refuse_invalid(e, at, now, "can only be modified in tandem with spec.parallelism");
	}
}

/* Before pods of it run, a Job may be sent elsewhere, and its containers may get other resources. */
static bool may_change_template(const struct object *old)
{
	bool has_not_started = !json_gets(object_status(old), "startTime") || job_has_condition(old, "Suspended");
	return member_is_true(object_spec(old), "suspend") && has_not_started && member_int(object_status(old), "active") == 0;
}

/* A copy of an object with a member of another one, or without it. */
static struct json *take_over(const struct json *to, const struct json *from, const char *name, struct arena *a)
{
	struct json *value = json_gets(from, name), *ret = to ? json_copy(a, to) : json_object(a);
	if (value) {
		json_set(a, ret, str_of(name), value);
	} else {
		json_remove(ret, str_of(name));
	}
	return ret;
}

static struct json *take_over_resources(const struct json *to, const struct json *from, struct arena *a)
{
	struct json *ret = json_array(a), *each;
	for (uint32_t i = 0; (each = list_item(to, i)); i++) {
		const struct json *other = list_item(from, i);
		bool is_same = str_eq(member_text(each, "name"), member_text(other, "name"));
		json_append(a, ret, is_same ? take_over(each, other, "resources", a) : each);
	}
	return ret;
}

/* Only the affinity to nodes may change; an empty affinity counts as none. */
static struct json *take_over_affinity(struct json *to, const struct json *from, struct arena *a)
{
	const struct json *now = json_gets(from, "affinity"), *before = json_gets(to, "affinity");
	if (!now && !before) {
		return to;
	}
	struct json *allowed = take_over(before, now, "nodeAffinity", a), *ret = json_copy(a, to);
	json_set(a, ret, STR("affinity"), allowed);
	if (!now && allowed->n == 0) {
		json_remove(ret, STR("affinity"));
	}
	return ret;
}

/* The pods' spec as it may be now: the old one, with what may change taken from the new one. */
static struct json *allowed_pod(const struct json *now, const struct json *before, struct arena *a)
{
	static const char *const names[] = {"nodeSelector", "tolerations", "schedulingGates"};
	static const char *const lists[] = {"containers", "initContainers"};
	struct json *ret = json_copy(a, before);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ret = take_over(ret, now, names[i], a);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct json *list = json_gets(ret, lists[i]), *other = json_gets(now, lists[i]);
		if (list && other && list->n == other->n) {
			json_set(a, ret, str_of(lists[i]), take_over_resources(list, other, a));
		}
	}
	return take_over_affinity(ret, now, a);
}

static void check_template_change(
	struct field_errors *e, const struct where *at, const struct json *spec, const struct object *old)
{
	const struct json *now = json_gets(spec, "template"), *before = json_gets(object_spec(old), "template");
	const struct json *pod = json_gets(now, "spec"), *old_pod = json_gets(before, "spec");
	if (!may_change_template(old)) {
		check_fixed(e, at, now, before);
	} else if (pod && old_pod && !is_same_value(pod, allowed_pod(pod, old_pod, e->arena))) {
		refuse_invalid(e, WHERE(at, "spec"), pod, "field is immutable");
	}
}

void job_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	static const char *const fixed[] = {
		"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"};
	const struct where *at = WHERE(NULL, "spec");
	const struct json *spec = object_spec(o), *old_spec = object_spec(old), *old_labels = labels_of(old_spec);
	check_job(errors, o, json_get(old_labels, LABEL_NAME) && json_get(old_labels, LABEL_UID));
	check_spec(errors, spec);
	check_completions(errors, WHERE(at, "completions"), spec, old_spec);
	check_fixed(errors, WHERE(at, "selector"), json_gets(spec, "selector"), json_gets(old_spec, "selector"));
	check_template_change(errors, WHERE(at, "template"), spec, old);
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		check_fixed(errors, WHERE_NAMED(at, fixed[i]), json_gets(spec, fixed[i]), json_gets(old_spec, fixed[i]));
	}
}

/* ---- CronJobs ---- */

static void check_schedule(struct field_errors *e, const struct where *at, const struct json *spec, const struct json *old)
{
	struct str schedule = member_text(spec, "schedule");
	bool has_zone = str_contains(schedule, STR("TZ")), had_zone = str_contains(member_text(old, "schedule"), STR("TZ"));
	if (!schedule.n) {
		refuse_absent(e, at, "");
		return;
	}
	struct str problem = cron_problem(schedule, e->arena);
	if (problem.n) {
		field_invalid_str(e, where_path(at, e->arena), schedule, STR_FMT, STR_ARG(problem));
	}
	if (has_zone && had_zone && json_gets(spec, "timeZone")) {
		refuse_text(e, at, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
	} else if (has_zone && !had_zone) {
		refuse_text(e, at, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
	}
}

static bool is_local(struct str zone)
{
	return zone.n == strlen("local") && strncasecmp(zone.p, "local", zone.n) == 0;
}

static void check_time_zone(struct field_errors *e, const struct where *at, const struct json *zone)
{
	struct str text = json_text(zone);
	if (!text.n) {
		refuse_text(e, at, text, "timeZone must be nil or non-empty string");
	} else if (!is_time_zone_name(text)) {
		field_invalid_str(e, where_path(at, e->arena), text, "unknown time zone " STR_FMT, STR_ARG(text));
	} else if (is_local(text)) {
		refuse_text(
			e, at, text, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
	}
}

static void check_job_template(struct field_errors *e, const struct where *at, const struct json *job)
{
	static const char *const supported[] = {"nil", "false", NULL};
	const struct json *selector = json_gets(job, "selector");
	check_common(e, at, job);
	if (selector) {
		refuse_invalid(e, WHERE(at, "selector"), selector, "`selector` will be auto-generated");
	}
	if (member_is_true(job, "manualSelector")) {
		refuse_unsupported_value(e, WHERE(at, "manualSelector"), json_gets(job, "manualSelector"), supported);
	}
}

static void check_cron_job(struct field_errors *e, const struct json *spec, const struct json *old)
{
	static const char *const policies[] = {"Allow", "Forbid", "Replace", NULL};
	const struct where *at = WHERE(NULL, "spec");
	const struct json *zone = json_gets(spec, "timeZone");
	check_schedule(e, WHERE(at, "schedule"), spec, old);
	check_not_negative(e, WHERE(at, "startingDeadlineSeconds"), json_gets(spec, "startingDeadlineSeconds"));
	if (zone && (!old || !is_same_value(zone, json_gets(old, "timeZone")))) {
		check_time_zone(e, WHERE(at, "timeZone"), zone);
	}
	check_choice(e, WHERE(at, "concurrencyPolicy"), member_text(spec, "concurrencyPolicy"), policies, true);
	check_job_template(e, WHERE(WHERE(at, "jobTemplate"), "spec"), json_gets(json_gets(spec, "jobTemplate"), "spec"));
	check_not_negative(e, WHERE(at, "successfulJobsHistoryLimit"), json_gets(spec, "successfulJobsHistoryLimit"));
	check_not_negative(e, WHERE(at, "failedJobsHistoryLimit"), json_gets(spec, "failedJobsHistoryLimit"));
}

enum { CRON_JOB_NAME_MAX = 52 }; /* characters of a CronJob's name: its Jobs have 11 more, and their pods' labels hold 63 */

void cron_job_validate(const struct object *o, struct field_errors *errors)
{
	check_cron_job(errors, object_spec(o), NULL);
	if (o->meta.name.n > CRON_JOB_NAME_MAX) {
		refuse_text(errors, WHERE(WHERE(NULL, "metadata"), "name"), o->meta.name, "must be no more than 52 characters");
	}
}

void cron_job_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	check_cron_job(errors, object_spec(o), object_spec(old));
}
