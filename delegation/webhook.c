/* Webhooks as the cluster configures them, and which writes they are for.
 *
 * A configuration is parsed once, so asking costs only comparisons. Webhooks that could never
 * match a kind of annals are dropped here, so in most clusters a write costs one load from
 * memory. A webhook that cannot be asked is kept with its problem: failurePolicy decides at each
 * write what that means. */
#include "delegation/webhook.h"

#include "api/model/members.h"
#include "base/base64.h"

#include <assert.h>
#include <stdio.h>

enum { CONFIGURATIONS_MAX = 64 << 20 }; /* bytes kept of all configurations */

/* ---- parts ---- */

/* Copies a text. Parsed text points into the configuration, which does not live as long as the
 * set. */
static struct str copy_text(const struct json *object, const char *name, struct arena *a)
{
	return arena_dup(a, member_text(object, name));
}

static struct texts read_texts(const struct json *list, struct arena *a)
{
	uint32_t n = json_is(list, JSON_ARRAY) ? list->n : 0;
	struct texts t = {.v = arena_array(a, struct str, n + 1), .n = n};
	for (uint32_t i = 0; i < n; i++) {
		t.v[i] = arena_dup(a, json_text(list->items[i]));
	}
	return t;
}

static enum webhook_scope scope_of(struct str name)
{
	if (!name.n || str_is(name, "*")) {
		return SCOPE_ALL;
	}
	return str_is(name, "Namespaced") ? SCOPE_NAMESPACED : str_is(name, "Cluster") ? SCOPE_CLUSTER : SCOPE_NONE;
}

void webhook_rule_read(struct webhook_rule *ret, const struct json *rule, struct arena *a)
{
	ret->operations = read_texts(json_gets(rule, "operations"), a);
	ret->groups = read_texts(json_gets(rule, "apiGroups"), a);
	ret->versions = read_texts(json_gets(rule, "apiVersions"), a);
	ret->resources = read_texts(json_gets(rule, "resources"), a);
	ret->scope = scope_of(member_text(rule, "scope"));
}

static bool names_or_all(const struct texts *t, const char *wanted)
{
	for (size_t i = 0; i < t->n; i++) {
		struct str head, tail;
		str_cut(t->v[i], '/', &head, &tail);
		if (str_is(head, "*") || str_is(head, wanted)) {
			return true;
		}
	}
	return false;
}

static bool concerns_kind(const struct webhook_rule *r, const struct kind *kind)
{
	for (size_t i = 0; i < kind->n_versions; i++) {
		const struct version *version = &kind->versions[i];
		if (version_is_visible(version, false) && names_or_all(&r->groups, version->group) &&
			names_or_all(&r->versions, version->name) && names_or_all(&r->resources, kind->resource)) {
			return true;
		}
	}
	return false;
}

bool webhook_rule_concerns_us(const struct webhook_rule *r)
{
	for (size_t i = 0; i < kind_count(); i++) {
		if (concerns_kind(r, kind_at(i))) {
			return true;
		}
	}
	return false;
}

/* Copies a selector's text, and parses the copy: its slices point into it. */
static void read_selector(struct webhook_selector *ret, const struct json *selector, struct arena *a)
{
	struct json *copy;
	size_t at;
	*ret = (struct webhook_selector){.is_absent = !json_is(selector, JSON_OBJECT)};
	if (ret->is_absent) {
		return;
	}
	struct str text = arena_dup(a, selector->source);
	if (json_parse(&copy, a, text, JSON_LIMITS_DEFAULT, &at)) {
		ret->problem = STR("the selector is too big");
	} else {
		label_selector_read(&ret->labels, copy, a, &ret->problem);
	}
}

/* ---- addresses ---- */

static struct str clean_path(struct str path, struct arena *a)
{
	char *out = arena_text(a, path.n + 2);
	size_t n = 0;
	for (struct str head, rest = path; rest.n;) {
		str_cut(rest, '/', &head, &rest);
		if (head.n) {
			out[n++] = '/';
			memcpy(out + n, head.p, head.n);
			n += head.n;
		}
	}
	if (n == 0) {
		out[n++] = '/';
	}
	out[n] = '\0';
	return (struct str){out, n};
}

static bool is_printable(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '"' || s.p[i] == '\\') {
			return false;
		}
	}
	return true;
}

/* Splits a URL. kube-apiserver allows only https without user, query and fragment; other URLs
 * are refused here too. */
static struct str split_url(struct webhook *h, struct str url, struct arena *a)
{
	struct str scheme = STR("https://");
	bool is_plain =
		str_starts(url, scheme) && is_printable(url) && !memchr(url.p, '?', url.n) && !memchr(url.p, '#', url.n);
	const char *end = is_plain ? memchr(url.p + scheme.n, '/', url.n - scheme.n) : NULL;
	struct str base = {url.p, end ? (size_t)(end - url.p) : url.n};
	if (!is_plain || memchr(base.p, '@', base.n)) {
		h->target_problem = STR("the webhook's URL is no plain https URL");
		return (struct str){0};
	}
	h->path = clean_path((struct str){url.p + base.n, url.n - base.n}, a);
	return base;
}

static struct str split_service(struct webhook *h, const struct json *service, struct arena *a)
{
	int64_t port = member_int(service, "port");
	struct str name = member_text(service, "name"), ns = member_text(service, "namespace"),
		   path = member_text(service, "path");
	if (!is_printable(name) || !is_printable(ns) || !is_printable(path)) {
		h->target_problem = STR("the webhook's service has no name that could be looked up");
		return (struct str){0};
	}
	h->path = clean_path(path, a);
	return arena_printf(a, "https://" STR_FMT "." STR_FMT ".svc:%d", STR_ARG(name), STR_ARG(ns), port ? (int)port : 443);
}

static struct str base_of(struct webhook *h, const struct json *config, struct arena *a)
{
	const struct json *service = json_gets(config, "service");
	struct str url = member_text(config, "url");
	if (json_is(service, JSON_OBJECT)) {
		return split_service(h, service, a);
	}
	if (url.n) {
		return split_url(h, url, a);
	}
	h->target_problem = STR("webhook configuration must have either service or URL");
	return (struct str){0};
}

static bool read_bundle(const char **ret, struct str encoded, struct arena *a)
{
	size_t n;
	*ret = NULL;
	if (!encoded.n) {
		return true;
	}
	char *pem = arena_text(a, BASE64_ROOM(encoded.n) + 1);
	if (!base64_decode(pem, encoded, &n)) {
		return false;
	}
	pem[n] = '\0';
	*ret = pem;
	return true;
}

void webhook_target_read(struct webhook *h, const struct json *config, struct arena *a)
{
	const char *bundle;
	struct str base = base_of(h, config, a);
	if (!base.n) {
		return;
	}
	if (!read_bundle(&bundle, member_text(config, "caBundle"), a)) {
		h->target_problem = STR("the webhook's caBundle is no base64");
		return;
	}
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 1024);
	if (peer_new(&h->peer, base, bundle, &err)) {
		h->target_problem = arena_dup(a, buf_str(&err));
	}
}

/* ---- one webhook ---- */

static enum webhook_side_effects side_effects_of(struct str name)
{
	if (!name.n) {
		return SIDE_EFFECTS_UNSAID;
	}
	return str_is(name, "None") || str_is(name, "NoneOnDryRun") ? SIDE_EFFECTS_NONE_ON_DRY_RUN : SIDE_EFFECTS_SOME;
}

static const char *review_version_of(const struct json *versions)
{
	static const char *const known[] = {"v1", "v1beta1"};
	return list_first_known(versions, known, ARRAY_SIZE(known));
}

static bool read_rules(struct webhook *h, const struct json *rules, struct arena *a)
{
	bool concerns_us = false;
	h->n_rules = json_is(rules, JSON_ARRAY) ? rules->n : 0;
	h->rules = arena_array(a, struct webhook_rule, h->n_rules + 1);
	for (size_t i = 0; i < h->n_rules; i++) {
		webhook_rule_read(&h->rules[i], rules->items[i], a);
		concerns_us = concerns_us || webhook_rule_concerns_us(&h->rules[i]);
	}
	return concerns_us;
}

static void read_webhook(struct webhook *h, const struct json *j, struct arena *a)
{
	h->name = copy_text(j, "name", a);
	h->is_equivalent = str_is(member_text(j, "matchPolicy"), "Equivalent");
	read_selector(&h->namespaces, json_gets(j, "namespaceSelector"), a);
	read_selector(&h->objects, json_gets(j, "objectSelector"), a);
	h->ignores_failure = str_is(member_text(j, "failurePolicy"), "Ignore");
	h->is_reinvocable = str_is(member_text(j, "reinvocationPolicy"), "IfNeeded");
	h->side_effects = side_effects_of(member_text(j, "sideEffects"));
	h->timeout_s = MAX(member_int(j, "timeoutSeconds"), 0);
	h->review_version = review_version_of(json_gets(j, "admissionReviewVersions"));
	webhook_target_read(h, json_gets(j, "clientConfig"), a);
}

/* ---- sets ---- */

static void note_conditions(const struct webhook *h, const struct json *j, struct buf *notices)
{
	if (member_count(j, "matchConditions") > 0) {
		buf_printf(notices,
			"webhook \"" STR_FMT "\" of configuration \"" STR_FMT
			"\" has matchConditions, which are not evaluated here: it is called as if they were true\n",
			STR_ARG(h->name), STR_ARG(h->configuration));
	}
}

static void add_webhook(
	struct webhook_set *s, struct str configuration, const struct json *j, size_t index, struct buf *notices)
{
	struct webhook h = {.configuration = configuration, .index = index};
	if (!read_rules(&h, json_gets(j, "rules"), &s->arena)) {
		return;
	}
	s->is_over = s->is_over || s->n == WEBHOOKS_MAX || arena_is_full(&s->arena);
	if (s->is_over) {
		return;
	}
	read_webhook(&h, j, &s->arena);
	note_conditions(&h, j, notices);
	assert(s->n < WEBHOOKS_MAX);
	s->v[s->n++] = h;
}

struct webhook_set *webhook_set_new(const struct json *const *configurations, size_t n, struct buf *notices)
{
	struct webhook_set *s = mem_new(struct webhook_set);
	size_t index = 0;
	s->refs = 1;
	arena_init(&s->arena, CONFIGURATIONS_MAX);
	s->v = arena_array(&s->arena, struct webhook, WEBHOOKS_MAX);
	for (size_t i = 0; i < n; i++) {
		const struct json *webhook, *webhooks = json_gets(configurations[i], "webhooks");
		struct str name = copy_text(json_gets(configurations[i], "metadata"), "name", &s->arena);
		for (uint32_t k = 0; (webhook = list_item(webhooks, k)); k++) {
			add_webhook(s, name, webhook, index++, notices);
		}
	}
	if (s->is_over) {
		buf_printf(notices, "more than %d admission webhooks concern the kinds served here: all writes are refused\n",
			WEBHOOKS_MAX);
	}
	return s;
}

struct webhook_set *webhook_set_ref(struct webhook_set *s)
{
	assert(s->refs > 0);
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

struct webhook_set *webhook_set_unref(struct webhook_set *s)
{
	assert(!s || s->refs > 0);
	if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
		for (size_t i = 0; i < s->n; i++) {
			peer_free(s->v[i].peer);
		}
		arena_done(&s->arena);
		mem_free(s);
	}
	return NULL;
}

/* ---- matching ----
 *
 * Upstream's predicates, over tables of texts. Both states of an object are checked: removing a
 * label must not bypass the webhook that selects it. Equivalent rules are tried on the kind's
 * other versions, since all lead to one object. */

static bool list_has_or_all(const struct texts *t, struct str wanted)
{
	for (size_t i = 0; i < t->n; i++) {
		if (str_is(t->v[i], "*") || str_eq(t->v[i], wanted)) {
			return true;
		}
	}
	return false;
}

static bool is_in_scope(enum webhook_scope scope, struct str ns)
{
	switch (scope) {
	case SCOPE_ALL:
		return true;
	case SCOPE_NAMESPACED:
		return ns.n > 0;
	case SCOPE_CLUSTER:
		return ns.n == 0;
	case SCOPE_NONE:
		break;
	}
	return false;
}

/* Matches a resource. "pods" is the resource alone; a slash means subresources: the named one,
 * or all with "*". */
static bool has_resource(const struct texts *t, struct str resource, struct str subresource)
{
	for (size_t i = 0; i < t->n; i++) {
		struct str head, tail;
		str_cut(t->v[i], '/', &head, &tail);
		bool is_resource = str_is(head, "*") || str_eq(head, resource);
		if (is_resource && (str_is(tail, "*") || str_eq(tail, subresource))) {
			return true;
		}
	}
	return false;
}

bool webhook_rule_matches(const struct webhook_rule *r, const struct webhook_question *q, const struct version *version)
{
	assert(q->kind && q->operation);
	return is_in_scope(r->scope, q->ns) && list_has_or_all(&r->operations, str_of(q->operation)) &&
		list_has_or_all(&r->groups, str_of(version->group)) && list_has_or_all(&r->versions, str_of(version->name)) &&
		has_resource(&r->resources, str_of(q->kind->resource), q->subresource);
}

/* Returns another version that the rule matches. Only versions that are open behind a kube-apiserver
 * count. */
static const struct version *other_version(const struct webhook_rule *r, const struct webhook_question *q)
{
	for (size_t i = 0; i < q->kind->n_versions; i++) {
		const struct version *version = &q->kind->versions[i];
		if (version != q->version && version_is_visible(version, false) && webhook_rule_matches(r, q, version)) {
			return version;
		}
	}
	return NULL;
}

const struct version *webhook_version(const struct webhook *h, const struct webhook_question *q)
{
	for (size_t i = 0; i < h->n_rules; i++) {
		if (webhook_rule_matches(&h->rules[i], q, q->version)) {
			return q->version;
		}
	}
	const struct version *version = NULL;
	for (size_t i = 0; i < h->n_rules && h->is_equivalent && !version; i++) {
		version = other_version(&h->rules[i], q);
	}
	return version;
}

static bool is_empty(const struct webhook_selector *s)
{
	return !s->is_absent && !s->problem.n && s->labels.n == 0;
}

bool webhook_looks_at_namespace(const struct webhook *h, const struct webhook_question *q)
{
	return q->ns.n > 0 && !is_empty(&h->namespaces);
}

bool webhook_selects(const struct webhook_selector *s, const struct label *labels, size_t n)
{
	return !s->is_absent && label_selector_matches(&s->labels, labels, n);
}

static bool selects_one(const struct webhook_selector *s, const struct object *o, struct arena *a)
{
	if (!o) {
		return false;
	}
	const struct label *labels;
	size_t n = labels_read(&labels, o->meta.labels, a);
	return webhook_selects(s, labels, n);
}

bool webhook_selects_object(const struct webhook *h, const struct object *object, const struct object *old, struct arena *a)
{
	return is_empty(&h->objects) || selects_one(&h->objects, object, a) || selects_one(&h->objects, old, a);
}
