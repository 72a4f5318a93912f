/* Types with Go's names, so that what cannot be decoded is told in the words of Go's decoder.
 * Pointers of Go's struct keep what is empty (FIELD_KEEP_EMPTY): an absent status and an empty one
 * mean different things. */
#include "delegation/webhooks/webhook_schema.h"

#include "api/review/review_schema.h"

static const struct field cause_fields[] = {
	{"reason", &type_string, 0, NULL, NULL, NULL},
	{"message", &type_string, 0, NULL, NULL, NULL},
	{"field", &type_string, 0, NULL, NULL, NULL},
	{0},
};
static const struct type cause_type = {.kind = TYPE_OBJECT, .go_type = "v1.StatusCause", .fields = cause_fields};
static const struct type causes_type = {.kind = TYPE_LIST, .elem = &cause_type};

static const struct field details_fields[] = {
	{"name", &type_string, 0, NULL, NULL, NULL},
	{"group", &type_string, 0, NULL, NULL, NULL},
	{"kind", &type_string, 0, NULL, NULL, NULL},
	{"uid", &type_string, 0, NULL, NULL, NULL},
	{"causes", &causes_type, 0, NULL, NULL, NULL},
	{"retryAfterSeconds", &type_int32, 0, NULL, NULL, NULL},
	{0},
};
static const struct type details_type = {.kind = TYPE_OBJECT, .go_type = "v1.StatusDetails", .fields = details_fields};

static const struct field status_fields[] = {
	{"kind", &type_string, 0, NULL, NULL, NULL},
	{"apiVersion", &type_string, 0, NULL, NULL, NULL},
	{"metadata", &type_list_meta, 0, NULL, NULL, NULL},
	{"status", &type_string, 0, NULL, NULL, NULL},
	{"message", &type_string, 0, NULL, NULL, NULL},
	{"reason", &type_string, 0, NULL, NULL, NULL},
	{"details", &details_type, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{"code", &type_int32, 0, NULL, NULL, NULL},
	{0},
};
static const struct type status_type = {.kind = TYPE_OBJECT, .go_type = "v1.Status", .fields = status_fields};

static const struct type uid_type = {.kind = TYPE_STRING, .go_type = "types.UID"};
static const struct type patch_type_type = {.kind = TYPE_STRING, .go_type = "v1.PatchType"};

static const struct field response_fields[] = {
	{"uid", &uid_type, 0, NULL, NULL, NULL},
	{"allowed", &type_bool, 0, NULL, NULL, NULL},
	{"status", &status_type, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{"patch", &type_bytes, 0, NULL, NULL, NULL},
	{"patchType", &patch_type_type, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{"auditAnnotations", &type_string_map, 0, NULL, NULL, NULL},
	{"warnings", &type_string_list, 0, NULL, NULL, NULL},
	{0},
};
static const struct type response_type = {.kind = TYPE_OBJECT, .go_type = "v1.AdmissionResponse", .fields = response_fields};

/* Many answer with the question in it. Nothing is read of that, but where it is none the answer is none. */
#define NAMED(member)                                                                                 \
	{"group", &type_string, 0, NULL, NULL, NULL}, {"version", &type_string, 0, NULL, NULL, NULL}, \
	{                                                                                             \
		member, &type_string, 0, NULL, NULL, NULL                                             \
	}
static const struct field kind_fields[] = {NAMED("kind"), {0}};
static const struct type kind_type = {.kind = TYPE_OBJECT, .go_type = "v1.GroupVersionKind", .fields = kind_fields};
static const struct field resource_fields[] = {NAMED("resource"), {0}};
static const struct type resource_type = {.kind = TYPE_OBJECT, .go_type = "v1.GroupVersionResource", .fields = resource_fields};

static const struct field request_fields[] = {
	{"uid", &uid_type, 0, NULL, NULL, NULL},
	{"kind", &kind_type, 0, NULL, NULL, NULL},
	{"resource", &resource_type, 0, NULL, NULL, NULL},
	{"subResource", &type_string, 0, NULL, NULL, NULL},
	{"requestKind", &kind_type, 0, NULL, NULL, NULL},
	{"requestResource", &resource_type, 0, NULL, NULL, NULL},
	{"requestSubResource", &type_string, 0, NULL, NULL, NULL},
	{"name", &type_string, 0, NULL, NULL, NULL},
	{"namespace", &type_string, 0, NULL, NULL, NULL},
	{"operation", &type_string, 0, NULL, NULL, NULL},
	{"userInfo", &type_user_info, 0, NULL, NULL, NULL},
	{"object", &type_raw, 0, NULL, NULL, NULL},
	{"oldObject", &type_raw, 0, NULL, NULL, NULL},
	{"dryRun", &type_bool, 0, NULL, NULL, NULL},
	{"options", &type_raw, 0, NULL, NULL, NULL},
	{0},
};
static const struct type request_type = {.kind = TYPE_OBJECT, .go_type = "v1.AdmissionRequest", .fields = request_fields};

static const struct field review_fields[] = {
	{"kind", &type_string, 0, NULL, NULL, NULL},
	{"apiVersion", &type_string, 0, NULL, NULL, NULL},
	{"request", &request_type, 0, NULL, NULL, NULL},
	{"response", &response_type, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{0},
};
const struct type type_admission_review = {.kind = TYPE_OBJECT, .go_type = "v1.AdmissionReview", .fields = review_fields};
