/* The annotations have paths. A path names members, from the object down. That of an immutable field never leads into
 * a list, whose items have no lasting names. */
#include "api/custom/declared.h"

#include "api/custom/definition.h"
#include "api/model/members.h"
#include "api/rules/validate.h"

static void references_validate(const struct object *definition, struct field_errors *errors);

/* ---- texts ---- */

static struct str annotation_of(const struct object *definition, const char *name)
{
	return json_text(json_gets(definition->meta.annotations, name));
}

struct str declared_text(const struct object *definition, struct arena *a)
{
	return arena_printf(a, STR_FMT "\n" STR_FMT, STR_ARG(annotation_of(definition, ANNOTATION_IMMUTABLE)),
		STR_ARG(annotation_of(definition, ANNOTATION_REFERS_TO)));
}

bool declared_same_references(const struct object *definition, const struct object *old)
{
	return str_eq(annotation_of(definition, ANNOTATION_REFERS_TO), annotation_of(old, ANNOTATION_REFERS_TO));
}

/* Splits a path into its steps. Returns NULL, or says what is wrong. */
static const char *path_parse(struct declared_path *ret, struct str text, bool has_lists, struct arena *a)
{
	static const struct str each = {"[*]", 3};
	struct str steps[DECLARED_STEPS_MAX];
	size_t n = 0;

	ret->lists = 0;
	for (bool has_more = true; has_more;) {
		struct str rest;
		if (n == DECLARED_STEPS_MAX) {
			return "has too many names: the most are 32";
		}
		has_more = str_cut(text, '.', &steps[n], &rest);
		if (has_lists && str_ends(steps[n], each)) {
			steps[n].n -= each.n;
			ret->lists |= (uint32_t)1 << n;
		}
		if (steps[n].n == 0) {
			return "must be names with one dot between them, such as spec.data";
		}
		n++;
		text = rest;
	}
	static const char *const others[] = {"apiVersion", "kind", "metadata", "status"};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (str_is(steps[0], others[i])) {
			return "must not begin with apiVersion, kind, metadata or status";
		}
	}
	ret->steps = arena_array(a, struct str, n);
	memcpy(ret->steps, steps, n * sizeof(*steps));
	ret->n_steps = n;
	return NULL;
}

/* The next path of a list; false at its end. */
static bool list_next(struct str *list, bool *is_over, struct str *ret)
{
	struct str item, rest;

	if (*is_over) {
		return false;
	}
	*is_over = !str_cut(*list, ',', &item, &rest);
	*list = rest;
	*ret = str_trim(item);
	return true;
}

/* ---- refers-to ---- */

/* One entry, as it is written. */
struct entry {
	struct declared_reference reference;
	struct str group, resource, namespace_path;
	enum reference_scope scope;
};

static bool is_before_last_same(const struct declared_path *a, const struct declared_path *b)
{
	uint32_t last = (uint32_t)1 << (a->n_steps - 1);

	for (size_t i = 0; a->n_steps == b->n_steps && i + 1 < a->n_steps; i++) {
		if (!str_eq(a->steps[i], b->steps[i])) {
			return false;
		}
	}
	return a->n_steps == b->n_steps && a->lists == b->lists && !(a->lists & last);
}

static const char *option_parse(struct entry *e, struct str text, struct arena *a)
{
	struct str word, rest;

	str_cut(text, ' ', &word, &rest);
	rest = str_trim(rest);
	if (str_is(text, "cluster-scoped") && e->scope == REFERENCE_BESIDE) {
		e->scope = REFERENCE_CLUSTER;
	} else if (str_is(word, "namespace") && rest.n > 0 && e->scope == REFERENCE_BESIDE) {
		struct declared_path p = {.text = rest};
		if (path_parse(&p, rest, true, a) || !is_before_last_same(&e->reference.path, &p)) {
			return "must have the path of a namespace that differs from that of the name only in its last name";
		}
		e->scope = REFERENCE_NAMED;
		e->namespace_path = rest;
		e->reference.namespace_step = p.steps[p.n_steps - 1];
	} else if (!(str_is(word, "policy") && str_is(rest, "Block"))) {
		return "must have no options but policy Block, and one of namespace PATH and cluster-scoped";
	}
	return NULL;
}

/* Returns NULL, or says what is wrong. */
static const char *entry_parse(struct entry *e, struct str text, struct arena *a)
{
	static const char form[] = "must have the form PATH -> GROUP/RESOURCE, with options behind commas";
	struct str options, target, rest;
	const char *problem;

	*e = (struct entry){.scope = REFERENCE_BESIDE};
	bool has_options = str_cut(text, ',', &target, &options);
	if (!str_cut(target, '>', &rest, &target) || !str_ends(rest, STR("-"))) {
		return form;
	}
	rest.n--;
	e->reference.path.text = str_trim(rest);
	problem = path_parse(&e->reference.path, e->reference.path.text, true, a);
	target = str_trim(target);
	if (!str_cut(target, '/', &e->group, &e->resource)) {
		e->resource = target;
		e->group = STR("");
	}
	const char *messages[VALIDATE_MESSAGES_MAX];
	if (!problem &&
		(validate_dns_label(e->resource, messages) || (e->group.n > 0 && validate_dns_subdomain(e->group, messages)))) {
		problem = form;
	}
	while (!problem && has_options) {
		has_options = str_cut(options, ',', &rest, &options);
		problem = option_parse(e, str_trim(rest), a);
	}
	return problem;
}

/* Objects are stored under the group of the hub. */
static const struct kind *entry_kind(struct entry *e)
{
	const struct kind *k = kind_by_any_group(e->group, e->resource);

	if (k) {
		e->group = str_of(k->versions[0].group);
	}
	return k;
}

/* The next entry; false at the end. */
static bool entry_next(struct str *list, struct str *ret)
{
	while (list->n > 0) {
		size_t n = 0;
		while (n < list->n && list->p[n] != ';' && list->p[n] != '\n') {
			n++;
		}
		*ret = str_trim((struct str){list->p, n});
		n += n < list->n;
		*list = (struct str){list->p + n, list->n - n};
		if (ret->n > 0) {
			return true;
		}
	}
	return false;
}

void declared_read_references(struct declared *d, struct str refers_to, struct arena *a)
{
	struct str list = arena_dup(a, refers_to), text;
	struct entry e;

	d->references = arena_array(a, struct declared_reference, DECLARED_REFERENCES_MAX);
	d->fields = arena_zalloc_array(a, DECLARED_REFERENCES_MAX + 1, sizeof(*d->fields));
	while (d->n_references < DECLARED_REFERENCES_MAX && entry_next(&list, &text)) {
		if (entry_parse(&e, text, a)) {
			continue;
		}
		entry_kind(&e);
		d->references[d->n_references] = e.reference;
		d->fields[d->n_references++] = (struct reference_field){
			.prefix = arena_printf(a, STR_FMT ".", STR_ARG(e.reference.path.text)).p,
			.group = arena_dup(a, e.group).p,
			.resource = arena_dup(a, e.resource).p,
			.scope = e.scope,
		};
	}
}

void declared_read(struct declared *ret, const struct object *definition, struct arena *a)
{
	struct str list, text;
	bool is_over;

	*ret = (struct declared){.text = declared_text(definition, a)};
	ret->immutable = arena_array(a, struct declared_path, DECLARED_PATHS_MAX);
	list = arena_dup(a, annotation_of(definition, ANNOTATION_IMMUTABLE));
	is_over = list.n == 0;
	while (ret->n_immutable < DECLARED_PATHS_MAX && list_next(&list, &is_over, &text)) {
		struct declared_path *p = &ret->immutable[ret->n_immutable];
		*p = (struct declared_path){.text = text};
		ret->n_immutable += !path_parse(p, text, false, a);
	}
	declared_read_references(ret, annotation_of(definition, ANNOTATION_REFERS_TO), a);
}

/* ---- rules of the annotations ---- */

static const struct json *schema_of(const struct json *version)
{
	return json_gets(json_gets(version, "schema"), "openAPIV3Schema");
}

/* NULL, or why the path names no field of the schema. */
static const char *path_judge(const struct declared_path *p, const struct json *schema)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct json *named = json_get(json_gets(schema, "properties"), p->steps[i]);
		const struct json *others = json_gets(schema, "additionalProperties");
		if (json_gets(schema, "items")) {
			return "must not lead into a list: the list itself can be named";
		}
		if (named) {
			schema = named;
		} else if (json_is(others, JSON_OBJECT)) {
			schema = others;
		} else {
			bool keeps_any = member_is_true(schema, "x-kubernetes-preserve-unknown-fields") ||
				(json_is(others, JSON_BOOL) && others->boolean);
			return keeps_any ? NULL : "must be a field in the schema of the version that is stored";
		}
	}
	return NULL;
}

static const char *list_judge(struct str text, const struct declared_path *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(all[i].text, text)) {
			return "is named twice";
		}
	}
	return n < DECLARED_PATHS_MAX ? NULL : "is one too many: the most are 32 paths";
}

static void immutable_validate(const struct object *definition, struct field_errors *errors)
{
	static const struct str path = {
		"metadata.annotations[" ANNOTATION_IMMUTABLE "]", sizeof("metadata.annotations[" ANNOTATION_IMMUTABLE "]") - 1};
	struct declared_path *all = arena_array(errors->arena, struct declared_path, DECLARED_PATHS_MAX);
	struct str list = annotation_of(definition, ANNOTATION_IMMUTABLE), text;
	bool is_over = !json_gets(definition->meta.annotations, ANNOTATION_IMMUTABLE);
	size_t n = 0;

	if (!is_over && str_is(member_text(json_gets(object_spec(definition), "conversion"), "strategy"), "Webhook")) {
		field_invalid_str(errors, path, list,
			"cannot be kept while a webhook makes one version of another: spec.conversion.strategy must be None");
		return;
	}
	while (list_next(&list, &is_over, &text)) {
		struct declared_path p = {.text = text};
		const char *problem = list_judge(text, all, n);
		problem = problem ? problem : path_parse(&p, text, false, errors->arena);
		problem = problem ? problem : path_judge(&p, schema_of(definition_stored_version(object_spec(definition))));
		if (problem) {
			field_invalid_str(errors, path, text, "%s", problem);
		}
		if (n == DECLARED_PATHS_MAX) {
			return;
		}
		all[n++] = p;
	}
}

void declared_validate(const struct object *definition, const struct object *old, struct field_errors *errors)
{
	struct field_errors before;

	field_errors_init(&before, errors->arena);
	references_validate(definition, errors);
	if (old && str_eq(annotation_of(definition, ANNOTATION_IMMUTABLE), annotation_of(old, ANNOTATION_IMMUTABLE))) {
		immutable_validate(old, &before);
	}
	if (before.n == 0) {
		immutable_validate(definition, errors);
	}
}

/* ---- rules of refers-to ---- */

static bool has_type(const struct json *schema, const char *type)
{
	return str_is(member_text(schema, "type"), type) && !json_gets(schema, "default");
}

/* Is there a string at the end of the path, in all objects of that schema? */
static bool schema_has_string(const struct json *schema, const struct declared_path *p)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		if (!has_type(schema, "object")) {
			return false;
		}
		schema = json_get(json_gets(schema, "properties"), p->steps[i]);
		if (p->lists & (uint32_t)1 << i) {
			schema = has_type(schema, "array") ? json_gets(schema, "items") : NULL;
		}
	}
	return has_type(schema, "string");
}

/* A version that does not know the field would show, and write, an object without the reference. */
static bool versions_have_string(const struct object *definition, const struct declared_path *p)
{
	const struct json *versions = json_gets(object_spec(definition), "versions"), *each;

	for (uint32_t i = 0; (each = list_item(versions, i)); i++) {
		if (!schema_has_string(schema_of(each), p)) {
			return false;
		}
	}
	return true;
}

static const char *scope_judge(const struct object *definition, const struct entry *e, const struct kind *k)
{
	const struct json *spec = object_spec(definition);
	bool is_own = str_eq(e->group, member_text(spec, "group")) &&
		str_eq(e->resource, member_text(json_gets(spec, "names"), "plural"));
	bool has_namespaces = !str_is(member_text(spec, "scope"), "Cluster");
	bool is_known = k || is_own, is_namespaced = k ? k->is_namespaced : has_namespaces;

	if (str_is(member_text(json_gets(spec, "conversion"), "strategy"), "Webhook")) {
		return "cannot be declared where a webhook converts the objects: they are stored in several forms";
	}
	if (k && (!kind_is_stored(k) || k->expires)) {
		return "must name a resource whose objects are stored, and do not expire";
	}
	if (is_known && is_namespaced != (e->scope != REFERENCE_CLUSTER)) {
		return is_namespaced ? "must not say cluster-scoped of a resource with namespaces"
				     : "must say cluster-scoped of a resource without namespaces";
	}
	return !has_namespaces && e->scope == REFERENCE_BESIDE
		? "must have the path of a namespace, or say cluster-scoped: objects of this kind have no namespace"
		: NULL;
}

static const char *entry_judge(const struct object *definition, struct entry *e, struct arena *a)
{
	struct declared_path namespace = {.text = e->namespace_path};
	const char *problem = scope_judge(definition, e, entry_kind(e));

	if (problem) {
		return problem;
	}
	bool is_fine = versions_have_string(definition, &e->reference.path);
	if (is_fine && e->scope == REFERENCE_NAMED) {
		is_fine = !path_parse(&namespace, e->namespace_path, true, a) && versions_have_string(definition, &namespace);
	}
	return is_fine ? NULL : "must lead to a string in the schema of each version, through objects, lists and no defaults";
}

static void references_validate(const struct object *definition, struct field_errors *errors)
{
	static const struct str path = {
		"metadata.annotations[" ANNOTATION_REFERS_TO "]", sizeof("metadata.annotations[" ANNOTATION_REFERS_TO "]") - 1};
	struct str list = annotation_of(definition, ANNOTATION_REFERS_TO), text, seen[DECLARED_REFERENCES_MAX];
	struct entry e;
	size_t n = 0;

	if (json_gets(definition->meta.annotations, ANNOTATION_REFERS_TO) && str_trim(list).n == 0) {
		field_invalid_str(errors, path, list, "must name a field, or not be there");
	}
	while (entry_next(&list, &text)) {
		const char *problem = n == DECLARED_REFERENCES_MAX ? "is one too many: the most are 16 fields" : NULL;
		problem = problem ? problem : entry_parse(&e, text, errors->arena);
		problem = problem ? problem : entry_judge(definition, &e, errors->arena);
		for (size_t i = 0; i < n && !problem; i++) {
			problem = str_eq(seen[i], e.reference.path.text) ? "is a field that is named twice" : NULL;
		}
		if (problem) {
			field_invalid_str(errors, path, text, "%s", problem);
		}
		if (n == DECLARED_REFERENCES_MAX) {
			return;
		}
		seen[n++] = e.reference.path.text;
	}
}

/* ---- references of objects ---- */

/* Visits the values of all fields. */
struct visit {
	const struct declared *d;
	const struct object *o;
	size_t at; /* the field */
	struct reference *ret;
	size_t n;
	size_t index[DECLARED_STEPS_MAX]; /* of the items on the way */
	struct field_errors *errors;      /* NULL: what cannot be a reference is none */
};

/* A name becomes a part of keys. */
static bool is_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '/' || s.p[i] == '%' || (unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f) {
			return false;
		}
	}
	return s.n > 0 && s.n <= DECLARED_NAME_MAX && !str_is(s, ".") && !str_is(s, "..");
}

/* "spec.providers[2].name" */
static struct str visit_path(const struct visit *v, struct str last)
{
	const struct declared_path *p = &v->d->references[v->at].path;
	struct str text = STR("");

	for (size_t i = 0; i < p->n_steps; i++) {
		bool is_last = i + 1 == p->n_steps;
		text = arena_printf(v->errors->arena, STR_FMT "%s" STR_FMT, STR_ARG(text), i ? "." : "",
			STR_ARG(is_last && last.n ? last : p->steps[i]));
		if (p->lists & (uint32_t)1 << i) {
			text = arena_printf(v->errors->arena, STR_FMT "[%zu]", STR_ARG(text), v->index[i]);
		}
	}
	return text;
}

static void visit_refuse(const struct visit *v, struct str last, struct str bad, const char *why)
{
	if (v->errors) {
		field_invalid_str(v->errors, visit_path(v, last), bad, "%s", why);
	}
}

static bool is_itself(const struct visit *v, const struct reference *r)
{
	const struct kind *k = v->o->kind;

	return str_is(str_of(r->field->group), k->versions[0].group) && str_is(str_of(r->field->resource), k->resource) &&
		str_eq(r->name, v->o->meta.name) && str_eq(reference_ns(r, v->o->meta.ns), v->o->meta.ns);
}

static void visit_take(struct visit *v, const struct json *name, const struct json *ns)
{
	struct reference r = {.field = &v->d->fields[v->at], .name = json_text(name)};
	struct str step = v->d->references[v->at].namespace_step;

	if (!json_is(name, JSON_STRING) || r.name.n == 0) {
		return;
	}
	if (r.field->scope == REFERENCE_NAMED) {
		bool is_given = json_is(ns, JSON_STRING) && json_text(ns).n > 0;
		r.ns = is_given ? json_text(ns) : v->o->meta.ns;
		if (!is_name(r.ns)) {
			visit_refuse(v, step, r.ns, "must be the name of a namespace");
			return;
		}
	}
	if (!is_name(r.name)) {
		visit_refuse(v, STR(""), r.name, "must be the name of an object");
	} else if (is_itself(v, &r)) {
		visit_refuse(v, STR(""), r.name, "must not be the object itself");
	} else {
		v->n++;
		if (v->n <= REFERENCES_MAX) {
			v->ret[v->n - 1] = r;
		}
	}
}

static void visit_step(struct visit *v, const struct json *object, size_t step)
{
	const struct declared_reference *r = &v->d->references[v->at];
	const struct json *value = json_get(object, r->path.steps[step]);
	bool is_list = r->path.lists & (uint32_t)1 << step, is_last = step + 1 == r->path.n_steps;
	uint32_t n = is_list ? (json_is(value, JSON_ARRAY) ? value->n : 0) : 1;

	for (uint32_t i = 0; i < n && v->n <= REFERENCES_MAX; i++) {
		const struct json *each = is_list ? value->items[i] : value;
		v->index[step] = i;
		if (is_last) {
			visit_take(v, each, r->namespace_step.n ? json_get(object, r->namespace_step) : NULL);
		} else if (each) {
			visit_step(v, each, step + 1);
		}
	}
}

static size_t visit_all(struct visit *v)
{
	for (v->at = 0; v->at < v->d->n_references; v->at++) {
		visit_step(v, v->o->fields, 0);
	}
	return v->n;
}

size_t declared_references(const struct declared *d, const struct object *o, struct reference ret[REFERENCES_MAX])
{
	struct visit v = {.d = d, .o = o, .ret = ret};

	return MIN(visit_all(&v), (size_t)REFERENCES_MAX);
}

void declared_check_references(const struct declared *d, const struct object *o, struct field_errors *errors)
{
	struct reference all[REFERENCES_MAX];
	struct visit v = {.d = d, .o = o, .ret = all, .errors = errors};

	if (visit_all(&v) > REFERENCES_MAX) {
		field_forbidden(errors, STR("spec"), "must refer to at most %d objects", REFERENCES_MAX);
	}
}

size_t declared_needs(const struct declared *d, const struct object *o, const struct object *old, struct need ret[NEEDS_MAX])
{
	struct reference is[REFERENCES_MAX], was[REFERENCES_MAX];
	size_t n_is = declared_references(d, o, is), n_was = old ? declared_references(d, old, was) : 0, n = 0;

	_Static_assert((int)REFERENCES_MAX <= (int)NEEDS_MAX, "a right for each reference");
	for (size_t i = 0; i < n_is; i++) {
		if (!references_have(was, n_was, &is[i], o->meta.ns)) {
			const struct reference_field *f = is[i].field;
			ret[n++] = (struct need){.verb = STR("get"),
				.group = str_of(f->group),
				.resource = str_of(f->resource),
				.name = is[i].name,
				.ns = reference_ns(&is[i], o->meta.ns),
				.path = d->references[f - d->fields].path.text};
		}
	}
	return n;
}

/* ---- immutable fields of objects ---- */

static struct json *path_get(const struct declared_path *p, const struct json *fields)
{
	struct json *at = (struct json *)(uintptr_t)fields;

	for (size_t i = 0; at && i < p->n_steps; i++) {
		at = json_get(at, p->steps[i]);
	}
	return at;
}

static bool is_same(const struct json *a, const struct json *b)
{
	return a && b ? json_equal(a, b) : a == b;
}

void declared_keep(const struct declared *d, struct object *o, const struct json *was, const struct json *seen, struct arena *a)
{
	for (size_t i = 0; i < d->n_immutable; i++) {
		const struct declared_path *p = &d->immutable[i];
		struct json *value = path_get(p, was);
		if (value && is_same(path_get(p, seen), path_get(p, o->fields))) {
			o->fields = object_with_member(o->fields, p->steps, p->n_steps, value, a);
		}
	}
}

void declared_check(const struct declared *d, const struct object *o, const struct object *old, struct field_errors *errors)
{
	for (size_t i = 0; i < d->n_immutable; i++) {
		const struct declared_path *p = &d->immutable[i];
		const struct json *now = path_get(p, o->fields);
		if (!is_same(now, path_get(p, old->fields))) {
			field_invalid(errors, p->text, now, "field is immutable");
		}
	}
}
