/* History, Snapshot and Recording: the record of one object's states, the request to keep a controller's
 * state in its history, and the request to record what was seen of many objects. */
#include "api/model/history.h"
#include "api/diff/changes.h"
#include "api/diff/keep.h"
#include "api/diff/sighting.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"
#include "api/rules/where.h"
#include "base/clock.h"

#include <assert.h>
#include <string.h>

/* History: what became of one object. It is the controller of the revisions that hold the object's states, outlives the object, and goes on when that
 * is recreated. Recording makes it (docs/explanation/history.md); its status comes with Snapshots alone (server/revisions/revisions.h). */

enum {
	SUBJECT_NAME_MAX = 1024, /* kinds whose names are only parts of paths have no limit of their own */
	/* Characters: the kind of a CRD is a DNS label but for its capitals; a longer one is
	 * refused. */
	KIND_MAX = 63,
	BY_MAX = 512, /* bytes of the column By: a manager's name has at most 128 */
};

/* ---- schema ---- */

static const struct type type_subject = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.HistorySubject",
	.go_type = "v1.HistorySubject",
	.doc = "The object that a History is about. Its version and its uid may change.",
	.fields =
		(const struct field[]){
			{"group", &type_string, FIELD_ALWAYS, "The API group of the object. Empty: the core group.", NULL,
				NULL},
			{"kind", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"The kind of the object: at most 63 letters and digits.", NULL, NULL},
			{"namespace", &type_string, 0,
				"The namespace of the object, which is that of the History. Empty: the object has none.", NULL,
				NULL},
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "Its name.", NULL, NULL},
			{0},
		},
};

static const struct type type_spec = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.HistorySpec",
	.go_type = "v1.HistorySpec",
	.doc = "The object whose history this is. It cannot be changed.",
	.fields =
		(const struct field[]){
			{"subject", &type_subject, FIELD_ALWAYS | FIELD_MANDATORY,
				"The object whose history this is. It cannot be changed.", NULL, NULL},
			{0},
		},
};

static const struct type type_revision = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.HistoryRevision",
	.go_type = "v1.HistoryRevision",
	.doc = "A ControllerRevision, which holds a state of the object.",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "Its name.", NULL, NULL},
			{"revision", &type_int64, FIELD_ALWAYS | FIELD_MANDATORY, "The number of the revision.", NULL, NULL},
			{0},
		},
};

static const struct type type_status = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.HistoryStatus",
	.go_type = "v1.HistoryStatus",
	.doc = "What was recorded. Snapshots write it, in one transaction with the revisions.",
	.fields =
		(const struct field[]){
			{"uid", &type_string, 0, "The uid that the object had when it was last seen.", NULL, NULL},
			{"apiVersion", &type_string, 0, "The API version in which the object was last read.", NULL, NULL},
			{"deletionTime", &type_time, 0,
				"When the deletion of the object was noticed. Absent: the object exists.", NULL, NULL},
			{"digest", &type_string, 0, "The digest of the state that was recorded last.", NULL, NULL},
			{"revision", &type_revision, 0, "The revision that holds the state that was recorded last.", NULL,
				NULL},
			{"revisions", &type_int64, FIELD_ALWAYS, "The number of revisions after the last change.", NULL, NULL},
			{"kept", &type_string, 0,
				"The numbers of these revisions, as ranges such as 1,17-60. Absent: the oldest went first.",
				NULL, NULL},
			{"bytes", &type_int64, 0,
				"The bytes of these revisions: of the last one as compact JSON, of the others as they are stored.",
				NULL, NULL},
			{"ignore", &type_string_list, 0,
				"JSON pointers to the values that were left out of the state that was recorded last.", NULL,
				NULL},
			{"totalChanges", &type_int64, FIELD_ALWAYS, "The number of all changes that were ever recorded.", NULL,
				NULL},
			{"changes", &list_changes, 0, "The last changes, the newest last: at most 50.", NULL, NULL},
			{0},
		},
};

static const struct type history_type = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.History",
	.go_type = "v1.History",
	.doc = "The history of one object: its last changes, and the revision that holds its state. The History is the "
	       "controller of its revisions. It stays when the object is deleted.",
	.fields =
		(const struct field[]){
			OBJECT_FIELDS,
			{"spec", &type_spec, FIELD_ALWAYS | FIELD_MANDATORY,
				"The object whose history this is. It cannot be changed.", NULL, NULL},
			{"status", &type_status, FIELD_ALWAYS, "What was recorded. Only Snapshots change it.", NULL, NULL},
			{0},
		},
};

/* ---- rules ---- */

static const struct json *subject_of(const struct object *o)
{
	return json_gets(object_spec(o), "subject");
}

static void prepare_create(struct object *o, struct arena *a)
{
	object_set_status(o, schema_zero(&type_status, a), a);
}

static bool is_kind(struct str kind)
{
	if (kind.n > KIND_MAX || kind.p[0] < 'A' || kind.p[0] > 'Z') {
		return false;
	}
	for (size_t i = 0; i < kind.n; i++) {
		char c = kind.p[i];
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9')) {
			return false;
		}
	}
	return true;
}

static void check_subject_name(struct field_errors *e, const struct where *at, struct str name)
{
	check_present(e, at, name);
	check_text(e, at, name, validate_path_segment);
	if (name.n > SUBJECT_NAME_MAX) {
		refuse_forbidden(e, at, "must be no more than 1024 bytes");
	}
}

static void history_validate(const struct object *o, struct field_errors *errors)
{
	const struct where spec = {.name = STR("spec")}, *at = WHERE(&spec, "subject");
	const struct json *subject = subject_of(o);
	struct str group = member_text(subject, "group"), kind = member_text(subject, "kind");
	struct str ns = member_text(subject, "namespace");

	if (group.n) {
		check_text(errors, WHERE(at, "group"), group, validate_dns_subdomain);
	}
	if (!kind.n) {
		refuse_absent(errors, WHERE(at, "kind"), "");
	} else if (!is_kind(kind)) {
		refuse_text(errors, WHERE(at, "kind"), kind,
			"must be a kind: at most 63 letters and digits, of which the first is a capital letter");
	}
	if (ns.n && !str_eq(ns, archive_origin(o->meta.ns))) {
		refuse_text(errors, WHERE(at, "namespace"), ns, "must be metadata.namespace, or empty");
	}
	check_subject_name(errors, WHERE(at, "name"), member_text(subject, "name"));
}

/* Each change writes the whole list again. */
static bool is_packed(const struct object *o _unused_)
{
	return true;
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	const struct json *spec = object_spec(o);

	if (!json_equal(spec, object_spec(old))) {
		field_invalid(errors, STR("spec"), spec, "field is immutable");
	}
}

/* ---- columns and fields ---- */

static const struct json *last_change(const struct object *o)
{
	const struct json *changes = json_gets(object_status(o), "changes");
	uint32_t n = changes ? changes->n : 0;

	while (n > 0 && change_is_rerecorded(list_item(changes, n - 1))) {
		n--; /* nobody made that one */
	}
	return n > 0 ? list_item(changes, n - 1) : NULL;
}

static struct str last_user(const struct object *o)
{
	return member_text(last_change(o), "user");
}

static void write_subject(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	const struct json *subject = subject_of(o);

	column_write_object(member_text(subject, "kind"), member_text(subject, "group"), member_text(subject, "name"), out);
}

static void write_revisions(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	buf_add_int(out, member_int(object_status(o), "revisions"));
}

static void write_since(struct str time, int64_t now_s, struct buf *out)
{
	if (time.n) {
		column_write_since(time, now_s, out);
	} else {
		json_encode_string(out, STR("<none>"));
	}
}

static void write_changed(const struct object *o, int64_t now_s, struct buf *out)
{
	write_since(member_text(last_change(o), "time"), now_s, out);
}

/* A client chooses the name of its field manager freely, so a manager does not look like a user. */
static void write_by(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	struct str user = last_user(o), manager = json_text(list_item(json_gets(last_change(o), "managers"), 0));
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, BY_MAX);
	if (user.n == 0 && manager.n > 0) {
		buf_printf(&text, STR_FMT " (manager)", STR_ARG(manager));
	}
	json_encode_string(out, user.n ? user : text.n ? buf_str(&text) : STR("<none>"));
}

static void write_deleted(const struct object *o, int64_t now_s, struct buf *out)
{
	write_since(member_text(object_status(o), "deletionTime"), now_s, out);
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Subject", "string", "", "The object whose history this is. It cannot be changed.", 0, write_subject, false},
	{"Revisions", "integer", "", "The number of revisions after the last change.", 0, write_revisions, false},
	{"Changed", "string", "", "How long ago the last change was.", 0, write_changed, false},
	{"By", "string", "", "The user who made the last change; else the field manager, marked as one.", 0, write_by, false},
	{"Deleted", "string", "", "How long ago the object was deleted.", 0, write_deleted, false},
};

static struct str select_group(const struct object *o, struct arena *a _unused_)
{
	return member_text(subject_of(o), "group");
}

static struct str select_kind(const struct object *o, struct arena *a _unused_)
{
	return member_text(subject_of(o), "kind");
}

static struct str select_namespace(const struct object *o, struct arena *a _unused_)
{
	return member_text(subject_of(o), "namespace");
}

static struct str select_name(const struct object *o, struct arena *a _unused_)
{
	return member_text(subject_of(o), "name");
}

static struct str select_by(const struct object *o, struct arena *a _unused_)
{
	return last_user(o);
}

static struct str select_deleted(const struct object *o, struct arena *a _unused_)
{
	return member_text(object_status(o), "deletionTime").n ? STR("true") : STR("false");
}

/* The latest time among the listed changes. The last change need not have it: the clocks of recorders differ. */
static struct str latest_time(const struct object *o, size_t n, struct arena *a)
{
	const struct json *changes = json_gets(object_status(o), "changes"), *one;
	char text[TIME_RFC3339_SIZE];
	int64_t latest_us = -1, us;

	for (uint32_t i = 0; (one = list_item(changes, i)); i++) {
		if (time_parse_rfc3339(member_text(one, "time"), &us) && us > latest_us) {
			latest_us = us;
		}
	}
	if (latest_us < 0) {
		return STR("");
	}
	time_format_rfc3339(text, latest_us / 1000000);
	return arena_dup(a, (struct str){text, n});
}

static struct str select_minute(const struct object *o, struct arena *a)
{
	return latest_time(o, strlen("2026-01-01T00:00"), a);
}

static struct str select_hour(const struct object *o, struct arena *a)
{
	return latest_time(o, strlen("2026-01-01T00"), a);
}

static const struct selectable_field selectable[] = {
	{"spec.subject.group", select_group, false},
	{"spec.subject.kind", select_kind, false},
	{"spec.subject.namespace", select_namespace, false},
	{"spec.subject.name", select_name, false},
	{"status.by", select_by, false},
	{"status.deleted", select_deleted, false},
	{"status.changedMinute", select_minute, false},
	{"status.changedHour", select_hour, false},
};

/* ---- the kind ---- */

/* Clients may only read the status. The server writes it with the revisions, so it is never wrong
 * about them. */
static const struct subresource subresources[] = {
	{.name = "status", .verbs = VERB_GET},
};

static const struct version history_versions[] = {
	{.group = "annals.dev", .name = "v1", .definition = "dev.annals.v1.History"},
};

static struct kind history = {
	.kind = "History",
	.list_kind = "HistoryList",
	.resource = "histories",
	.singular = "history",
	.short_names = (const char *const[]){"hist", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = history_versions,
	.n_versions = ARRAY_SIZE(history_versions),
	.type = &history_type,
	.doc = "The history of one object: its last changes, and which revision holds its state.",
	.unconditional_update = true,
	.reset_fields = resets_status,
	.prepare_create = prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = bumps_generation_of_spec,
	.validate = history_validate,
	.is_packed = is_packed,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(history)

/* Snapshot: asks for a controller's state to be kept in its history. It is answered, with the
 * outcome in status, and never stored itself (server/revisions/snapshot.c). */

enum { SNAPSHOT_LIVE_MAX = 2000 }; /* as many revisions as a history may have */
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
				"Older ones are deleted in the same transaction. With keep, keep.atMost counts in its place.",
				NULL, "10"},
			{"keep", &type_keep, FIELD_KEEP_EMPTY,
				"How long the states of a History are kept. Forbidden for other owners.", NULL, NULL},
			{"live", &type_string_list, FIELD_KEEP_EMPTY,
				"The names of the revisions that are in use, by pods for example: they are kept, and not counted. "
				"An empty list says that none is. Where annals serves the pods it also knows of these by itself. "
				"Elsewhere nothing is deleted if the list is absent, unless the owner is a History.",
				NULL, NULL},
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
	return history_is_owner(member_text(owner, "apiVersion"), member_text(owner, "kind"));
}

/* A History lists every change of its revisions, so a Snapshot names a change exactly if its owner
 * is a History. */
static void check_change_of(struct field_errors *errors, const struct where *at, const struct json *spec)
{
	const struct json *change = json_gets(spec, "change"), *owner = json_gets(spec, "owner");

	if (change) {
		check_change(errors, WHERE(at, "change"), change);
		if (!is_history(owner)) {
			refuse_text(errors, WHERE(WHERE(at, "owner"), "kind"), member_text(owner, "kind"),
				"must be a History of annals.dev/v1, which lists the change");
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

static void check_live(struct field_errors *errors, const struct where *at, const struct json *live)
{
	const struct json *name;

	if (live && live->n > SNAPSHOT_LIVE_MAX) {
		refuse_invalid(errors, at, NULL, "must have at most 2000 names");
		return;
	}
	for (uint32_t i = 0; (name = list_item(live, i)); i++) {
		check_text(errors, WHERE_ITEM(at, i), json_text(name), validate_dns_subdomain);
	}
}

static void snapshot_validate(const struct object *o, struct field_errors *errors)
{
	const struct json *spec = object_spec(o);
	const struct where at = {.name = STR("spec")};

	check_owner(errors, WHERE(&at, "owner"), json_gets(spec, "owner"));
	check_labels(errors, WHERE(&at, "labels"), json_gets(spec, "labels"));
	check_change_of(errors, &at, spec);
	bool is_stateless = change_is_stateless(json_gets(spec, "change"));
	(is_stateless ? check_no_data : check_data)(errors, WHERE(&at, "data"), json_gets(spec, "data"));
	check_prefix(errors, WHERE(&at, "namePrefix"), member_text(spec, "namePrefix"));
	check_not_negative(errors, WHERE(&at, "historyLimit"), json_gets(spec, "historyLimit"));
	check_live(errors, WHERE(&at, "live"), json_gets(spec, "live"));
	check_keep(errors, WHERE(&at, "keep"), json_gets(spec, "keep"));
	if (json_gets(spec, "keep") && !is_history(json_gets(spec, "owner"))) {
		refuse_forbidden(
			errors, WHERE(&at, "keep"), "is for states of a History: of others nobody knows the time and user");
	}
}

static const struct version snapshot_versions[] = {
	{.group = "annals.dev", .name = "v1", .definition = "dev.annals.v1.Snapshot"},
};

static struct kind snapshot = {
	.kind = "Snapshot",
	.list_kind = "SnapshotList",
	.resource = "snapshots",
	.singular = "snapshot",
	.is_namespaced = true,
	.verbs = VERB_CREATE,
	.extension = EXTENSION_SNAPSHOT,
	.versions = snapshot_versions,
	.n_versions = ARRAY_SIZE(snapshot_versions),
	.type = &snapshot_type,
	.doc = "Asks the server to keep a state of an object in its history.",
	.validate = snapshot_validate,
};
KIND_REGISTER(snapshot)

/* Recording: asks for what was seen of objects to be recorded in their Histories. It is answered, with a result for each, and
 * never stored itself (server/revisions/recording.c). */

static const struct type type_sighting = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.Sighting",
	.go_type = "v1.Sighting",
	.doc = "One look at an object that is recorded.",
	.fields =
		(const struct field[]){
			{"namespace", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"The namespace of the History: that of the object, if it has one. If the object is absent, it may be an "
				"archive of that.",
				NULL, NULL},
			{"subject", &type_subject, FIELD_ALWAYS | FIELD_MANDATORY,
				"The object. Its History is made, if there is none.", NULL, NULL},
			{"historyLimit", &type_int32, FIELD_ALWAYS,
				"The number of revisions that are kept besides the current one: 0 or more. With keep, "
				"keep.atMost counts in its place.",
				NULL, "10"},
			{"keep", &type_keep, FIELD_KEEP_EMPTY, "How long the states of the object are kept.", NULL, NULL},
			{"found", &type_string, FIELD_ALWAYS | FIELD_MANDATORY,
				"Present, Absent, or Unselected: it exists, but no Recorder selects it, so its state is not "
				"recorded. Unseen: nobody looked, and states of its History go as `keep` says.",
				NULL, NULL},
			{"time", &type_time, FIELD_ALWAYS | FIELD_MANDATORY, "When it was seen.", NULL, NULL},
			{"live", &type_bool, 0,
				"True: the object itself was read for this sighting. It is recorded even if the History lists a "
				"newer version.",
				NULL, NULL},
			{"late", &type_bool, 0,
				"True: nobody saw the change itself, so its time is that of the field managers, if they are "
				"known.",
				NULL, NULL},
			{"afterGap", &type_bool, 0, "True: states before this one may not have been seen.", NULL, NULL},
			{"skippedStates", &type_int64, 0, "The number of states that were seen before, and dropped.", NULL,
				NULL},
			{"gapResourceVersion", &type_string, 0,
				"With afterGap: up to this resourceVersion all objects of the kind were recorded. A History that "
				"begins with a newer version of its object says that states before may be missing.",
				NULL, NULL},
			{"resourceVersion", &type_string, 0, "The resourceVersion of the object. Absent: not known.", NULL,
				NULL},
			{"afterResourceVersion", &type_string, 0,
				"The resourceVersion of the object that the last write replaced. Absent: not known, and then the "
				"user is not, unless the object was created.",
				NULL, NULL},
			{"settledResourceVersion", &type_string, 0,
				"Up to this resourceVersion all was recorded before, though perhaps by other rules.", NULL,
				NULL},
			{"uid", &type_string, 0, "The uid of the object. Required, unless it is absent.", NULL, NULL},
			{"apiVersion", &type_string, 0,
				"The API version in which the object was read. Required, unless it is absent.", NULL, NULL},
			{"cause", &type_string, 0,
				"The annotation kubernetes.io/change-cause of the object: at most 1024 bytes.", NULL, NULL},
			{"creationTimestamp", &type_time, 0, "The metadata.creationTimestamp of the object.", NULL, NULL},
			{"generation", &type_int64, 0, "The metadata.generation of the object, if it has one.", NULL, NULL},
			{"digest", &type_string, 0, "The digest of the data. If the data has another one, it is refused.", NULL,
				NULL},
			{"writeDigest", &type_string, 0,
				"The digest of the whole object. The server finds the user of the change by it.", NULL, NULL},
			{"ignore", &type_string_list, 0,
				"JSON pointers to the values that were left out of the data: at most 64.", NULL, NULL},
			{"managedFields", &type_raw, 0,
				"The metadata.managedFields of the object. The server finds the managers of the changed fields "
				"in it.",
				NULL, NULL},
			{"data", &type_raw, 0, "The state: any JSON object. Required if the object is present.", NULL, NULL},
			{0},
		},
};

static const struct type list_sightings = {.kind = TYPE_LIST, .elem = &type_sighting};

static const struct type type_recording_spec = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.RecordingSpec",
	.go_type = "v1.RecordingSpec",
	.doc = "The objects that were seen.",
	.fields =
		(const struct field[]){
			{"sightings", &list_sightings, FIELD_MANDATORY,
				"The objects that were seen: at most 64. They are recorded in this order.", NULL, NULL},
			{0},
		},
};

static const struct type type_recording_history = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.RecordingHistory",
	.go_type = "v1.RecordingHistory",
	.doc = "The History of the object.",
	.fields =
		(const struct field[]){
			{"namespace", &type_string, FIELD_ALWAYS,
				"The namespace: that of the sighting, or an archive of it, if that namespace is deleted.", NULL,
				NULL},
			{"name", &type_string, FIELD_ALWAYS, "The name.", NULL, NULL},
			{"resourceVersion", &type_string, FIELD_ALWAYS, "The resourceVersion that it has now.", NULL, NULL},
			{"revisions", &type_int64, FIELD_ALWAYS, "The number of its revisions.", NULL, NULL},
			{"bytes", &type_int64, 0, "The bytes of its revisions, as in its status.", NULL, NULL},
			{0},
		},
};

static const struct type type_recording_result = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.RecordingResult",
	.go_type = "v1.RecordingResult",
	.doc = "The answer of the server to one sighting.",
	.fields =
		(const struct field[]){
			{"result", &type_string, FIELD_ALWAYS,
				"Recorded: a change was added to the History. Equal: the History lists it already, or there is "
				"nothing to record. Trimmed: states have gone as `keep` says. Overtaken: the History has something newer, so only a look at the object "
				"itself can decide. Refused: see error.",
				NULL, NULL},
			{"type", &type_string, 0, "The type of the change that was recorded.", NULL, NULL},
			{"skipped", &type_bool, 0, "True: the change says that states before it may be missing.", NULL, NULL},
			{"skippedStates", &type_int64, 0, "The number of states that are missing at least, if that is known.",
				NULL, NULL},
			{"revision", &type_snapshot_revision, 0, "The revision that holds the state.", NULL, NULL},
			{"history", &type_recording_history, 0, "The History of the object.", NULL, NULL},
			{"trimmed", &type_int64, 0, "The number of states that have gone.", NULL, NULL},
			{"more", &type_bool, 0, "True: more states are to go. Send the sighting again.", NULL, NULL},
			{"error", &type_raw, 0, "A Status, as the answer to a request for this sighting alone would be.", NULL,
				NULL},
			{0},
		},
};

static const struct type list_results = {.kind = TYPE_LIST, .elem = &type_recording_result};

static const struct type type_recording_status = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.RecordingStatus",
	.go_type = "v1.RecordingStatus",
	.doc = "The answer of the server.",
	.fields =
		(const struct field[]){
			{"results", &list_results, 0, "A result for each sighting, in the same order.", NULL, NULL},
			{0},
		},
};

static const struct type recording_type = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.Recording",
	.go_type = "v1.Recording",
	.doc = "Asks the server to record what was seen of objects, each in its History. A Recording is answered, and not stored. The "
	       "answer leaves out the sightings.",
	.fields =
		(const struct field[]){
			OBJECT_FIELDS,
			{"spec", &type_recording_spec, FIELD_ALWAYS | FIELD_MANDATORY, "The objects that were seen.", NULL,
				NULL},
			{"status", &type_recording_status, FIELD_ALWAYS, "The answer of the server.", NULL, NULL},
			{0},
		},
};

/* The server checks each sighting when its turn comes: a wrong one does not keep others from being recorded. */
static void recording_validate(const struct object *o, struct field_errors *errors)
{
	const struct where spec = {.name = STR("spec")};
	const struct json *sightings = json_gets(object_spec(o), "sightings");

	if (sightings && sightings->n > SIGHTINGS_MAX) {
		refuse_forbidden(errors, WHERE(&spec, "sightings"), "must have at most 64 items");
	}
}

static const struct version recording_versions[] = {
	{.group = "annals.dev", .name = "v1", .definition = "dev.annals.v1.Recording"},
};

static struct kind recording = {
	.kind = "Recording",
	.list_kind = "RecordingList",
	.resource = "recordings",
	.singular = "recording",
	.verbs = VERB_CREATE,
	.extension = EXTENSION_RECORDING,
	.versions = recording_versions,
	.n_versions = ARRAY_SIZE(recording_versions),
	.type = &recording_type,
	.doc = "Asks the server to record what was seen of objects.",
	.validate = recording_validate,
};
KIND_REGISTER(recording)
