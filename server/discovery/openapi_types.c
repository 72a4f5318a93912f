/* Objects that are no kinds, but travel: options, statuses, patches. */
#include "server/discovery/openapi_build.h"

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

static const struct type type_status_cause = {
	.kind = TYPE_OBJECT,
	.definition = META "StatusCause",
	.doc = "One of the reasons for a failure.",
	.fields =
		(const struct field[]){
			{"field", &type_string, 0, "The field at fault, as a path: spec.providers[0].name.", NULL, NULL},
			{"message", &type_string, 0, "What is wrong, for people.", NULL, NULL},
			{"reason", &type_string, 0, "What is wrong, in one word for programs.", NULL, NULL},
			{0},
		},
};
static const struct type type_status_causes = {.kind = TYPE_LIST, .elem = &type_status_cause};

static const struct type type_status_details = {
	.kind = TYPE_OBJECT,
	.definition = META "StatusDetails",
	.doc = "What a status is about.",
	.fields =
		(const struct field[]){
			{"causes", &type_status_causes, 0, "All that was found wrong.", NULL, NULL},
			{"group", &type_string, 0, "API group of the object.", NULL, NULL},
			{"kind", &type_string, 0, "Kind or resource of the object.", NULL, NULL},
			{"name", &type_string, 0, "Name of the object.", NULL, NULL},
			{"retryAfterSeconds", &type_int32, 0, "After how many seconds another attempt makes sense.", NULL,
				NULL},
			{"uid", &type_string, 0, "uid of the object.", NULL, NULL},
			{0},
		},
};

const struct type type_status = {
	.kind = TYPE_OBJECT,
	.definition = META "Status",
	.doc = "How a request ended that answers no object.",
	.fields =
		(const struct field[]){
			{"apiVersion", &type_string, 0, "v1.", NULL, NULL},
			{"code", &type_int32, 0, "HTTP status code.", NULL, NULL},
			{"details", &type_status_details, 0, "What it is about.", NULL, NULL},
			{"kind", &type_string, 0, "Status.", NULL, NULL},
			{"message", &type_string, 0, "What happened, for people.", NULL, NULL},
			{"metadata", &type_list_meta, 0, "Of a list that cannot be continued: how it can.", NULL, NULL},
			{"reason", &type_string, 0, "What happened, in one word for programs.", NULL, NULL},
			{"status", &type_string, 0, "Success or Failure.", NULL, NULL},
			{0},
		},
};

/* A JSON patch is a list; upstream says object all the same, and generated clients know that. */
const struct type type_patch = {
	.kind = TYPE_RAW,
	.definition = META "Patch",
	.doc = "A change to an object, in the form that the Content-Type names.",
};

const struct type type_version_info = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.version.Info",
	.doc = "What the server was built from.",
	.fields =
		(const struct field[]){
			{"buildDate", &type_string, FIELD_MANDATORY, "When.", NULL, NULL},
			{"compiler", &type_string, FIELD_MANDATORY, "With which compiler.", NULL, NULL},
			{"gitCommit", &type_string, FIELD_MANDATORY, "From which commit.", NULL, NULL},
			{"gitTreeState", &type_string, FIELD_MANDATORY, "Whether the tree was clean.", NULL, NULL},
			{"gitVersion", &type_string, FIELD_MANDATORY, "The version.", NULL, NULL},
			{"goVersion", &type_string, FIELD_MANDATORY, "Version of Go; of interest elsewhere.", NULL, NULL},
			{"major", &type_string, FIELD_MANDATORY, "First number of the version.", NULL, NULL},
			{"minor", &type_string, FIELD_MANDATORY, "Second number of the version.", NULL, NULL},
			{"platform", &type_string, FIELD_MANDATORY, "For which platform.", NULL, NULL},
			{0},
		},
};
