/* Finds the difference between two states and its authors. Also the form of a change in a History
 * and in a Snapshot.
 *
 * Both states are taken in their canonical form: if two values have one digest, they do not differ
 * here.
 */
#include "api/diff/changes.h"

#include "api/diff/keep.h"
#include "api/diff/pointer.h"
#include "api/model/digest.h"
#include "api/model/gotext.h"
#include "api/model/members.h"
#include "base/hex.h"
#include "base/sha256.h"

#include <assert.h>
#include <stdio.h>

/* Deeper values are compared as wholes: each level of arrays reads what is below it once more. */
enum { LEVELS_MAX = 64, TEXTS_MAX = 64 * 1024 * 1024 };

struct comparison {
	struct changed_paths *paths;
	struct arena *arena;
	struct buf pointer;
};

static const struct json *canonical(const struct json *state, struct arena *a)
{
	_cleanup_(buf_done) struct buf text;
	struct json *j;
	size_t at;

	buf_init(&text, TEXTS_MAX);
	bool is_whole = digest_canonical(&text, state, a);
	assert(is_whole);
	int r = json_parse(&j, a, arena_dup(a, buf_str(&text)), JSON_LIMITS_DEFAULT, &at);
	return r ? json_null(a) : j; /* an arena that is full: its owner asks it */
}

/* Cuts the pointer to as many whole segments as fit. */
static struct str shown_pointer(struct str pointer)
{
	if (pointer.n <= CHANGED_PATH_MAX) {
		return pointer;
	}
	pointer.n = CHANGED_PATH_MAX + 1;
	while (pointer.n > 0 && pointer.p[pointer.n - 1] != '/') {
		pointer.n--;
	}
	return (struct str){pointer.p, pointer.n ? pointer.n - 1 : 0};
}

static void comparison_note(struct comparison *c)
{
	struct changed_paths *paths = c->paths;
	struct str path = shown_pointer(buf_str(&c->pointer));

	if (paths->n > 0 && str_eq(paths->v[paths->n - 1], path)) {
		return;
	}
	if (paths->n == CHANGED_PATHS_SEEN_MAX) {
		paths->more++;
		return;
	}
	paths->v[paths->n++] = arena_dup(c->arena, path);
}

static void compare(struct comparison *c, const struct json *before, const struct json *after, unsigned level);

/* NULL: it is not there. */
static void compare_child(
	struct comparison *c, struct str segment, const struct json *before, const struct json *after, unsigned level)
{
	size_t length = c->pointer.n;

	pointer_push(&c->pointer, segment);
	if (before && after) {
		compare(c, before, after, level + 1);
	} else {
		comparison_note(c);
	}
	buf_truncate(&c->pointer, length);
}

/* Members of canonical objects are sorted by name. */
static void compare_members(struct comparison *c, const struct json *before, const struct json *after, unsigned level)
{
	uint32_t i = 0, k = 0;

	while (i < before->n || k < after->n) {
		int order = i == before->n ? 1 : k == after->n ? -1 : str_cmp(before->members[i].name, after->members[k].name);
		const struct json_member *old = order <= 0 ? &before->members[i++] : NULL;
		const struct json_member *new = order >= 0 ? &after->members[k++] : NULL;
		compare_child(c, old ? old->name : new->name, old ? old->value : NULL, new ? new->value : NULL, level);
	}
}

static void compare_items(struct comparison *c, const struct json *before, const struct json *after, unsigned level)
{
	uint32_t first = 0, old_end = before->n, new_end = after->n;
	char index[POINTER_INDEX_SIZE];

	while (first < MIN(old_end, new_end) && json_equal(before->items[first], after->items[first])) {
		first++;
	}
	while (first < MIN(old_end, new_end) && json_equal(before->items[old_end - 1], after->items[new_end - 1])) {
		old_end--;
		new_end--;
	}
	for (uint32_t i = first; i < MAX(old_end, new_end); i++) {
		compare_child(c, pointer_index(index, i), i < old_end ? before->items[i] : NULL,
			i < new_end ? after->items[i] : NULL, level);
	}
}

static void compare(struct comparison *c, const struct json *before, const struct json *after, unsigned level)
{
	bool goes_on = before->kind == after->kind && level < LEVELS_MAX;

	if (goes_on && before->kind == JSON_OBJECT) {
		compare_members(c, before, after, level);
	} else if (goes_on && before->kind == JSON_ARRAY) {
		compare_items(c, before, after, level);
	} else if (!json_equal(before, after)) {
		comparison_note(c);
	}
}

void changed_paths(struct changed_paths *ret, const struct json *before, const struct json *after, struct arena *a)
{
	struct comparison c = {.paths = ret, .arena = a};

	ret->n = 0;
	ret->more = 0;
	buf_init(&c.pointer, TEXTS_MAX);
	compare(&c, canonical(before, a), canonical(after, a), 0);
	buf_done(&c.pointer);
}

/* ---- who ---- */

/* Looking for an item by its keys reads all that an entry has of the list: so many, and then no
 * more is known. */
enum { KEYS_READ_MAX = 100000 };

struct ownership {
	const struct json *state;
	struct arena *arena;
	size_t keys_read;
};

static bool has_keys(const struct json *item, const struct json *keys)
{
	bool is_same = json_is(keys, JSON_OBJECT);
	for (uint32_t i = 0; is_same && i < keys->n; i++) {
		const struct json *value = json_get(item, keys->members[i].name);
		is_same = value && json_equal(value, keys->members[i].value);
	}
	return is_same;
}

/* Returns whether "k:{...}" or "v:..." names the item. */
static bool is_item_of(struct ownership *o, struct str element, const struct json *item)
{
	struct json *named;
	size_t at;

	bool is_by_keys = str_starts(element, STR("k:"));
	if (!item || ++o->keys_read > KEYS_READ_MAX || (!is_by_keys && !str_starts(element, STR("v:")))) {
		return false;
	}
	struct str text = {element.p + 2, element.n - 2};
	if (json_parse(&named, o->arena, text, JSON_LIMITS_DEFAULT, &at)) {
		return false;
	}
	return is_by_keys ? has_keys(item, named) : json_equal(item, named);
}

static const struct json *item_fields(
	struct ownership *o, const struct json *fields, struct str segment, const struct json *item)
{
	const struct json *by_place = json_get(fields, arena_printf(o->arena, "i:" STR_FMT, STR_ARG(segment)));
	const struct json *found = by_place;
	for (uint32_t i = 0; !found && i < fields->n; i++) {
		found = is_item_of(o, fields->members[i].name, item) ? fields->members[i].value : NULL;
	}
	return found;
}

/* Returns whether an entry with these fieldsV1 owns the value at the path, a part of it, or a whole
 * around it. */
static bool owns(struct ownership *o, const struct json *fields, struct str path)
{
	const struct json *value = o->state;
	struct str segment;

	while (json_is(fields, JSON_OBJECT) && fields->n > 0 && pointer_shift(&path, &segment, o->arena)) {
		const struct json *child = pointer_step(value, segment);
		fields = json_is(value, JSON_ARRAY) ? item_fields(o, fields, segment, child)
						    : json_get(fields, arena_printf(o->arena, "f:" STR_FMT, STR_ARG(segment)));
		value = child;
	}
	return fields != NULL;
}

static bool owns_any(struct ownership *o, const struct json *entry, const struct changed_paths *paths)
{
	const struct json *fields = json_gets(entry, "fieldsV1");
	bool is_owner = false;

	for (size_t i = 0; json_is(fields, JSON_OBJECT) && fields->n > 0 && !is_owner && i < paths->n; i++) {
		is_owner = owns(o, fields, paths->v[i]);
	}
	return is_owner;
}

static bool is_of_status(const struct json *entry)
{
	return str_is(member_text(entry, "subresource"), "status");
}

static void authors_offer(struct change_authors *authors, const struct json *entry)
{
	struct str name = member_text(entry, "manager"), time = member_text(entry, "time");
	/* Times are RFC 3339 in UTC with seconds: their texts are in their order. */
	int order = str_cmp(time, authors->time);

	if (name.n == 0 || name.n > CHANGE_AUTHOR_MAX || (authors->n > 0 && order < 0)) {
		return;
	}
	if (authors->n == 0 || order > 0) {
		authors->n = 0;
		authors->time = time;
	}
	bool is_named = false;
	for (size_t i = 0; !is_named && i < authors->n; i++) {
		is_named = str_eq(authors->names[i], name);
	}
	if (!is_named && authors->n < CHANGE_AUTHORS_MAX) {
		authors->names[authors->n++] = name;
	}
}

void change_authors(struct change_authors *ret, const struct json *managed_fields, const struct json *state,
	const struct changed_paths *paths, struct arena *a)
{
	struct ownership o = {.state = state, .arena = a};
	const struct json *entry;

	*ret = (struct change_authors){.n = 0};
	for (uint32_t i = 0; (entry = list_item(managed_fields, i)); i++) {
		if (owns_any(&o, entry, paths)) {
			authors_offer(ret, entry);
		}
	}
	ret->is_known = ret->n > 0;
	for (uint32_t i = 0; !ret->is_known && (entry = list_item(managed_fields, i)); i++) {
		if (!is_of_status(entry)) {
			authors_offer(ret, entry);
		}
	}
}

struct str change_cause(const struct json *object)
{
	const struct json *annotations = json_gets(json_gets(object, "metadata"), "annotations");
	struct str cause = member_text(annotations, "kubernetes.io/change-cause");

	if (cause.n > CHANGE_CAUSE_MAX) {
		cause.n = CHANGE_CAUSE_MAX;
		while (cause.n > 0 && (cause.p[cause.n] & 0xc0) == 0x80) {
			cause.n--; /* no part of a character */
		}
	}
	return cause;
}

/* ---- the form of a change ----
 *
 * A Snapshot with a change holds the entry for a History, and the rest of the History's status. The
 * user who changed the object is not in it: the server knows the user or nobody does.
 */

#define GAP_FIELDS                                                                                                          \
	{"resourceVersion", &type_string, 0, "The resourceVersion of the object after the last change that was recorded.",  \
		NULL, NULL},                                                                                                \
		{"time", &type_time, 0, "The time of the last change that was recorded.", NULL, NULL},                      \
	{                                                                                                                   \
		"states", &type_int64, 0, "At least so many states are missing. Absent: nobody knows how many.", NULL, NULL \
	}

static const struct type type_gap_author = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.HistoryGapAuthor",
	.go_type = "v1.HistoryGapAuthor",
	.doc = "A user who wrote the object in a gap.",
	.fields =
		(const struct field[]){
			{"user", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The name of the user.", NULL, NULL},
			{"time", &type_time, 0, "When the user last wrote in the gap.", NULL, NULL},
			{0},
		},
};

static const struct type list_gap_authors = {.kind = TYPE_LIST, .elem = &type_gap_author};

static const struct type type_gap = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.HistoryGap",
	.go_type = "v1.HistoryGap",
	.doc = "The states between two changes that the recorder did not see.",
	.fields =
		(const struct field[]){
			GAP_FIELDS,
			{"authors", &list_gap_authors, 0,
				"Users who certainly wrote in the gap, besides the user of the change: at most 16.", NULL,
				NULL},
			{"moreAuthors", &type_bool, 0,
				"True: others may have written in the gap, too. Nobody knows for certain who.", NULL, NULL},
			{0},
		},
};

static const struct type type_gap_request = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.SnapshotGap",
	.go_type = "v1.SnapshotGap",
	.doc = "The states before a change that the recorder did not see. The server adds who wrote them.",
	.fields =
		(const struct field[]){
			GAP_FIELDS,
			{0},
		},
};

#define CHANGE_TYPE_TEXT                                                                                                         \
	"Created, Changed or Deleted. Released: no Recorder selects the object any more, so its states are not recorded. "       \
	"Adopted: a Recorder selects it again. Rerecorded: nobody changed the object, but its state is recorded by other rules " \
	"or in another API version."
#define CHANGE_FIELDS(gap_type)                                                                                                \
	{"type", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, CHANGE_TYPE_TEXT, NULL, NULL},                                  \
		{"time", &type_time, FIELD_ALWAYS | FIELD_MANDATORY, "When the change was noticed.", NULL, NULL},              \
		{"managers", &type_string_list, 0, "The field managers that own the changed fields: at most 8.", NULL, NULL},  \
		{"cause", &type_string, 0, "The annotation kubernetes.io/change-cause of the object: at most 1024 bytes.",     \
			NULL, NULL},                                                                                           \
		{"paths", &type_string_list, 0, "JSON pointers to the changed values: at most 32.", NULL, NULL},               \
		{"morePaths", &type_int64, 0, "The number of changed values beyond these paths.", NULL, NULL},                 \
		{"resourceVersion", &type_string, 0, "The resourceVersion of the object after the change.", NULL, NULL},       \
		{"generation", &type_int64, 0, "The metadata.generation of the object after the change, if it has one.", NULL, \
			NULL},                                                                                                 \
		{"skipped", &type_bool, 0,                                                                                     \
			"True: states between the change before and this one may be missing. The recorder did not see "        \
			"them.",                                                                                               \
			NULL, NULL},                                                                                           \
	{                                                                                                                      \
		"gap", gap_type, 0, "What is known of the missing states, if skipped is true.", NULL, NULL                     \
	}

static const struct type type_change = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.HistoryChange",
	.go_type = "v1.HistoryChange",
	.doc = "A change of the object.",
	.fields =
		(const struct field[]){
			CHANGE_FIELDS(&type_gap),
			{"revision", &type_string, 0, "The name of the revision that holds the state after the change.", NULL,
				NULL},
			{"number", &type_int64, 0, "The number that this revision had then.", NULL, NULL},
			{"user", &type_string, 0, "The user who made the change. Absent: nobody knows for certain.", NULL,
				NULL},
			{"digest", &type_string, 0,
				"The digest of the state after the change. Absent: annals 0.1 recorded the change, or the "
				"object was deleted.",
				NULL, NULL},
			{"previous", &type_string, 0,
				"The SHA-256 of the item before this one, in hexadecimal digits, over its canonical text. "
				"Absent: there was none, or annals 0.1 recorded the change.",
				NULL, NULL},
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
			CHANGE_FIELDS(&type_gap_request),
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
			{"afterResourceVersion", &type_string, 0,
				"The resourceVersion of the object that the write replaced. Absent: not known, and then the "
				"user is not, unless the object was created.",
				NULL, NULL},
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

static void check_gap(struct field_errors *e, const struct where *at, const struct json *change)
{
	const struct json *gap = json_gets(change, "gap");

	if (gap && !member_is_true(change, "skipped")) {
		refuse_forbidden(e, WHERE(at, "gap"), "needs skipped to be true");
	}
	check_text_length(e, WHERE(WHERE(at, "gap"), "resourceVersion"), member_text(gap, "resourceVersion"));
	check_not_negative(e, WHERE(WHERE(at, "gap"), "states"), json_gets(gap, "states"));
}

bool change_is_deletion(const struct json *change)
{
	return str_is(member_text(change, "type"), "Deleted");
}

bool change_is_stateless(const struct json *change)
{
	return change_is_deletion(change) || str_is(member_text(change, "type"), "Released");
}

bool change_is_rerecorded(const struct json *change)
{
	return str_is(member_text(change, "type"), "Rerecorded");
}

static void check_rerecorded(struct field_errors *e, const struct where *at, const struct json *change)
{
	static const char *const of_somebody[] = {"managers", "cause", "paths", "morePaths"};

	for (size_t i = 0; change_is_rerecorded(change) && i < ARRAY_SIZE(of_somebody); i++) {
		if (json_gets(change, of_somebody[i])) {
			refuse_forbidden(e, WHERE_NAMED(at, of_somebody[i]), "must be absent when type is Rerecorded");
		}
	}
}

void check_change(struct field_errors *e, const struct where *at, const struct json *change)
{
	static const char *const types[] = {"Created", "Changed", "Deleted", "Released", "Adopted", "Rerecorded", NULL};
	static const char *const texts[] = {
		"cause", "resourceVersion", "uid", "apiVersion", "writeDigest", "afterResourceVersion"};

	check_choice(e, WHERE(at, "type"), member_text(change, "type"), types, true);
	check_present(e, WHERE(at, "time"), member_text(change, "time"));
	check_lists(e, at, change);
	check_pointers(e, WHERE(at, "ignore"), json_gets(change, "ignore"));
	check_not_negative(e, WHERE(at, "morePaths"), json_gets(change, "morePaths"));
	check_not_negative(e, WHERE(at, "generation"), json_gets(change, "generation"));
	check_gap(e, at, change);
	check_rerecorded(e, at, change);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		check_text_length(e, WHERE_NAMED(at, texts[i]), member_text(change, texts[i]));
	}
	if (!change_is_stateless(change)) {
		check_present(e, WHERE(at, "uid"), member_text(change, "uid"));
		check_present(e, WHERE(at, "apiVersion"), member_text(change, "apiVersion"));
	}
	check_version(e, WHERE(at, "historyResourceVersion"), member_text(change, "historyResourceVersion"));
}

/* ---- is a History as it was recorded? ---- */

void change_print(char out[CHANGE_PRINT_SIZE], const struct json *change, struct arena *a)
{
	unsigned char hash[SHA256_SIZE];
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, TEXTS_MAX);
	bool is_whole = digest_canonical(&text, change, a);
	assert(is_whole);
	sha256(buf_str(&text), hash);
	hex_write(out, (const char *)hash, SHA256_SIZE);
	out[CHANGE_PRINT_SIZE - 1] = '\0';
}

/* Did the writer of this change keep digests? */
static bool is_linked(const struct json *change)
{
	return member_text(change, "digest").n > 0 || member_text(change, "previous").n > 0;
}

static bool follows(const struct json *change, const struct json *before, struct arena *a)
{
	char print[CHANGE_PRINT_SIZE];

	change_print(print, before, a);
	return str_is(member_text(change, "previous"), print);
}

static void report(const struct record_report *to, enum record_doubt doubt, const struct json *change, const char *what)
{
	to->say(to->ctx, doubt, change, what);
}

/* The first item that is listed: others may have been before it. */
static void check_first(const struct json *change, bool is_first_of_all, const struct record_report *to)
{
	if (!is_linked(change)) {
		report(to, RECORD_UNVERIFIED, change, "recorded without a digest");
	} else if (is_first_of_all && member_text(change, "previous").n > 0) {
		report(to, RECORD_MISSING, change, "has lost the change before it");
	} else if (!is_first_of_all && member_text(change, "previous").n == 0) {
		report(to, RECORD_ALTERED, change, "does not say which change was before it");
	}
}

static void check_link(const struct json *change, const struct json *before, const struct record_report *to, struct arena *a)
{
	if (!is_linked(change) && !is_linked(before)) {
		report(to, RECORD_UNVERIFIED, change, "recorded without a digest");
	} else if (!follows(change, before, a)) {
		report(to, RECORD_ALTERED, change,
			"does not follow the change before it: one of them was altered, or one between them is missing");
	}
}

static const struct json *last_state_change(const struct json *changes)
{
	for (uint32_t i = json_is(changes, JSON_ARRAY) ? changes->n : 0; i > 0; i--) {
		if (!change_is_stateless(changes->items[i - 1])) {
			return changes->items[i - 1];
		}
	}
	return NULL;
}

/* A change of type Rerecorded may have no revision. */
static const struct json *last_revision_change(const struct json *changes)
{
	for (uint32_t i = json_is(changes, JSON_ARRAY) ? changes->n : 0; i > 0; i--) {
		const struct json *change = changes->items[i - 1];
		if (!change_is_stateless(change) && !(change_is_rerecorded(change) && !member_text(change, "revision").n)) {
			return change;
		}
	}
	return NULL;
}

/* The status repeats the last state of its last change: both must be the same. */
static void check_last(const struct json *status, const struct record_report *to)
{
	const struct json *change = last_state_change(json_gets(status, "changes")), *revision = json_gets(status, "revision");
	const struct json *made = last_revision_change(json_gets(status, "changes"));
	struct str digest = member_text(change, "digest");

	if (change && digest.n > 0 && !str_eq(digest, member_text(status, "digest"))) {
		report(to, RECORD_ALTERED, change, "has another digest than the status of the History");
	}
	if (made &&
		(!str_eq(member_text(made, "revision"), member_text(revision, "name")) ||
			member_int(made, "number") != member_int(revision, "revision"))) {
		report(to, RECORD_ALTERED, made, "names another revision than the status of the History");
	}
}

void record_check_changes(const struct json *status, const struct record_report *to, struct arena *a)
{
	const struct json *changes = json_gets(status, "changes"), *change;
	int64_t n = member_count(status, "changes"), total = member_int(status, "totalChanges");

	if (total < n) {
		report(to, RECORD_ALTERED, NULL, "totalChanges is less than the number of listed changes");
	}
	for (uint32_t i = 0; (change = list_item(changes, i)); i++) {
		if (i == 0) {
			check_first(change, total == n, to);
		} else {
			check_link(change, changes->items[i - 1], to, a);
		}
	}
	check_last(status, to);
}

const struct json *record_change_to(const struct json *status, struct str revision)
{
	const struct json *changes = json_gets(status, "changes");

	for (uint32_t i = json_is(changes, JSON_ARRAY) ? changes->n : 0; i > 0; i--) {
		if (str_eq(member_text(changes->items[i - 1], "revision"), revision)) {
			return changes->items[i - 1];
		}
	}
	return NULL;
}

struct str record_digest(const struct json *status, struct str revision)
{
	const struct json *change = record_change_to(status, revision);
	struct str digest = member_text(change, "digest");
	const struct json *changes = json_gets(status, "changes");
	bool is_last = str_eq(member_text(json_gets(status, "revision"), "name"), revision) &&
		last_state_change(changes) == last_revision_change(changes);

	return digest.n > 0 || !is_last ? digest : member_text(status, "digest");
}

/* The number of the first listed change that led to a state. */
static int64_t first_number(const struct json *status)
{
	const struct json *changes = json_gets(status, "changes"), *change;

	for (uint32_t i = 0; (change = list_item(changes, i)); i++) {
		if (member_text(change, "revision").n > 0) {
			return member_int(change, "number");
		}
	}
	return INT64_MAX;
}

/* No listed change led to it: so did one that is no longer listed, or nobody has recorded it. */
static void check_unlisted(const struct json *status, const struct record_state *s, const struct record_report *to)
{
	bool are_all_listed = member_int(status, "totalChanges") <= member_count(status, "changes");

	if (are_all_listed || s->number >= first_number(status)) {
		report(to, RECORD_ALTERED, NULL, "no change led to it");
	} else {
		report(to, RECORD_UNVERIFIED, NULL, "the changes that led to them are no longer listed");
	}
}

void record_check_state(const struct json *status, const struct record_state *s, const struct record_report *to)
{
	const struct json *change = record_change_to(status, s->name);
	struct str digest = record_digest(status, s->name);

	if (!change) {
		check_unlisted(status, s, to);
		return;
	}
	if (digest.n == 0) {
		report(to, RECORD_UNVERIFIED, NULL, "the changes that led to them were recorded without a digest");
	} else if (!str_eq(digest, s->digest)) {
		report(to, RECORD_ALTERED, NULL, "its data are not the state that was recorded");
	}
	if (member_int(change, "number") != s->number) {
		report(to, RECORD_ALTERED, NULL, "its number is not the one that was recorded");
	}
}

static bool is_there(const struct record_state *states, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(states[i].name, name)) {
			return true;
		}
	}
	return false;
}

/* The oldest go first, but for those that something holds. So what is newer than one of the others was not trimmed. */
static int64_t oldest_kept(const struct record_state *states, size_t n)
{
	int64_t oldest = INT64_MAX;

	for (size_t i = 0; i < n; i++) {
		oldest = states[i].is_held ? oldest : MIN(oldest, states[i].number);
	}
	return oldest;
}

void record_check_missing(
	const struct json *status, const struct record_state *states, size_t n, const struct record_report *to)
{
	const struct json *changes = json_gets(status, "changes"), *change;
	struct str last = member_text(json_gets(status, "revision"), "name");
	int64_t oldest = oldest_kept(states, n), n_missing = 0;
	struct str kept = member_text(status, "kept");

	for (uint32_t i = 0; (change = list_item(changes, i)); i++) {
		struct str name = member_text(change, "revision");
		bool is_latest = name.n > 0 && record_change_to(status, name) == change;
		int64_t number = member_int(change, "number");
		bool is_kept = str_eq(name, last) || (kept.n > 0 ? keep_has_number(kept, number) : number > oldest);
		if (is_latest && is_kept && !is_there(states, n, name)) {
			report(to, RECORD_MISSING, change, "led to a revision that is missing");
			n_missing++;
		}
	}
	if (!n_missing && (int64_t)n < member_int(status, "revisions")) {
		report(to, RECORD_MISSING, NULL, "there are fewer revisions than were recorded");
	}
}
