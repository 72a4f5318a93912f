/* Errors in the form of kube-apiserver: metav1.Status, with reason, details and all causes.
 *
 * field_errors collects what validation finds (k8s.io/apimachinery/pkg/util/validation/field);
 * status_invalid() turns the list into the 422. Everything lives in one arena. A status with code 0
 * means "nothing wrong".
 */
#ifndef API_MODEL_STATUS_H
#define API_MODEL_STATUS_H

#include "api/model/gotext.h"
#include "base/json.h"

/* metav1.StatusReason; NULL reason is written as no reason at all (kube's 500s). */
#define REASON_UNAUTHORIZED "Unauthorized"
#define REASON_FORBIDDEN "Forbidden"
#define REASON_NOT_FOUND "NotFound"
#define REASON_ALREADY_EXISTS "AlreadyExists"
#define REASON_CONFLICT "Conflict"
#define REASON_GONE "Gone"
#define REASON_EXPIRED "Expired"
#define REASON_INVALID "Invalid"
#define REASON_SERVER_TIMEOUT "ServerTimeout"
#define REASON_TIMEOUT "Timeout"
#define REASON_TOO_MANY_REQUESTS "TooManyRequests"
#define REASON_BAD_REQUEST "BadRequest"
#define REASON_METHOD_NOT_ALLOWED "MethodNotAllowed"
#define REASON_NOT_ACCEPTABLE "NotAcceptable"
#define REASON_UNSUPPORTED_MEDIA_TYPE "UnsupportedMediaType"
#define REASON_REQUEST_ENTITY_TOO_LARGE "RequestEntityTooLarge"
#define REASON_INTERNAL_ERROR "InternalError"
#define REASON_SERVICE_UNAVAILABLE "ServiceUnavailable"

struct status_cause {
	const char *reason; /* "FieldValueInvalid", ...; may be empty */
	struct str message, field;
};

struct status {
	struct arena *arena;
	int code;           /* HTTP; 0: fine */
	const char *reason; /* static; NULL: none */
	struct str message;
	bool has_details; /* also when all of them are empty: {"details":{}} */
	struct str name, group, kind, uid;
	int retry_after_s; /* 0: none; goes into details and the Retry-After header */
	struct status_cause *causes;
	size_t n_causes, cap_causes;
	struct str continue_token; /* 410 of a paged LIST: metadata.continue */
};

static inline void status_init(struct status *st, struct arena *a)
{
	*st = (struct status){.arena = a};
}
void status_set(struct status *st, int code, const char *reason, const char *format, ...) _printf_(4, 5);
void status_add_cause(struct status *st, const char *reason, struct str field, struct str message); /* text copied */

/* The constructors of k8s.io/apimachinery/pkg/api/errors, same texts. resource is the plural. */
void status_not_found(struct status *st, struct str group, struct str resource, struct str name);
void status_already_exists(struct status *st, struct str group, struct str resource, struct str name);
void status_conflict(struct status *st, struct str group, struct str resource, struct str name, const char *format, ...)
	_printf_(5, 6);
void status_forbidden(struct status *st, struct str group, struct str resource, struct str name, const char *format, ...)
	_printf_(5, 6);
void status_bad_request(struct status *st, const char *format, ...) _printf_(2, 3);
void status_method_not_allowed(struct status *st); /* generic text of the router, details {} */
void status_route_not_found(struct status *st);    /* "the server could not find the requested resource", details {} */
void status_expired(struct status *st, const char *format, ...) _printf_(2, 3);
void status_internal(struct status *st, const char *format, ...) _printf_(2, 3); /* "Internal error occurred: ..." */

/* The Status object as JSON: {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",...,"code":N}. */
struct json *status_to_json(const struct status *st, struct arena *a);
/* The Status a successful DELETE answers. */
struct json *status_success(struct arena *a, struct str group, struct str resource, struct str name, struct str uid);

/* Field errors. */
enum field_error_type {
	FIELD_INVALID,       /* "Invalid value", FieldValueInvalid */
	FIELD_INVALID_WHOLE, /* likewise, and the value is not shown */
	FIELD_REQUIRED,      /* "Required value", FieldValueRequired */
	FIELD_DUPLICATE,
	FIELD_FORBIDDEN,
	FIELD_NOT_SUPPORTED,
	FIELD_TOO_LONG,
	FIELD_TOO_MANY,
	FIELD_NOT_FOUND,
	FIELD_TYPE_INVALID,
};

struct field_error {
	enum field_error_type type;
	struct str path;      /* "metadata.ownerReferences[0].uid"; empty: "<nil>" as upstream prints it */
	struct str bad_value; /* as upstream prints it (%q of strings, JSON of structs); empty where the type shows none */
	struct str detail;
};

/* Keeps only the beginning of values and paths beyond 32 KiB, and only counts errors beyond 256
 * KiB. */
struct field_errors {
	struct arena *arena;
	struct field_error *v;
	size_t n, cap;
	size_t n_bytes;    /* of texts */
	size_t n_left_out; /* beyond n */
};

void field_errors_init(struct field_errors *e, struct arena *a);
/* bad: the value as a JSON node, printed the way upstream's field.Error does for its type; NULL prints null. */
void field_invalid(struct field_errors *e, struct str path, const struct json *bad, const char *format, ...) _printf_(4, 5);
void field_invalid_str(struct field_errors *e, struct str path, struct str bad, const char *format, ...) _printf_(4, 5);
/* Adds the error for a value of a wrong type, whose reason is FieldValueTypeInvalid. */
void field_type_invalid(struct field_errors *e, struct str path, const struct json *bad, const char *format, ...)
	_printf_(4, 5);
void field_required(struct field_errors *e, struct str path, const char *format, ...) _printf_(3, 4);
void field_duplicate(struct field_errors *e, struct str path, const struct json *bad);
void field_not_found(struct field_errors *e, struct str path, struct str bad);
void field_forbidden(struct field_errors *e, struct str path, const char *format, ...) _printf_(3, 4);
void field_not_supported(struct field_errors *e, struct str path, struct str bad, const char *const *supported, size_t n);
/* Adds the error for a value that is no text; prints it as field_invalid() does. */
void field_not_supported_value(
	struct field_errors *e, struct str path, const struct json *bad, const char *const *supported, size_t n);
void field_too_long(struct field_errors *e, struct str path, int64_t max);
void field_too_many(struct field_errors *e, struct str path, int64_t n, int64_t max);
/* Adds an error that concerns several values, so that none is shown. */
void field_invalid_whole(struct field_errors *e, struct str path, const char *format, ...) _printf_(3, 4);
/* Adds errors whose paths begin with `from`, which becomes `to`. */
void field_errors_add_below(struct field_errors *e, struct str to, struct str from, const struct field_errors *found);
/* "metadata.name: Required value: why" */
struct str field_error_text(const struct field_error *error, struct arena *a);
struct str field_path(struct arena *a, struct str parent, const char *child); /* "metadata" + "name" */
struct str field_index(struct arena *a, struct str parent, size_t i);         /* "x" + "[3]" */
struct str field_key(struct arena *a, struct str parent, struct str key);     /* "x" + "[key]" */

/* 422 Invalid of `Kind.group "name" is invalid: ...`: one cause for each error, the message without repetitions. */
void status_invalid(struct status *st, struct str group, struct str kind, struct str name, const struct field_errors *errors);

#endif
