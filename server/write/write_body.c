/* Bodies are decoded in upstream's order, which decides the error that a client gets first: media
 * type, syntax, kind, types, then fields, then the names in the path. Strict decoding gathers
 * everything odd; only fieldValidation says whether that is an error, warnings, or nothing. */
#include "server/write/write_body.h"

#include "api/model/protobuf.h"
#include "api/rules/validate.h"
#include "server/request/request_audit.h"

static int read_protobuf(struct request *q, struct json **ret)
{
	const struct route *r = &q->route;
	struct json *json = NULL;
	struct str reason;
	int error = protobuf_decode(
		&json, r->body_kind->kind, version_type(r->body_kind, r->body_version), http_body(q->x), q->a, &reason);

	if (error) {
		object_refuse(&q->st, r->body_kind, r->body_version, http_body(q->x), json, error, reason);
		return 1;
	}
	*ret = json;
	return 0;
}

int write_read_body(struct request *q, struct body *ret)
{
	struct str text = http_body(q->x);
	enum media_format format;

	if (media_of_body(&format, http_header(q->x, "Content-Type"), version_type(q->route.body_kind, q->route.body_version),
		    q->a, &q->st)) {
		return 1;
	}
	if (format == MEDIA_PROTOBUF) {
		ret->repeated = (struct str){NULL, 0};
		return read_protobuf(q, &ret->json);
	}
	if (media_parse_body(&ret->json, format, text, q->a, &q->st)) {
		object_refuse_body(&q->st, q->route.body_kind, text, q->st.message);
		return 1;
	}
	ret->repeated = media_repeated_keys(format, text, q->a);
	return 0;
}

/* YAML's repeated keys are gone from the tree; they count as the first thing strict decoding noticed. */
static void report_repeated(struct decode_report *report, const struct body *body, struct arena *a)
{
	struct str *all;

	if (body->repeated.n == 0) {
		return;
	}
	all = arena_array(a, struct str, report->n_strict + 1);
	all[0] = body->repeated;
	if (report->n_strict > 0) {
		memcpy(all + 1, report->strict, report->n_strict * sizeof(*all));
	}
	*report = (struct decode_report){.strict = all, .n_strict = report->n_strict + 1, .cap = report->n_strict + 1};
}

/* A warning a line, without the heading. */
void write_warn_repeated(struct request *q, struct str repeated)
{
	struct str line;

	str_cut(repeated, '\n', &line, &repeated);
	while (repeated.n > 0) {
		str_cut(repeated, '\n', &line, &repeated);
		request_warn(q, str_trim(line));
	}
}

int write_decode(struct request *q, const struct body *body, enum field_validation validation, const struct object *stored,
	struct object **ret)
{
	const struct route *r = &q->route;
	struct decode_report report = {0};
	struct str reason;
	int error = object_decode(ret, r->body_kind, r->body_version, body->json, stored, q->a, &report, &reason);

	if (error) {
		object_refuse(&q->st, r->body_kind, r->body_version, http_body(q->x), body->json, error, reason);
		return 1;
	}
	if (validation == VALIDATE_WARN) {
		write_warn_repeated(q, body->repeated);
	}
	for (size_t i = 0; validation == VALIDATE_WARN && i < report.n_strict; i++) {
		request_warn(q, report.strict[i]);
	}
	report_repeated(&report, body, q->a);
	if (validation == VALIDATE_STRICT && report.n_strict > 0) {
		object_refuse_strict(&q->st, r->body_kind, r->body_version, body->json, &report);
		return 1;
	}
	timing_pass(q, STEP_DECODED);
	request_audit_sent_object(q, *ret);
	return 0;
}

int write_refuse_precondition(
	struct request *q, struct str resource, struct str name, const char *what, struct str wanted, struct str present)
{
	status_conflict(&q->st, request_group(q), resource, name,
		"Precondition failed: %s in precondition: " STR_FMT ", %s in object meta: " STR_FMT, what, STR_ARG(wanted), what,
		STR_ARG(present));
	return 1;
}

int write_match_namespace(struct request *q, struct object *o)
{
	struct str ns = request_ns(q);

	if (!o->kind->is_namespaced) {
		o->meta.ns = STR("");
		return 0;
	}
	if (o->meta.ns.n > 0 && !str_eq(o->meta.ns, ns)) {
		status_bad_request(
			&q->st, "the namespace of the provided object does not match the namespace sent on the request");
		return 1;
	}
	o->meta.ns = ns;
	return 0;
}

void write_refuse_nameless(struct request *q)
{
	status_bad_request(&q->st,
		"the name of the object (" STR_FMT " based on URL) was undeterminable: name must be provided",
		STR_ARG(q->route.name));
}

int write_match_name(struct request *q, const struct object *o)
{
	struct str name = q->route.name;

	if (o->meta.name.n == 0) {
		write_refuse_nameless(q);
		return 1;
	}
	if (!str_eq(o->meta.name, name)) {
		status_bad_request(&q->st,
			"the name of the object (" STR_FMT ") does not match the name on the URL (" STR_FMT ")",
			STR_ARG(o->meta.name), STR_ARG(name));
		return 1;
	}
	return 0;
}
