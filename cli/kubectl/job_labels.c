/* As generateSelector() and SetDefaults_Job() of Kubernetes have it: a Job without labels of its own shows those of its
 * template. */
#include "cli/kubectl/job_labels.h"

#include "api/model/members.h"

static const struct str of_uid[] = {{"controller-uid", 14}, {"batch.kubernetes.io/controller-uid", 34}};
static const struct str of_name[] = {{"job-name", 8}, {"batch.kubernetes.io/job-name", 28}};

static const char *const selector_path[] = {"spec", "selector", "matchLabels", NULL};
static const char *const template_path[] = {"spec", "template", "metadata", "labels", NULL};
static const char *const own_path[] = {"metadata", "labels", NULL};

static bool is_generated(const struct json *state)
{
	return str_starts(member_text(state, "apiVersion"), STR("batch/")) && str_is(member_text(state, "kind"), "Job") &&
		!member_is_true(json_gets(state, "spec"), "manualSelector");
}

static const struct json *at_path(const struct json *value, const char *const *path)
{
	for (; *path; path++) {
		value = json_gets(value, *path);
	}
	return value;
}

static bool names_uid(const struct json *labels)
{
	return json_get(labels, of_uid[0]) || json_get(labels, of_uid[1]);
}

/* NULL: nothing is left. */
static struct json *renewed(const struct json *labels, const struct json *live, struct arena *a)
{
	struct json *ret = json_copy(a, labels);
	for (size_t i = 0; i < ARRAY_SIZE(of_uid); i++) {
		struct json *value = json_get(live, of_uid[i]);
		json_remove(ret, of_uid[i]);
		if (value) {
			json_set(a, ret, of_uid[i], value);
		}
	}
	return ret->n ? ret : NULL;
}

/* A copy in which the value at the path is another one, or gone with whatever has become empty by that. NULL: all of it. */
static struct json *with(const struct json *value, const char *const *path, struct json *wanted, struct arena *a)
{
	if (!*path) {
		return wanted;
	}
	struct json *ret = json_copy(a, value), *inner = with(json_gets(value, *path), path + 1, wanted, a);
	if (inner) {
		json_set(a, ret, str_of(*path), inner);
	} else {
		json_remove(ret, str_of(*path));
	}
	return ret->n ? ret : NULL;
}

static const struct json *renew(const struct json *state, const struct json *live, const char *const *path, struct arena *a)
{
	const struct json *labels = at_path(state, path);
	return names_uid(labels) ? with(state, path, renewed(labels, at_path(live, path), a), a) : state;
}

static bool is_of_name(struct str label)
{
	return str_eq(label, of_name[0]) || str_eq(label, of_name[1]);
}

/* Nobody gave it labels: they would be shown again once the template has its own. */
static const struct json *without_shown(const struct json *state, struct arena *a)
{
	const struct json *labels = at_path(state, own_path);
	bool is_shown = names_uid(labels);
	for (uint32_t i = 0; is_shown && i < labels->n; i++) {
		struct str name = labels->members[i].name;
		is_shown = str_eq(name, of_uid[0]) || str_eq(name, of_uid[1]) || is_of_name(name);
	}
	return is_shown ? with(state, own_path, NULL, a) : state;
}

const struct json *job_labels_renew(const struct json *state, const struct json *live, struct arena *a)
{
	if (!is_generated(state)) {
		return state;
	}
	state = live ? state : without_shown(state, a);
	state = renew(state, live, own_path, a);
	state = renew(state, live, template_path, a);
	return renew(state, live, selector_path, a);
}
