/* The rules of whole definitions: on create and update, and of conversion. Their defaults, warnings and conditions, too. */
#include "api/schema/crd.h"

#include "api/rules/validate.h"
#include "api/schema/gojson.h"
#include "api/schema/rules.h"

/* ---- conversion ---- */

static void check_url(struct str url, struct field_errors *e)
{
	static const char form[] = "; desired format: https://host[/path]";
	static const struct str path = {
		"spec.conversion.webhookClientConfig.url", sizeof("spec.conversion.webhookClientConfig.url") - 1};
	struct str rest = url, scheme = {0}, fragment = {0}, query = {0}, user = {0};
	for (size_t i = 0; i < url.n; i++) {
		if ((unsigned char)url.p[i] < ' ' || url.p[i] == 0x7f) {
			field_required(e, path,
				"url must be a valid URL: parse " STR_FMT ": net/url: invalid control character in URL%s",
				STR_ARG(go_quote(e->arena, url)), form);
			return;
		}
	}
	str_cut(rest, '#', &rest, &fragment);
	str_cut(rest, '?', &rest, &query);
	if (rest.n && rest.p[0] == ':') {
		field_required(e, path, "url must be a valid URL: parse " STR_FMT ": missing protocol scheme%s",
			STR_ARG(go_quote(e->arena, url)), form);
		return;
	}
	const char *colon = rest.n ? memchr(rest.p, ':', rest.n) : NULL, *slash = rest.n ? memchr(rest.p, '/', rest.n) : NULL;
	if (colon && (!slash || colon < slash)) {
		scheme = crd_lower((struct str){rest.p, (size_t)(colon - rest.p)}, e->arena);
		rest = (struct str){colon + 1, (size_t)(rest.p + rest.n - colon - 1)};
	}
	struct str host = {0};
	if (str_starts(rest, STR("//"))) {
		struct str authority = {rest.p + 2, rest.n - 2}, tail;
		str_cut(authority, '/', &authority, &tail);
		const char *at = authority.n ? memrchr(authority.p, '@', authority.n) : NULL;
		host = authority;
		if (at) {
			user = (struct str){authority.p, (size_t)(at - authority.p)};
			host = (struct str){at + 1, (size_t)(authority.p + authority.n - at - 1)};
		}
	}
	if (!str_is(scheme, "https")) {
		field_invalid_str(e, path, scheme, "'https' is the only allowed URL scheme%s", form);
	}
	if (!host.n) {
		field_invalid_str(e, path, host, "host must be specified%s", form);
	}
	if (user.p) {
		field_invalid_str(e, path, user, "user information is not permitted in the URL");
	}
	if (fragment.n) {
		field_invalid_str(e, path, fragment, "fragments are not permitted in the URL");
	}
	if (query.n) {
		field_invalid_str(e, path, query, "query parameters are not permitted in the URL");
	}
}

static void check_service_path(struct str path, struct field_errors *e)
{
	static const struct str at = {"spec.conversion.webhookClientConfig.service.path",
		sizeof("spec.conversion.webhookClientConfig.service.path") - 1};
	if (!path.n || str_is(path, "/")) {
		return;
	}
	if (str_is(path, "//")) {
		field_invalid_str(e, at, path, "segment[0] may not be empty");
		return;
	}
	if (path.p[0] != '/') {
		field_invalid_str(e, at, path, "must start with a '/'");
	}
	struct str rest = {path.p + 1, path.n - 1}, step;
	if (rest.n && rest.p[rest.n - 1] == '/') {
		rest.n--;
	}
	bool more = true;
	for (unsigned i = 0; more; i++) {
		const char *messages[VALIDATE_MESSAGES_MAX];
		more = str_cut(rest, '/', &step, &rest);
		if (!step.n) {
			field_invalid_str(e, at, path, "segment[%u] may not be empty", i);
			continue;
		}
		size_t n = validate_dns_subdomain(step, messages);
		for (size_t k = 0; k < n; k++) {
			field_invalid_str(e, at, path, "segment[%u]: %s", i, messages[k]);
		}
	}
}

static void check_service(const struct json *service, struct field_errors *e)
{
	/* Ports of TCP have 16 bits; another number is refused. */
	enum { PORT_DEFAULT = 443, PORT_MAX = 65535 };
	struct str path = STR("spec.conversion.webhookClientConfig.service");
	const struct json *port_json = crd_member(service, "port");
	int64_t port = PORT_DEFAULT;
	/* Upstream passes name and namespace in the wrong order. */
	if (!crd_text(service, "namespace").n) {
		field_required(e, field_path(e->arena, path, "name"), "%s", "");
	}
	if (!crd_text(service, "name").n) {
		field_required(e, field_path(e->arena, path, "namespace"), "%s", "");
	}
	if (port_json) {
		json_to_int64(port_json, &port);
	}
	if (port < 1 || port > PORT_MAX) {
		field_invalid(e, field_path(e->arena, path, "port"), json_int(e->arena, port),
			"port is not valid: must be between 1 and 65535, inclusive");
	}
	check_service_path(crd_text(service, "path"), e);
}

static void check_review_versions(const struct json *versions, bool requires_known, struct field_errors *e)
{
	struct str path = STR("spec.conversion.conversionReviewVersions");
	bool has_known = false;
	if (!crd_count(versions)) {
		field_required(e, path, "%s", "");
		return;
	}
	for (uint32_t i = 0; i < versions->n; i++) {
		struct str version = json_text(versions->items[i]), at = field_index(e->arena, path, i);
		const char *messages[VALIDATE_MESSAGES_MAX];
		bool is_seen = false;
		for (uint32_t k = 0; k < i; k++) {
			is_seen |= str_eq(version, json_text(versions->items[k]));
		}
		if (is_seen) {
			field_invalid_str(e, at, version, "duplicate version");
			continue;
		}
		size_t n = validate_dns1035_label(version, messages);
		for (size_t k = 0; k < n; k++) {
			field_invalid_str(e, at, version, "%s", messages[k]);
		}
		has_known |= str_is(version, "v1") || str_is(version, "v1beta1");
	}
	if (requires_known && !has_known) {
		field_invalid(e, path, versions, "must include at least one of v1, v1beta1");
	}
}

/* Are there certificates in it? The first conversion will show their worth. */
static bool is_bundle(struct str base64)
{
	static const char begin[] = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"; /* -----BEGIN CERTIFICATE----- */
	return str_contains(base64, STR(begin));
}

void crd_check_conversion(const struct json *conversion, const struct crd_options *options, struct field_errors *e)
{
	static const char *const strategies[] = {"None", "Webhook"};
	struct str path = STR("spec.conversion"), strategy = crd_text(conversion, "strategy");
	const struct json *webhook = crd_member(conversion, "webhook"), *config = crd_member(webhook, "clientConfig");
	const struct json *versions = crd_member(webhook, "conversionReviewVersions");
	struct str config_path = field_path(e->arena, path, "webhookClientConfig");
	if (!conversion) {
		return;
	}
	crd_check_choice(e, field_path(e->arena, path, "strategy"), strategy, strategies, ARRAY_SIZE(strategies));
	if (!str_is(strategy, "Webhook")) {
		if (config) {
			field_forbidden(e, config_path, "should not be set when strategy is not set to Webhook");
		}
		if (crd_count(versions)) {
			field_forbidden(e, field_path(e->arena, path, "conversionReviewVersions"),
				"should not be set when strategy is not set to Webhook");
		}
		return;
	}
	if (!config) {
		field_required(e, config_path, "required when strategy is set to Webhook");
	} else {
		const struct json *url = crd_member(config, "url"), *service = crd_member(config, "service");
		struct str bundle = crd_text(config, "caBundle");
		if (!url == !service) {
			field_required(e, config_path, "exactly one of url or service is required");
		} else if (url) {
			check_url(json_text(url), e);
		} else {
			check_service(service, e);
		}
		if (bundle.n && !options->allows_bad_bundle && !is_bundle(bundle)) {
			field_invalid_str(e, field_path(e->arena, config_path, "caBundle"), bundle,
				"unable to load root certificates: unable to parse bytes as PEM block");
		}
	}
	check_review_versions(versions, options->requires_versions, e);
}

/* ---- status ---- */

static void check_status(const struct object *o, struct field_errors *e)
{
	crd_check_names(crd_member(json_gets(o->fields, "status"), "acceptedNames"), STR("status.acceptedNames"), e);
}

static void check_stored_versions(const struct object *o, const struct form *f, struct field_errors *e)
{
	struct str path = STR("status.storedVersions");
	const struct json *stored = crd_member(json_gets(o->fields, "status"), "storedVersions");
	if (!crd_count(stored)) {
		field_invalid(e, path, stored, "must have at least one stored version");
		return;
	}
	for (uint32_t i = 0; i < crd_count(f->versions); i++) {
		struct str name = crd_text(f->versions->items[i], "name");
		bool is_stored = false;
		for (uint32_t k = 0; k < stored->n; k++) {
			is_stored |= str_eq(json_text(stored->items[k]), name);
		}
		if (crd_is_true(f->versions->items[i], "storage") && !is_stored) {
			field_invalid(e, path, stored, "must have the storage version " STR_FMT, STR_ARG(name));
		}
	}
	for (uint32_t i = 0; i < stored->n; i++) {
		struct str name = json_text(stored->items[i]);
		bool is_last = true;
		for (uint32_t k = i + 1; k < stored->n; k++) {
			is_last &= !str_eq(json_text(stored->items[k]), name);
		}
		if (is_last && !form_version(f, name)) {
			field_invalid_str(e, field_index(e->arena, path, i), name,
				"missing from spec.versions; " STR_FMT
				" was previously a storage version, and must remain in spec.versions until a storage migration "
				"ensures no data remains persisted in " STR_FMT " and removes " STR_FMT
				" from status.storedVersions",
				STR_ARG(name), STR_ARG(name), STR_ARG(name));
		}
	}
}

/* ---- approval ---- */

#define APPROVED "api-approved.kubernetes.io"

static bool is_protected(struct str group)
{
	return str_is(group, "k8s.io") || str_ends(group, STR(".k8s.io")) || str_is(group, "kubernetes.io") ||
		str_ends(group, STR(".kubernetes.io"));
}

/* scheme://host... */
static bool is_absolute_url(struct str s)
{
	struct str scheme, rest;
	if (!format_accepts(format_find(STR("uri"), STR("string")), s) || !str_cut(s, ':', &scheme, &rest)) {
		return false;
	}
	return scheme.n && str_starts(rest, STR("//")) && rest.n > 2 && rest.p[2] != '/' && rest.p[2] != '?';
}

enum crd_approval crd_approval(const struct object *o, struct arena *a, struct str *ret_reason)
{
	static const char see[] = "see https://github.com/kubernetes/enhancements/pull/1111";
	struct str annotation = json_text(json_gets(o->meta.annotations, APPROVED));
	*ret_reason = (struct str){0};
	if (!is_protected(crd_text(json_gets(o->fields, "spec"), "group"))) {
		return CRD_APPROVAL_NOT_NEEDED;
	}
	if (!annotation.n) {
		*ret_reason = arena_printf(a, "protected groups must have approval annotation \"" APPROVED "\", %s", see);
		return CRD_APPROVAL_MISSING;
	}
	if (str_starts(annotation, STR("unapproved"))) {
		*ret_reason = arena_printf(a, "not approved: " STR_FMT, STR_ARG(go_quote(a, annotation)));
		return CRD_APPROVAL_BYPASSED;
	}
	if (is_absolute_url(annotation)) {
		*ret_reason = arena_printf(a, "approved in " STR_FMT, STR_ARG(annotation));
		return CRD_APPROVED;
	}
	*ret_reason = arena_printf(a,
		"protected groups must have approval annotation \"" APPROVED
		"\" with either a URL or a reason starting with \"unapproved\", %s",
		see);
	return CRD_APPROVAL_INVALID;
}

static void check_approval(const struct object *o, const struct object *old, struct field_errors *e)
{
	static const struct str path = {"metadata.annotations[" APPROVED "]", sizeof("metadata.annotations[" APPROVED "]") - 1};
	struct str reason, ignored;
	enum crd_approval now = crd_approval(o, e->arena, &reason);
	if (old && now == crd_approval(old, e->arena, &ignored)) {
		return;
	}
	if (now == CRD_APPROVAL_MISSING) {
		field_required(e, path, STR_FMT, STR_ARG(reason));
	} else if (now == CRD_APPROVAL_INVALID) {
		field_invalid_str(e, path, json_text(json_gets(o->meta.annotations, APPROVED)), STR_FMT, STR_ARG(reason));
	}
}

static void check_preserve(const struct form *f, const struct form *old, struct field_errors *e)
{
	if (f->preserves && !(old && old->preserves)) {
		field_invalid(e, STR("spec.preserveUnknownFields"), json_bool(e->arena, true),
			"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead");
	}
}

/* ---- definitions ---- */

static void check_name(const struct object *o, const struct form *f, struct field_errors *e)
{
	struct str plural = crd_text(crd_member(f->spec, "names"), "plural"), group = crd_text(f->spec, "group");
	struct str required = arena_printf(e->arena, STR_FMT "." STR_FMT, STR_ARG(plural), STR_ARG(group));
	const struct {
		struct str path, name;
	} names[] = {{STR("metadata.generateName"), o->meta.generate_name}, {STR("metadata.name"), o->meta.name}};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].name.n && !str_eq(names[i].name, required)) {
			field_invalid_str(e, names[i].path, names[i].name, "must be spec.names.plural+\".\"+spec.group");
		}
	}
}

void crd_validate(const struct object *o, struct field_errors *errors)
{
	struct form f = crd_form(o);
	_cleanup_(patterns_done) struct patterns patterns = {0};
	const struct crd_options options = {
		.patterns = &patterns,
		.requires_versions = true,
		.requires_schema = true,
		.requires_types = true,
		.requires_structural = true,
		.requires_pruned = true,
		.requires_atomic_sets = true,
		.requires_map_keys = true,
		.allows_bad_bundle = true,
	};
	check_name(o, &f, errors);
	crd_check_spec(&f, NULL, options, errors);
	check_status(o, errors);
	check_stored_versions(o, &f, errors);
	check_approval(o, NULL, errors);
	check_preserve(&f, NULL, errors);
}

static bool is_established(const struct object *o)
{
	const struct json *conditions = crd_member(json_gets(o->fields, "status"), "conditions");
	for (uint32_t i = 0; i < crd_count(conditions); i++) {
		if (str_is(crd_text(conditions->items[i], "type"), "Established")) {
			return str_is(crd_text(conditions->items[i], "status"), "True");
		}
	}
	return false;
}

/* Do the rules of one kind find something in the definition? */
static bool violates(const struct form *f, struct crd_options only, struct arena *a)
{
	uint32_t at = 0;
	const struct spot top = {.name = STR("schema"), .kind = SPOT_MEMBER};
	for (const struct json *schema = form_next_schema(f, &at); schema; schema = form_next_schema(f, &at)) {
		struct field_errors with, without;
		struct str error;
		const struct crd_options none = {0};
		const struct node *n = schema_node(schema, only.patterns, a, &error);
		field_errors_init(&with, a);
		field_errors_init(&without, a);
		if (!n) {
			continue;
		}
		if (only.requires_structural) {
			if (node_unsupported(n) || structural_check(n, &top, &with)) {
				return true;
			}
			continue;
		}
		if (only.requires_pruned) {
			if (!node_unsupported(n) && !structural_check(n, &top, &with) && defaults_check(n, &top, true, &with) &&
				defaults_check(n, &top, false, &without) < with.n) {
				return true;
			}
			continue;
		}
		props_check(n, &only, &top, &with);
		props_check(n, &none, &top, &without);
		if (with.n + with.n_left_out > without.n + without.n_left_out) {
			return true;
		}
	}
	return false;
}

/* Rules that a stored definition breaks already need not be kept by its updates. */
static struct crd_options options_of_update(
	const struct object *old, const struct form *f, struct patterns *patterns, struct arena *a)
{
	const struct json *conversion = crd_member(f->spec, "conversion"), *webhook = crd_member(conversion, "webhook"),
			  *versions = crd_member(webhook, "conversionReviewVersions");
	struct str bundle = crd_text(crd_member(webhook, "clientConfig"), "caBundle");
	struct crd_options options = {.requires_names = is_established(old)};
	options.requires_versions = !crd_count(versions);
	for (uint32_t i = 0; i < crd_count(versions); i++) {
		struct str version = json_text(versions->items[i]);
		options.requires_versions |= str_is(version, "v1") || str_is(version, "v1beta1");
	}
	options.requires_schema = true;
	for (uint32_t i = 0; i < crd_count(f->versions); i++) {
		options.requires_schema &= version_schema(f->versions->items[i]) != NULL;
	}
	options.requires_types = !violates(f, (struct crd_options){.requires_types = true, .patterns = patterns}, a);
	options.requires_structural = !violates(f, (struct crd_options){.requires_structural = true, .patterns = patterns}, a);
	options.requires_pruned = !violates(f, (struct crd_options){.requires_pruned = true, .patterns = patterns}, a);
	options.requires_atomic_sets =
		!violates(f, (struct crd_options){.requires_atomic_sets = true, .patterns = patterns}, a);
	options.requires_map_keys = !violates(f, (struct crd_options){.requires_map_keys = true, .patterns = patterns}, a);
	options.allows_bad_bundle = !options.requires_names || (bundle.n && !is_bundle(bundle));
	return options;
}

static void check_same(struct str path, struct str now, struct str before, struct field_errors *e)
{
	if (!str_eq(now, before)) {
		field_invalid_str(e, path, now, "field is immutable");
	}
}

void crd_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	struct form f = crd_form(o), before = crd_form(old);
	_cleanup_(patterns_done) struct patterns old_patterns = {0};
	_cleanup_(patterns_done) struct patterns patterns = {0};
	struct crd_options options = options_of_update(old, &before, &old_patterns, errors->arena);
	const struct json *names = crd_member(f.spec, "names"), *old_names = crd_member(before.spec, "names");
	options.patterns = &patterns;
	crd_check_spec(&f, &before, options, errors);
	if (options.requires_names) {
		check_same(STR("spec.scope"), crd_text(f.spec, "scope"), crd_text(before.spec, "scope"), errors);
		check_same(STR("spec.names.kind"), crd_text(names, "kind"), crd_text(old_names, "kind"), errors);
	}
	check_same(STR("spec.group"), crd_text(f.spec, "group"), crd_text(before.spec, "group"), errors);
	check_same(STR("spec.names.plural"), crd_text(names, "plural"), crd_text(old_names, "plural"), errors);
	check_status(o, errors);
	check_stored_versions(o, &f, errors);
	check_approval(o, old, errors);
	check_preserve(&f, &before, errors);
}

void crd_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	(void)old;
	check_status(o, errors);
}

/* ---- defaults and preparation ---- */

static void set_text(struct arena *a, struct json *j, const char *name, struct str value)
{
	json_set(a, j, str_of(name), json_string(a, value));
}

/* The list with the storage version in it. */
static struct json *with_storage_version(const struct json *stored, const struct json *spec, struct arena *a)
{
	const struct json *versions = crd_member(spec, "versions");
	struct json *made = crd_count(stored) ? json_copy(a, stored) : json_array(a);
	for (uint32_t i = 0; i < crd_count(versions); i++) {
		if (!crd_is_true(versions->items[i], "storage")) {
			continue;
		}
		struct str name = crd_text(versions->items[i], "name");
		for (uint32_t k = 0; k < made->n; k++) {
			if (str_eq(json_text(made->items[k]), name)) {
				return made;
			}
		}
		json_append(a, made, json_string(a, name));
		break;
	}
	return made;
}

static void set_stored(struct object *o, const struct json *status, struct json *stored, struct arena *a)
{
	struct json *made = status ? json_copy(a, status) : json_object(a);
	if (stored->n) {
		json_set(a, made, STR("storedVersions"), stored);
	}
	object_set_status(o, made, a);
}

/* The versions with their schemas as Go writes them. */
static struct json *versions_shorten(const struct json *versions, struct arena *a)
{
	struct json *made = json_array(a);

	for (uint32_t i = 0; i < crd_count(versions); i++) {
		struct json *version = versions->items[i], *schema = json_gets(version, "schema");
		struct json *openapi = json_gets(schema, "openAPIV3Schema"),
			    *shorter = openapi ? gojson_shorten(openapi, a) : NULL;
		if (shorter != openapi) {
			schema = json_copy(a, schema);
			version = json_copy(a, version);
			json_set(a, schema, STR("openAPIV3Schema"), shorter);
			json_set(a, version, STR("schema"), schema);
		}
		json_append(a, made, version);
	}
	return made;
}

void crd_set_defaults(struct object *o, struct arena *a)
{
	const struct json *spec = json_gets(o->fields, "spec"), *names = crd_member(spec, "names");
	const struct json *status = json_gets(o->fields, "status");
	if (json_is(spec, JSON_OBJECT)) {
		struct json *made = json_copy(a, spec), *made_names = names ? json_copy(a, names) : json_object(a);
		struct str kind = crd_text(names, "kind");
		if (!crd_text(names, "singular").n && kind.n) {
			set_text(a, made_names, "singular", crd_lower(kind, a));
		}
		if (!crd_text(names, "listKind").n && kind.n) {
			set_text(a, made_names, "listKind", arena_printf(a, STR_FMT "List", STR_ARG(kind)));
		}
		json_set(a, made, STR("names"), made_names);
		if (crd_count(json_gets(spec, "versions"))) {
			json_set(a, made, STR("versions"), versions_shorten(json_gets(spec, "versions"), a));
		}
		if (!crd_member(spec, "conversion")) {
			struct json *conversion = json_object(a);
			set_text(a, conversion, "strategy", STR("None"));
			json_set(a, made, STR("conversion"), conversion);
		}
		json_set(a, o->fields, STR("spec"), made);
	}
	if (!crd_count(crd_member(status, "storedVersions"))) {
		set_stored(o, status, with_storage_version(NULL, spec, a), a);
	}
}

void crd_prepare_create(struct object *o, struct arena *a)
{
	set_stored(o, NULL, with_storage_version(NULL, json_gets(o->fields, "spec"), a), a);
	o->meta.generation = 1;
}

void crd_prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	const struct json *status = json_gets(old->fields, "status");
	set_stored(o, status, with_storage_version(crd_member(status, "storedVersions"), json_gets(o->fields, "spec"), a), a);
}

/* ---- warnings and conditions ---- */

struct warnings {
	struct arena *arena;
	struct str *v;
	size_t n;
};

static void warnings_add(struct warnings *w, struct str warning)
{
	for (size_t i = 0; i < w->n; i++) {
		if (str_eq(w->v[i], warning)) {
			return;
		}
	}
	if (w->n < CRD_WARNINGS_MAX) {
		w->v[w->n++] = warning;
	}
}

static void warn_of_formats(struct warnings *w, const struct node *n)
{
	if (!n) {
		return;
	}
	struct str format = crd_text(n->json, "format");
	if (format.n && format_find(format, crd_text(n->json, "type")) == FORMAT_NONE) {
		warnings_add(w, arena_printf(w->arena, "unrecognized format " STR_FMT, STR_ARG(go_quote(w->arena, format))));
	}
	warn_of_formats(w, n->items);
	warn_of_formats(w, n->additional);
	for (uint32_t i = 0; i < n->n_properties; i++) {
		warn_of_formats(w, n->properties[i].node);
	}
	for (size_t k = 0; n->checks && k < 3; k++) {
		const struct node_list_of *list = k == 0 ? &n->checks->all : k == 1 ? &n->checks->any : &n->checks->one;
		for (size_t i = 0; i < list->n; i++) {
			warn_of_formats(w, list->v[i]);
		}
	}
	if (n->checks) {
		warn_of_formats(w, n->checks->not );
	}
}

static void warn_of_definition(struct warnings *w, const struct object *o)
{
	struct form f = crd_form(o);
	uint32_t at = 0;
	bool has_rules = false;
	for (const struct json *schema = form_next_schema(&f, &at); schema; schema = form_next_schema(&f, &at)) {
		struct str error;
		const struct node *n = schema_node(schema, NULL, w->arena, &error);
		warn_of_formats(w, n);
		has_rules |= n && n->has_rules;
	}
	if (has_rules) {
		warnings_add(w, STR("x-kubernetes-validations are not evaluated by this server"));
	}
}

size_t crd_warn(const struct object *o, const struct object *old, struct arena *a, struct str ret[CRD_WARNINGS_MAX])
{
	struct str before[CRD_WARNINGS_MAX], now[CRD_WARNINGS_MAX];
	struct warnings w = {.arena = a, .v = now}, known = {.arena = a, .v = before};
	size_t n = 0;
	warn_of_definition(&w, o);
	if (old) {
		warn_of_definition(&known, old);
	}
	for (size_t i = 0; i < w.n; i++) {
		bool is_known = false;
		for (size_t k = 0; k < known.n; k++) {
			is_known |= str_eq(now[i], before[k]);
		}
		/* The warning about rules is repeated at each update. */
		if (!is_known || str_starts(now[i], STR("x-"))) {
			ret[n++] = now[i];
		}
	}
	return n;
}

struct str crd_nonstructural(const struct object *o, struct arena *a)
{
	struct form f = crd_form(o);
	struct buf out;
	_cleanup_(patterns_done) struct patterns patterns = {0};
	size_t n_texts = 0;
	buf_init(&out, TEXT_MAX);
	for (uint32_t i = 0; i < crd_count(f.versions) && (i == 0 || !f.one_schema); i++) {
		const struct json *schema = version_schema(f.versions->items[i]);
		struct field_errors found;
		struct str error = {0};
		struct str path = f.one_schema ? STR("spec.validation.openAPIV3Schema")
					       : arena_printf(a, "spec.versions[%u].schema.openAPIV3Schema", i);
		const struct spot at = {.name = path, .kind = SPOT_MEMBER};
		field_errors_init(&found, a);
		const struct node *n = schema ? schema_node(schema, &patterns, a, &error) : NULL;
		const char *unsupported = node_unsupported(n);
		if (unsupported || error.n) {
			buf_adds(&out, n_texts++ ? ", " : "");
			buf_printf(&out, STR_FMT ": Invalid value: \"\": %s" STR_FMT, STR_ARG(path),
				unsupported ? unsupported : "", STR_ARG(error));
		} else if (n) {
			structural_check(n, &at, &found);
		}
		for (size_t k = 0; k < found.n; k++) {
			buf_adds(&out, n_texts++ ? ", " : "");
			buf_add_str(&out, field_error_text(&found.v[k], a));
		}
	}
	struct str message =
		n_texts > 1 ? arena_printf(a, "[" STR_FMT "]", STR_ARG(buf_str(&out))) : arena_dup(a, buf_str(&out));
	buf_done(&out);
	return message;
}
