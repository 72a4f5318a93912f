/* A Snapshot with a change says what a History is to tell, and what else becomes of the History's status.
 * Who changed the object is not in it: the server knows the user or nobody does. */
#include "api/record/change_schema.h"

#include "api/model/members.h"
#include "api/record/changes.h"
#include "api/record/pointer.h"

#define CHANGE_TYPE_TEXT "Created, Changed or Deleted."
#define CHANGE_FIELDS                                                                                                         \
	{"type", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, CHANGE_TYPE_TEXT, NULL, NULL},                                 \
		{"time", &type_time, FIELD_ALWAYS | FIELD_MANDATORY, "When the change was noticed.", NULL, NULL},             \
		{"managers", &type_string_list, 0, "The field managers that own the changed fields: at most 8.", NULL, NULL}, \
		{"cause", &type_string, 0, "The annotation kubernetes.io/change-cause of the object: at most 1024 bytes.",    \
			NULL, NULL},                                                                                          \
		{"paths", &type_string_list, 0, "JSON pointers to the changed values: at most 32.", NULL, NULL},              \
		{"morePaths", &type_int64, 0, "The number of changed values beyond these paths.", NULL, NULL},                \
	{                                                                                                                     \
		"resourceVersion", &type_string, 0, "The resourceVersion of the object after the change.", NULL, NULL         \
	}

static const struct type type_change = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.HistoryChange",
	.go_type = "v1.HistoryChange",
	.doc = "A change of the object.",
	.fields =
		(const struct field[]){
			CHANGE_FIELDS,
			{"revision", &type_string, 0, "The name of the revision that holds the state after the change.", NULL,
				NULL},
			{"number", &type_int64, 0, "The number that this revision had then.", NULL, NULL},
			{"user", &type_string, 0, "The user who made the change. Absent: nobody knows for certain.", NULL,
				NULL},
			{0},
		},
};

const struct type list_changes = {.kind = TYPE_LIST, .elem = &type_change};

const struct type type_change_request = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.SnapshotChange",
	.go_type = "v1.SnapshotChange",
	.doc = "The change that led to the state, which is added to the History.",
	.fields =
		(const struct field[]){
			CHANGE_FIELDS,
			{"uid", &type_string, 0, "The uid of the object. Required, unless the object was deleted.", NULL, NULL},
			{"apiVersion", &type_string, 0,
				"The API version in which the object was read. Required, unless the object was deleted.", NULL,
				NULL},
			{"ignore", &type_string_list, 0,
				"JSON pointers to the values that were left out of the state: at most 64.", NULL, NULL},
			{"historyResourceVersion", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"The resourceVersion of the History that the client has read. If the History has another one "
				"now, the answer is 409 Conflict.",
				NULL, NULL},
			{"writeDigest", &type_string, 0,
				"The digest of the whole object. The server finds the user of the change by it.", NULL, NULL},
			{0},
		},
};

/* ---- rules ---- */

static void check_length(struct field_errors *e, const struct where *at, struct str text, size_t max, const char *message)
{
	if (text.n > max) {
		refuse_text(e, at, text, message);
	}
}

static void check_text_length(struct field_errors *e, const struct where *at, struct str text)
{
	check_length(e, at, text, CHANGE_CAUSE_MAX, "must be no more than 1024 bytes");
}

struct list_limits {
	uint32_t items;
	size_t bytes;
	const char *too_many, *too_long;
};

static void check_list(
	struct field_errors *e, const struct where *at, const struct json *list, const struct list_limits *limits)
{
	const struct json *one;

	if (list && list->n > limits->items) {
		refuse_forbidden(e, at, limits->too_many);
		return;
	}
	for (uint32_t i = 0; (one = list_item(list, i)); i++) {
		check_length(e, WHERE_ITEM(at, i), json_text(one), limits->bytes, limits->too_long);
	}
}

void check_pointers(struct field_errors *e, const struct where *at, const struct json *pointers)
{
	const struct json *one;
	const char *problem;

	if (pointers && pointers->n > POINTER_PATTERNS_MAX) {
		refuse_forbidden(e, at, "must have at most 64 items");
		return;
	}
	for (uint32_t i = 0; (one = list_item(pointers, i)); i++) {
		if ((problem = pointer_pattern_problem(json_text(one)))) {
			refuse_text(e, WHERE_ITEM(at, i), json_text(one), problem);
		}
	}
}

static void check_lists(struct field_errors *e, const struct where *at, const struct json *change)
{
	static const struct {
		const char *name;
		struct list_limits limits;
	} lists[] = {
		{"managers",
			{CHANGE_AUTHORS_MAX, CHANGE_AUTHOR_MAX, "must have at most 8 items", "must be no more than 128 bytes"}},
		{"paths",
			{CHANGED_PATHS_MAX, CHANGED_PATH_MAX, "must have at most 32 items", "must be no more than 256 bytes"}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		check_list(e, WHERE_NAMED(at, lists[i].name), json_gets(change, lists[i].name), &lists[i].limits);
	}
}

static void check_version(struct field_errors *e, const struct where *at, struct str version)
{
	uint64_t number;

	check_present(e, at, version);
	if (version.n > 0 && !str_to_uint64(version, &number)) {
		refuse_text(e, at, version, "must be an unsigned integer");
	}
}

bool change_is_deletion(const struct json *change)
{
	return str_is(member_text(change, "type"), "Deleted");
}

void check_change(struct field_errors *e, const struct where *at, const struct json *change)
{
	static const char *const types[] = {"Created", "Changed", "Deleted", NULL};
	static const char *const texts[] = {"cause", "resourceVersion", "uid", "apiVersion", "writeDigest"};

	check_choice(e, WHERE(at, "type"), member_text(change, "type"), types, true);
	check_present(e, WHERE(at, "time"), member_text(change, "time"));
	check_lists(e, at, change);
	check_pointers(e, WHERE(at, "ignore"), json_gets(change, "ignore"));
	check_not_negative(e, WHERE(at, "morePaths"), json_gets(change, "morePaths"));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		check_text_length(e, WHERE_NAMED(at, texts[i]), member_text(change, texts[i]));
	}
	if (!change_is_deletion(change)) {
		check_present(e, WHERE(at, "uid"), member_text(change, "uid"));
		check_present(e, WHERE(at, "apiVersion"), member_text(change, "apiVersion"));
	}
	check_version(e, WHERE(at, "historyResourceVersion"), member_text(change, "historyResourceVersion"));
}
