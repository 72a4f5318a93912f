/* Job and CronJob: annals keeps the objects. Nobody here makes the pods of Jobs, or the Jobs of CronJobs. */
#include "api/core/pod_columns.h"
#include "api/model/members.h"
#include "api/rules/selector.h"
#include "api/rules/spec_status.h"
#include "api/upstream/upstream.h"
#include "api/workload/job_rules.h"
#include "api/workload/job_status.h"
#include "base/clock.h"

static void write_text(const char *text, struct buf *out)
{
	json_encode_string(out, str_of(text));
}

static void write_label_selector(const struct json *given, struct buf *out)
{
	struct label_selector selector;
	struct str problem, text = {0};
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, TEXT_MAX);
	if (json_is(given, JSON_OBJECT)) {
		text = label_selector_read(&selector, given, &a, &problem) ? STR("<error>")
									   : label_selector_string(&selector, &a);
	}
	json_encode_string(out, text.n ? text : STR("<none>"));
}

#define COLUMNS_TEMPLATE(containers, images, selector)                                                              \
	{"Containers", "string", "", "Names of each container in the template.", 1, containers, false},             \
		{"Images", "string", "", "Images referenced by each container in the template.", 1, images, false}, \
	{                                                                                                           \
		"Selector", "string", "", "Labels of the pods.", 1, selector, false                                 \
	}

enum { READ_AND_WRITE = VERB_GET | VERB_UPDATE | VERB_PATCH };

/* ---- Job ---- */

static void write_status(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	static const char *const ends[] = {"Complete", "Failed"},
				 *const others[] = {"Suspended", "FailureTarget", "SuccessCriteriaMet"};
	const char *found = NULL;
	for (size_t i = 0; !found && i < ARRAY_SIZE(ends); i++) {
		found = job_has_condition(o, ends[i]) ? ends[i] : NULL;
	}
	found = !found && o->meta.deletion_timestamp.n ? "Terminating" : found;
	for (size_t i = 0; !found && i < ARRAY_SIZE(others); i++) {
		found = job_has_condition(o, others[i]) ? others[i] : NULL;
	}
	write_text(found ? found : "Running", out);
}

static void write_completions(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	long long succeeded = member_int(object_status(o), "succeeded"), pods = member_int(object_spec(o), "parallelism");
	if (json_gets(object_spec(o), "completions")) {
		buf_printf(out, "\"%lld/%lld\"", succeeded, (long long)member_int(object_spec(o), "completions"));
	} else if (pods > 1) {
		buf_printf(out, "\"%lld/1 of %lld\"", succeeded, pods);
	} else {
		buf_printf(out, "\"%lld/1\"", succeeded);
	}
}

static void write_duration(const struct object *o, int64_t now_s, struct buf *out)
{
	char text[32] = "";
	int64_t from_us, to_us = now_s * 1000000;
	const struct json *end = json_gets(object_status(o), "completionTime");
	if (time_parse_rfc3339(member_text(object_status(o), "startTime"), &from_us) &&
		(!end || time_parse_rfc3339(json_text(end), &to_us))) {
		duration_format_human(text, (to_us - from_us) / 1000000);
	}
	write_text(text, out);
}

static void write_containers(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	pod_template_write(json_gets(object_spec(o), "template"), "name", out);
}

static void write_images(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	pod_template_write(json_gets(object_spec(o), "template"), "image", out);
}

static void write_selector(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_label_selector(json_gets(object_spec(o), "selector"), out);
}

static const struct column job_columns[] = {
	COLUMN_NAME,
	{"Status", "string", "", "Status of the job.", 0, write_status, false},
	{"Completions", "string", "", "How many pods succeeded, of how many that must.", 0, write_completions, false},
	{"Duration", "string", "", "Time required to complete the job.", 0, write_duration, false},
	COLUMN_AGE,
	COLUMNS_TEMPLATE(write_containers, write_images, write_selector),
};

static struct str select_successful(const struct object *o, struct arena *a)
{
	return arena_printf(a, "%lld", (long long)member_int(object_status(o), "succeeded"));
}

static const struct selectable_field job_selectable[] = {
	{"status.successful", select_successful, false},
};

static const struct subresource job_subresources[] = {
	{.name = "status",
		.verbs = READ_AND_WRITE,
		.merge = merge_status,
		.validate_update = job_validate_status,
		.reset_fields = resets_spec},
};

static const struct version job_versions[] = {
	{.group = "batch", .name = "v1", .definition = "io.k8s.api.batch.v1.Job", .standalone_only = true},
};

static struct kind job = {
	.kind = "Job",
	.list_kind = "JobList",
	.resource = "jobs",
	.singular = "job",
	.categories = (const char *const[]){"all", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.dependents = DEPENDENTS_ORPHANED,
	.orphans_warning =
		"child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
		"propagationPolicy=Orphan to suppress this warning",
	.versions = job_versions,
	.n_versions = ARRAY_SIZE(job_versions),
	.type = &type_batch_job,
	.doc = "Pods that run until they are done. annals keeps it, and runs no pods of it.",
	.unconditional_update = true,
	.reset_fields = resets_status,
	.set_defaults = job_set_defaults,
	.prepare_create = job_prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = bumps_generation_of_spec,
	.validate = job_validate,
	.validate_update = job_validate_update,
	.warn = job_warn,
	.columns = job_columns,
	.n_columns = ARRAY_SIZE(job_columns),
	.selectable = job_selectable,
	.n_selectable = ARRAY_SIZE(job_selectable),
	.subresources = job_subresources,
	.n_subresources = ARRAY_SIZE(job_subresources),
};
KIND_REGISTER(job)

/* ---- CronJob ---- */

static void write_schedule(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	json_encode_string(out, member_text(object_spec(o), "schedule"));
}

static void write_time_zone(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	const struct json *zone = json_gets(object_spec(o), "timeZone");
	json_encode_string(out, zone ? json_text(zone) : STR("<none>"));
}

static void write_suspend(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_text(member_is_true(object_spec(o), "suspend") ? "True" : "False", out);
}

static void write_active(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	buf_add_int(out, member_count(object_status(o), "active"));
}

static void write_last_schedule(const struct object *o, int64_t now_s, struct buf *out)
{
	struct str last = member_text(object_status(o), "lastScheduleTime");
	if (last.n) {
		column_write_since(last, now_s, out);
	} else {
		write_text("<none>", out);
	}
}

static const struct json *job_of(const struct object *o)
{
	return json_gets(json_gets(object_spec(o), "jobTemplate"), "spec");
}

static void write_job_containers(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	pod_template_write(json_gets(job_of(o), "template"), "name", out);
}

static void write_job_images(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	pod_template_write(json_gets(job_of(o), "template"), "image", out);
}

static void write_job_selector(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_label_selector(json_gets(job_of(o), "selector"), out);
}

static const struct column cron_job_columns[] = {
	COLUMN_NAME,
	{"Schedule", "string", "", "When Jobs are made, as cron has it.", 0, write_schedule, false},
	{"Timezone", "string", "", "The time zone of the schedule.", 0, write_time_zone, false},
	{"Suspend", "boolean", "", "Whether no more Jobs are made.", 0, write_suspend, false},
	{"Active", "integer", "", "How many Jobs run.", 0, write_active, false},
	{"Last Schedule", "string", "", "How long ago a Job was made.", 0, write_last_schedule, false},
	COLUMN_AGE,
	COLUMNS_TEMPLATE(write_job_containers, write_job_images, write_job_selector),
};

static const struct subresource cron_job_subresources[] = {
	{.name = "status", .verbs = READ_AND_WRITE, .merge = merge_status, .reset_fields = resets_spec},
};

static const struct version cron_job_versions[] = {
	{.group = "batch", .name = "v1", .definition = "io.k8s.api.batch.v1.CronJob", .standalone_only = true},
};

static struct kind cronjob = {
	.kind = "CronJob",
	.list_kind = "CronJobList",
	.resource = "cronjobs",
	.singular = "cronjob",
	.short_names = (const char *const[]){"cj", NULL},
	.categories = (const char *const[]){"all", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = cron_job_versions,
	.n_versions = ARRAY_SIZE(cron_job_versions),
	.type = &type_batch_cron_job,
	.doc = "Jobs that are made at certain times. annals keeps it, and makes no Jobs of it.",
	.unconditional_update = true,
	.retired_versions = (const char *const[]){"batch/v1beta1", NULL},
	.reset_fields = resets_status,
	.set_defaults = cron_job_set_defaults,
	.prepare_create = cron_job_prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = bumps_generation_of_spec,
	.validate = cron_job_validate,
	.validate_update = cron_job_validate_update,
	.warn = cron_job_warn,
	.columns = cron_job_columns,
	.n_columns = ARRAY_SIZE(cron_job_columns),
	.subresources = cron_job_subresources,
	.n_subresources = ARRAY_SIZE(cron_job_subresources),
};
KIND_REGISTER(cronjob)
