/* Snapshot: asks for a controller's state to be kept in its history (seed 000). It is answered, with what became of it in status, and never stored
 * itself (server/verbs/snapshot.c). */
#include "api/model/members.h"
#include "api/record/change_schema.h"
#include "api/rules/where.h"

#include "api/rules/validate.h"

enum { PREFIX_MAX = 253 - 10 }; /* so that a name has room for a beginning of the digest */

static const struct type type_snapshot_spec = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.SnapshotSpec",
	.go_type = "v1.SnapshotSpec",
	.doc = "The state that is to be kept.",
	.fields =
		(const struct field[]){
			{"owner", &type_owner_reference, FIELD_ALWAYS | FIELD_MANDATORY,
				"The object whose state this is. It becomes the controller of the revision, so controller must "
				"be true.",
				NULL, NULL},
			{"labels", &type_string_map, 0, "Labels of the revision, if one is made.", NULL, NULL},
			{"data", &type_raw, FIELD_ALWAYS,
				"The state: any JSON object. Required, unless the change is a deletion.", NULL, NULL},
			{"namePrefix", &type_string, 0,
				"The start of the name of a new revision: at most 243 characters. The digest of the data "
				"follows. Absent: the name of the owner and a dash.",
				NULL, NULL},
			{"historyLimit", &type_int32, FIELD_ALWAYS,
				"The number of revisions that are kept besides the current one and those in use: 0 or more. "
				"Older ones are deleted in the same transaction.",
				NULL, "10"},
			{"change", &type_change_request, FIELD_KEEP_EMPTY,
				"The change that led to the state. Required if the owner is a History, and forbidden "
				"otherwise. The History is written in the same transaction.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_snapshot_revision = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.SnapshotRevision",
	.go_type = "v1.SnapshotRevision",
	.doc = "A ControllerRevision.",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS, "The name.", NULL, NULL},
			{"revision", &type_int64, FIELD_ALWAYS, "The number of the revision.", NULL, NULL},
			{0},
		},
};

static const struct type type_snapshot_history = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.SnapshotHistory",
	.go_type = "v1.SnapshotHistory",
	.doc = "The History to which the change was added.",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS, "The name.", NULL, NULL},
			{"resourceVersion", &type_string, FIELD_ALWAYS, "The resourceVersion that it has now.", NULL, NULL},
			{0},
		},
};

static const struct type type_snapshot_status = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.SnapshotStatus",
	.go_type = "v1.SnapshotStatus",
	.doc = "The answer of the server.",
	.fields =
		(const struct field[]){
			{"result", &type_string, 0,
				"Created: a revision was made. Unchanged: the newest revision has this state already. "
				"RolledBack: an older revision has it, and is the newest now. Deleted: the History has the "
				"deletion, and no revision was made.",
				NULL, NULL},
			{"revision", &type_snapshot_revision, 0, "The revision that holds the state.", NULL, NULL},
			{"trimmed", &type_string_list, 0, "The names of the revisions that were deleted, the oldest first.",
				NULL, NULL},
			{"history", &type_snapshot_history, 0, "The History, if there was a change.", NULL, NULL},
			{0},
		},
};

static const struct type snapshot_type = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.Snapshot",
	.go_type = "v1.Snapshot",
	.doc = "Asks the server to keep a state of an object: to find or make its revision, and to delete old ones. A Snapshot "
	       "is answered, and not stored.",
	.fields =
		(const struct field[]){
			OBJECT_FIELDS,
			{"spec", &type_snapshot_spec, FIELD_ALWAYS | FIELD_MANDATORY, "The state that is to be kept.", NULL,
				NULL},
			{"status", &type_snapshot_status, FIELD_ALWAYS, "The answer of the server.", NULL, NULL},
			{0},
		},
};

static void check_owner(struct field_errors *errors, const struct where *at, const struct json *owner)
{
	static const char *const needed[] = {"apiVersion", "kind", "name", "uid"};
	const struct json *controller = json_gets(owner, "controller");

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		check_present(errors, WHERE_NAMED(at, needed[i]), member_text(owner, needed[i]));
	}
	if (!controller || !controller->boolean) {
		refuse_invalid(errors, WHERE(at, "controller"), controller, "must be true: it is whose history this is");
	}
}

static bool is_history(const struct json *owner)
{
	return str_is(member_text(owner, "kind"), "History") &&
		str_starts(member_text(owner, "apiVersion"), STR("annals.dev/"));
}

/* What a History says of its revisions is never wrong: so none comes without its knowledge. */
static void check_change_of(struct field_errors *errors, const struct where *at, const struct json *spec)
{
	const struct json *change = json_gets(spec, "change"), *owner = json_gets(spec, "owner");

	if (change) {
		check_change(errors, WHERE(at, "change"), change);
		if (!is_history(owner)) {
			refuse_text(errors, WHERE(WHERE(at, "owner"), "kind"), member_text(owner, "kind"),
				"must be a History of annals.dev/v1, which tells of the change");
		}
	} else if (is_history(owner)) {
		refuse_absent(errors, WHERE(at, "change"), "the state of a History comes with the change that led to it");
	}
}

static void check_no_data(struct field_errors *errors, const struct where *at, const struct json *data)
{
	if (data && data->kind != JSON_NULL) {
		refuse_forbidden(errors, at, "there is no state of an object that was deleted");
	}
}

static void check_data(struct field_errors *errors, const struct where *at, const struct json *data)
{
	if (!data || data->kind == JSON_NULL) {
		refuse_absent(errors, at, "data is mandatory");
	} else if (data->kind != JSON_OBJECT) {
		refuse_absent(errors, at, "data must be a valid JSON object");
	}
}

/* As the beginning of a name that ends with a letter or digit. */
static void check_prefix(struct field_errors *errors, const struct where *at, struct str prefix)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	char name[PREFIX_MAX + 1];

	if (prefix.n > PREFIX_MAX) {
		refuse_text(errors, at, prefix, "must be no more than 243 characters");
		return;
	}
	if (prefix.n > 0) {
		memcpy(name, prefix.p, prefix.n);
	}
	name[prefix.n] = 'b';
	if (validate_dns_subdomain((struct str){name, prefix.n + 1}, messages) > 0) {
		refuse_text(errors, at, prefix, messages[0]);
	}
}

static void validate(const struct object *o, struct field_errors *errors)
{
	const struct json *spec = json_gets(o->fields, "spec");
	const struct where at = {.name = STR("spec")};

	check_owner(errors, WHERE(&at, "owner"), json_gets(spec, "owner"));
	check_labels(errors, WHERE(&at, "labels"), json_gets(spec, "labels"));
	check_change_of(errors, &at, spec);
	bool is_deletion = change_is_deletion(json_gets(spec, "change"));
	(is_deletion ? check_no_data : check_data)(errors, WHERE(&at, "data"), json_gets(spec, "data"));
	check_prefix(errors, WHERE(&at, "namePrefix"), member_text(spec, "namePrefix"));
	check_not_negative(errors, WHERE(&at, "historyLimit"), json_gets(spec, "historyLimit"));
}

static const struct door doors[] = {
	{.group = "annals.dev", .version = "v1", .definition = "dev.annals.v1.Snapshot"},
};

static struct kind snapshot = {
	.kind = "Snapshot",
	.list_kind = "SnapshotList",
	.resource = "snapshots",
	.singular = "snapshot",
	.is_namespaced = true,
	.verbs = VERB_CREATE,
	.is_answered = true,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &snapshot_type,
	.doc = "Asks the server to keep a state of an object in its history.",
	.validate = validate,
};
KIND_REGISTER(snapshot)
