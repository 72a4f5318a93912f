/* A path is passed on as it came, so nothing may be read one way here and another way there.
 * Therefore it has no escapes at all: names of all these objects are DNS labels with dots. Queries
 * may have them in values, but not in names. */
#include "cli/ui/allowed.h"

enum {
	TARGET_MAX = 8192,
	ACCEPTED_MAX = 8,
};

static const struct {
	const char *prefix, *resources;
} groups[] = {
	{"/api/v1/", "pods"},
	{"/apis/apps/v1/", "statefulsets,deployments,daemonsets,replicasets,controllerrevisions"},
	{"/apis/annals.dev/v1/", "histories,recorders,controllerrevisions,providers,dependents"},
	{"/apis/annals.dev/v1beta1/", "statefulsets"},
};

/* Of their own: the objects that hold everything else are listed, and nothing more. */
static const char *const whole_paths[] = {"/api/v1/namespaces"};

static const char parameters[] = "allowWatchBookmarks,context,continue,fieldSelector,from,includeObject,labelSelector,limit,"
				 "resourceVersion,resourceVersionMatch,sendInitialEvents,timeoutSeconds,watch";

static const char *const media_types[] = {
	"application/json",
	"application/vnd.annals.hunks+json",
	"application/json;as=Table;v=v1;g=meta.k8s.io",
	"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
	"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
};

static bool is_among(const char *names, struct str name)
{
	struct str rest = str_of(names), each;
	while (rest.n > 0) {
		str_cut(rest, ',', &each, &rest);
		if (str_eq(each, name)) {
			return true;
		}
	}
	return false;
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* A name: never empty, and never one that leads elsewhere. */
static bool is_segment(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '.') {
			return false;
		}
	}
	return s.n > 0 && s.n <= 253 && is_alnum(s.p[0]);
}

/* The next segment of a path; false at its end, or where there is something else. */
static bool take_segment(struct str *rest, struct str *ret)
{
	bool has_more = str_cut(*rest, '/', ret, rest);
	return is_segment(*ret) && (!has_more || rest->n > 0);
}

/* [namespaces/NAMESPACE/]RESOURCE[/NAME[/diff]] */
static bool is_of_resources(struct str rest, const char *resources)
{
	struct str segment, namespace, name, subresource;
	if (!take_segment(&rest, &segment)) {
		return false;
	}
	if (str_is(segment, "namespaces") && (!take_segment(&rest, &namespace) || !take_segment(&rest, &segment))) {
		return false;
	}
	if (!is_among(resources, segment)) {
		return false;
	}
	if (rest.n == 0) {
		return true;
	}
	if (!take_segment(&rest, &name)) {
		return false;
	}
	if (rest.n == 0) {
		return true;
	}
	return str_is(segment, "controllerrevisions") && take_segment(&rest, &subresource) && rest.n == 0 &&
		str_is(subresource, "diff");
}

static bool is_known_path(struct str path)
{
	for (size_t i = 0; i < ARRAY_SIZE(whole_paths); i++) {
		if (str_is(path, whole_paths[i])) {
			return true;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		struct str prefix = str_of(groups[i].prefix);
		if (str_starts(path, prefix)) {
			return is_of_resources((struct str){path.p + prefix.n, path.n - prefix.n}, groups[i].resources);
		}
	}
	return false;
}

/* Text that no server takes for the end of something. */
static bool is_value(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!char_is_shown(s.p[i]) || strchr("#;\"<>\\^`{|}", s.p[i])) {
			return false;
		}
	}
	return true;
}

static bool is_known_query(struct str query)
{
	struct str pair, name, value;
	while (query.n > 0) {
		str_cut(query, '&', &pair, &query);
		str_cut(pair, '=', &name, &value);
		if (!is_among(parameters, name) || !is_value(value)) {
			return false;
		}
	}
	return true;
}

bool allowed_target(struct str path, struct str query, const char **ret_why)
{
	if (path.n + query.n > TARGET_MAX) {
		*ret_why = "the path is too long";
		return false;
	}
	if (!is_known_path(path)) {
		*ret_why = "the page has no need of this path";
		return false;
	}
	if (!is_known_query(query)) {
		*ret_why = "the page has no need of this query";
		return false;
	}
	return true;
}

static const char *known_type(struct str type)
{
	for (size_t i = 0; i < ARRAY_SIZE(media_types); i++) {
		if (str_is(type, media_types[i])) {
			return media_types[i];
		}
	}
	return str_is(type, "*/*") ? media_types[0] : NULL;
}

struct str allowed_accept(struct str accept, struct arena *a)
{
	struct str rest = accept.n ? accept : STR("*/*"), each, all = {0};
	for (size_t n = 0; rest.n > 0 && n < ACCEPTED_MAX;) {
		str_cut(rest, ',', &each, &rest);
		const char *type = known_type(str_trim(each));
		if (type) {
			all = n++ ? arena_printf(a, STR_FMT ",%s", STR_ARG(all), type) : arena_printf(a, "%s", type);
		}
	}
	return all;
}
