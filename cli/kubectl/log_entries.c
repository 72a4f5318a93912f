/* The changes that `log` prints, and the reason if there are none. A History counts all its changes, and lists the last
 * ones. So each change has a known number, and none is taken twice, whichever list or event shows it. */
#include "cli/kubectl/log_entries.h"
#include "api/diff/changes.h"
#include "api/model/members.h"
#include "base/clock.h"
#include "cli/kubectl/kubectl.h"

#include <assert.h>
#include <stdlib.h>

enum {
	SEEN_MAX = 4 << 20,    /* Histories */
	BYTES_MAX = 256 << 20, /* of texts */
	CHANGE_TEXT_MAX = 1 << 20, /* of one */
	ARENA_MAX = 4 << 20,   /* bytes for the copy of one change */
};

struct counter {
	int64_t n;
};

void log_entries_init(struct log_entries *e, size_t max, const struct log_filter *filter)
{
	*e = (struct log_entries){.max = max, .filter = *filter};
	map_init(&e->seen, SEEN_MAX);
}

void log_entries_clear(struct log_entries *e)
{
	for (size_t i = 0; i < e->n; i++) {
		mem_free(e->v[i].text);
		mem_free(e->v[i].before);
		mem_free(e->v[i].before_digest);
	}
	e->n = e->bytes = 0;
}

void log_entries_done(struct log_entries *e)
{
	log_entries_clear(e);
	mem_free(e->v);
	for (struct map_entry *each = map_next(&e->seen, NULL); each; each = map_next(&e->seen, each)) {
		mem_free(each->value);
	}
	map_done(&e->seen);
}

static int by_time(const void *a, const void *b)
{
	const struct log_entry *x = a, *y = b;
	if (x->time_us != y->time_us) {
		return x->time_us < y->time_us ? -1 : 1;
	}
	if (x->version != y->version) {
		return x->version < y->version ? -1 : 1;
	}
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static void drop_oldest(struct log_entries *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		e->bytes -= strlen(e->v[i].text);
		mem_free(e->v[i].text);
		mem_free(e->v[i].before);
		mem_free(e->v[i].before_digest);
	}
	memmove(e->v, e->v + n, (e->n - n) * sizeof(*e->v));
	e->n -= n;
	e->n_dropped += n;
}

void log_entries_sort(struct log_entries *e)
{
	if (!e->n) {
		return;
	}
	qsort(e->v, e->n, sizeof(*e->v), by_time);
	if (e->n > e->max) {
		drop_oldest(e, e->n - e->max);
	}
	if (e->bytes > BYTES_MAX) {
		drop_oldest(e, e->n / 2);
	}
	assert(e->n <= e->max);
}

static struct json *entry_of(const struct json *history, struct json *change, struct arena *a)
{
	const struct json *meta = json_gets(history, "metadata");
	struct json *entry = json_object(a), *where = json_object(a),
		    *subject = json_gets(json_gets(history, "spec"), "subject");
	json_add_text(a, where, STR("namespace"), member_text(meta, "namespace"));
	json_add_text(a, where, STR("name"), member_text(meta, "name"));
	json_add_text(a, entry, STR("apiVersion"), STR("annals.dev/v1"));
	json_add_text(a, entry, STR("kind"), STR("Change"));
	json_add(a, entry, STR("history"), where);
	json_add(a, entry, STR("subject"), subject ? subject : json_object(a));
	json_add(a, entry, STR("change"), change);
	return entry;
}

static char *text_of(const struct json *history, struct json *change)
{
	struct arena arena;
	struct buf text;
	buf_init(&text, CHANGE_TEXT_MAX);
	arena_init(&arena, ARENA_MAX);
	json_encode(&text, entry_of(history, change, &arena));
	arena_done(&arena);
	return buf_take(&text, NULL);
}

/* ---- the filter ---- */

/* Field managers do not count: a client chooses their names freely. */
static bool is_by(const struct json *change, struct str wanted)
{
	struct str user = member_text(change, "user"), time;
	return (user.n && str_eq(user, wanted)) || change_is_in_gap_by(change, wanted, &time);
}

/* Is one of these JSON pointers the other, or above it? */
static bool are_in_line(struct str a, struct str b)
{
	struct str shorter = a.n < b.n ? a : b, longer = a.n < b.n ? b : a;
	return str_starts(longer, shorter) && (longer.n == shorter.n || longer.p[shorter.n] == '/');
}

static bool is_of_path(struct log_entries *e, const struct json *change)
{
	const struct json *paths = json_gets(change, "paths"), *each;
	if (!str_is(member_text(change, "type"), "Changed") && !str_is(member_text(change, "type"), "Adopted")) {
		return false;
	}
	for (uint32_t i = 0; (each = list_item(paths, i)); i++) {
		if (are_in_line(json_text(each), e->filter.path)) {
			return true;
		}
	}
	e->n_unsure += member_int(change, "morePaths") > 0;
	return false;
}

static bool is_wanted(struct log_entries *e, const struct json *change, int64_t time_us)
{
	const struct log_filter *f = &e->filter;
	return time_us >= f->since_us && (!f->until_us || time_us < f->until_us) && (!f->by.n || is_by(change, f->by)) &&
		(!f->path.n || is_of_path(e, change));
}

/* The name of the last revision before the change at that place of the list. */
static char *before_of(const struct json *changes, uint32_t at)
{
	for (uint32_t i = at; i > 0; i--) {
		struct str name = member_text(changes->items[i - 1], "revision");
		if (name.n) {
			return mem_strndup(name.p, name.n);
		}
	}
	return NULL;
}

static char *before_digest_of(const struct json *history, const char *before)
{
	struct str digest = record_digest(json_gets(history, "status"), str_of(before));
	return before && digest.n ? mem_strndup(digest.p, digest.n) : NULL;
}

static void add(struct log_entries *e, const struct json *history, const struct json *changes, uint32_t at, bool is_first)
{
	struct json *change = changes->items[at];
	struct log_entry one = {.serial = e->serial++, .is_first = is_first};
	time_parse_rfc3339(member_text(change, "time"), &one.time_us);
	e->n_changes++;
	if (!is_wanted(e, change, one.time_us)) {
		return;
	}
	one.before = before_of(changes, at);
	one.before_digest = before_digest_of(history, one.before);
	str_to_uint64(member_text(change, "resourceVersion"), &one.version);
	one.text = text_of(history, change);
	if (e->n == e->cap) {
		e->cap = e->cap ? e->cap * 2 : 64;
		e->v = mem_realloc_array(e->v, e->cap, sizeof(*e->v));
	}
	e->bytes += strlen(one.text);
	e->v[e->n++] = one;
	if (e->n >= 2 * e->max || e->bytes > BYTES_MAX) {
		log_entries_sort(e);
	}
}

static struct counter *counter_of(struct log_entries *e, const struct json *history, bool *ret_is_new)
{
	struct str uid = member_text(json_gets(history, "metadata"), "uid");
	struct counter *found = map_get(&e->seen, uid);
	*ret_is_new = !found;
	if (!found) {
		found = mem_new(struct counter);
		if (!map_set(&e->seen, uid, found, NULL)) {
			found = mem_free(found);
		}
	}
	return found;
}

void log_entries_take(struct log_entries *e, const struct json *history)
{
	bool is_new;
	const struct json *status = json_gets(history, "status"), *changes = json_gets(status, "changes");
	uint32_t n = json_is(changes, JSON_ARRAY) ? changes->n : 0;
	int64_t total = MAX(member_int(status, "totalChanges"), (int64_t)n);
	struct counter *seen = counter_of(e, history, &is_new);
	if (!seen) {
		return;
	}
	e->n_histories += is_new;
	e->n_unlisted += is_new ? (uint64_t)(total - n) : 0;
	int64_t first = MAX(seen->n, total - n); /* the first new change, counted from 0 */
	if (!is_new && first > seen->n) {
		e->n_lost += (uint64_t)(first - seen->n);
	}
	for (int64_t i = first; i < total; i++) {
		add(e, history, changes, (uint32_t)(i - (total - n)), i == 0);
	}
	seen->n = MAX(seen->n, total);
}

void log_entries_skip(struct log_entries *e, const struct json *history)
{
	bool is_new;
	const struct json *status = json_gets(history, "status");
	struct counter *seen = counter_of(e, history, &is_new);
	if (seen) {
		seen->n = MAX(seen->n, MAX(member_int(status, "totalChanges"), (int64_t)member_count(status, "changes")));
	}
}

void log_entries_forget(struct log_entries *e, const struct json *history)
{
	mem_free(map_remove(&e->seen, member_text(json_gets(history, "metadata"), "uid")));
}

/* ---- why a log is empty ----
 *
 * "No changes" would suggest that nothing happened, while perhaps nothing was recorded. So the plugin reads the Recorders,
 * and looks for those that name the wanted objects. */

static const struct resource recorders = {{"annals.dev", 10}, {"v1", 2}, {"recorders", 9}};
static const struct resource namespaces = {{"", 0}, {"v1", 2}, {"namespaces", 10}};

/* Bytes of a selector as the text of a query; etcd takes no larger object than 1.5 MiB. */
enum { SELECTOR_MAX = 64 * 1024, NAMED_MAX = 4096 };

static bool has_item(const struct json *list, struct str wanted)
{
	const struct json *item;
	for (uint32_t i = 0; (item = list_item(list, i)); i++) {
		if (str_is(json_text(item), "*") || str_eq(json_text(item), wanted)) {
			return true;
		}
	}
	return false;
}

static bool names_type(const struct json *recorder, const struct api_resource *type)
{
	const struct json *rules = json_gets(json_gets(recorder, "spec"), "resources"), *rule;
	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		if (has_item(json_gets(rule, "groups"), type->resource.group) &&
			has_item(json_gets(rule, "resources"), type->resource.plural)) {
			return true;
		}
	}
	return false;
}

/* Does it record? ret_message says why not. */
static bool is_recording(const struct json *recorder, struct str *ret_message)
{
	const struct json *conditions = json_gets(json_gets(recorder, "status"), "conditions"), *each;
	*ret_message = STR("no controller has looked at it yet");
	for (uint32_t i = 0; (each = list_item(conditions, i)); i++) {
		if (str_is(member_text(each, "type"), "Recording")) {
			*ret_message = member_text(each, "message");
			return str_is(member_text(each, "status"), "True");
		}
	}
	return false;
}

/* A LabelSelector as the text of a query. */
static struct str selector_text(struct arena *a, const struct json *selector)
{
	const struct json *labels = json_gets(selector, "matchLabels"), *all = json_gets(selector, "matchExpressions"), *each;
	_cleanup_(buf_done) struct buf out;
	buf_init(&out, SELECTOR_MAX);
	for (uint32_t i = 0; json_is(labels, JSON_OBJECT) && i < labels->n; i++) {
		buf_printf(&out, "%s" STR_FMT "=" STR_FMT, out.n ? "," : "", STR_ARG(labels->members[i].name),
			STR_ARG(json_text(labels->members[i].value)));
	}
	for (uint32_t i = 0; (each = list_item(all, i)); i++) {
		struct str operator= member_text(each, "operator"), key = member_text(each, "key");
		bool is_in = str_is(operator, "In");
		buf_printf(&out, "%s%s" STR_FMT, out.n ? "," : "", str_is(operator, "DoesNotExist") ? "!" : "", STR_ARG(key));
		if (is_in || str_is(operator, "NotIn")) {
			const struct json *values = json_gets(each, "values"), *value;
			buf_adds(&out, is_in ? " in (" : " notin (");
			for (uint32_t v = 0; (value = list_item(values, v)); v++) {
				buf_printf(&out, "%s" STR_FMT, v ? "," : "", STR_ARG(json_text(value)));
			}
			buf_addc(&out, ')');
		}
	}
	return arena_dup(a, buf_str(&out));
}

/* Asks the server, which knows how labels are selected. If it does not answer, the object counts as selected. */
static bool is_selected(struct kubectl *k, const struct target *one, const struct json *selector)
{
	struct answer answer;
	const struct target all = {one->resource, one->namespace, STR(""), NULL};
	const struct list_options options = {.label_selector = selector_text(&k->arena, selector),
		.field_selector = arena_printf(&k->arena, "metadata.name=" STR_FMT, STR_ARG(one->name)),
		.metadata_only = true};
	if (!selector || !options.label_selector.n) {
		return true;
	}
	answer_init(&answer);
	bool is = rest_list(k->client, &all, &options, &answer) != 0 || member_count(answer.body, "items") > 0;
	answer_done(&answer);
	return is;
}

/* Why a Recorder that names the type has recorded nothing of the object; or NULL. */
static const char *reason_of(struct kubectl *k, const struct json *recorder, const struct target *object)
{
	const struct json *spec = json_gets(recorder, "spec");
	const struct target namespace = {&namespaces, STR(""), object->namespace, NULL};
	struct str message;
	if (!is_recording(recorder, &message)) {
		return arena_printf(&k->arena, "does not record (" STR_FMT ")%c", STR_ARG(message), '\0').p;
	}
	if (namespace.name.n && !is_selected(k, &namespace, json_gets(spec, "namespaceSelector"))) {
		return "selects other namespaces (spec.namespaceSelector)";
	}
	if (object->name.n && !is_selected(k, object, json_gets(spec, "objectSelector"))) {
		return "selects other objects (spec.objectSelector)";
	}
	return NULL;
}

/* The text of a setting that the server fills in. */
static void add_setting(struct buf *out, const struct json *recorder, const char *name)
{
	const struct json *spec = json_gets(recorder, "spec"), *keep = json_gets(spec, "keep");
	name = keep && strcmp(name, "historyLimit") == 0 ? "keep" : name; /* which counts in its place */
	const struct json *value = json_gets(spec, name);
	buf_printf(out, "spec.%s of Recorder " STR_FMT " is ", name,
		STR_ARG(member_text(json_gets(recorder, "metadata"), "name")));
	if (json_is(value, JSON_STRING)) {
		buf_add_str(out, json_text(value));
	} else if (value) {
		json_encode(out, value);
	} else {
		buf_adds(out, "not set");
	}
}

/* The Recorder whose name sorts first records an object that several select. The labels of an object that is gone are not
 * known, so then each Recorder is named that may have recorded it. Empty: there is none. */
static struct str limit_of(struct kubectl *k, const struct json *list, const struct api_resource *type,
	const struct target *object, const char *setting)
{
	const struct json *items = json_gets(list, "items"), *recorder;
	const struct target namespace = {&namespaces, STR(""), object->namespace, NULL};
	bool is_selected_by_one = false;
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, NAMED_MAX);
	for (uint32_t i = 0; (recorder = list_item(items, i)) && !is_selected_by_one; i++) {
		const struct json *of_namespace = json_gets(json_gets(recorder, "spec"), "namespaceSelector");
		if (!names_type(recorder, type) || (namespace.name.n && !is_selected(k, &namespace, of_namespace))) {
			continue;
		}
		is_selected_by_one = !reason_of(k, recorder, object);
		if (is_selected_by_one) {
			buf_clear(&text);
		}
		buf_adds(&text, text.n ? ", " : "");
		add_setting(&text, recorder, setting);
	}
	return arena_dup(&k->arena, buf_str(&text));
}

struct str log_limit_of(
	struct kubectl *k, const struct api_resource *type, struct str namespace, struct str name, const char *setting)
{
	const struct target all = {&recorders, STR(""), STR(""), NULL}, object = {&type->resource, namespace, name, NULL};
	struct answer answer;
	answer_init(&answer);
	int error = rest_list(k->client, &all, &(struct list_options){0}, &answer);
	struct str ret = error ? STR("") : limit_of(k, answer.body, type, &object, setting);
	if (error) {
		ret = arena_printf(
			&k->arena, "spec.%s of its Recorder cannot be read: " STR_FMT, setting, STR_ARG(answer.message));
	} else if (!ret.n) {
		ret = STR("no Recorder records it now");
	}
	answer_done(&answer);
	return ret;
}

static void explain_type(struct kubectl *k, const struct json *list, const struct api_resource *type, struct str name)
{
	const struct json *items = json_gets(list, "items"), *recorder;
	const struct target object = {
		&type->resource, str_of(type->is_namespaced && !k->is_everywhere ? k->ns : ""), name, NULL};
	struct str group = type->resource.group, plural = type->resource.plural;
	_cleanup_(buf_done) struct buf text;
	size_t n_named = 0;
	buf_init(&text, NAMED_MAX);
	if (str_is(group, "annals.dev")) {
		kubectl_note(k, "No changes found: objects of annals.dev are not recorded.");
		return;
	}
	for (uint32_t i = 0; (recorder = list_item(items, i)); i++) {
		const char *reason = names_type(recorder, type) ? reason_of(k, recorder, &object) : NULL;
		struct str of = member_text(json_gets(recorder, "metadata"), "name");
		n_named += names_type(recorder, type);
		if (names_type(recorder, type) && !reason) {
			kubectl_note(k,
				"No changes found: Recorder " STR_FMT " names " STR_FMT "%s" STR_FMT ", and has recorded none.",
				STR_ARG(of), STR_ARG(plural), group.n ? "." : "", STR_ARG(group));
			return;
		}
		if (reason) {
			buf_printf(&text, "%sRecorder " STR_FMT " %s", text.n ? "; " : "", STR_ARG(of), reason);
		}
	}
	if (n_named) {
		kubectl_note(k, "No changes found: " STR_FMT ".", STR_ARG(buf_str(&text)));
	} else {
		kubectl_note(k, "No changes found: no Recorder names " STR_FMT "%s" STR_FMT " (kubectl get recorders).",
			STR_ARG(plural), group.n ? "." : "", STR_ARG(group));
	}
}

static void explain_filter(struct kubectl *k, const struct log_entries *e)
{
	kubectl_note(k, "No changes found: %llu changes are recorded, and none of them is what the flags ask for.",
		(unsigned long long)e->n_changes);
	if (e->n_unlisted) {
		kubectl_note(k, "%llu older changes are not listed any more: " LOG_CHANGES_KEPT ".",
			(unsigned long long)e->n_unlisted);
	}
}

void log_explain_nothing(struct kubectl *k, const struct log_entries *e, const struct api_resource *type, struct str name)
{
	const struct str namespace = str_of(type && type->is_namespaced ? k->ns : "");
	const struct target all = {&recorders, STR(""), STR(""), NULL},
			    one = {type ? &type->resource : NULL, namespace, name, NULL};
	struct answer answer;
	answer_init(&answer);
	if (e->n_changes) {
		explain_filter(k, e);
	} else if (rest_list(k->client, &all, &(struct list_options){0}, &answer)) {
		kubectl_note(k, "No changes found. Whether anything is recorded cannot be said: " STR_FMT ".",
			STR_ARG(answer.message));
	} else if (!member_count(answer.body, "items")) {
		kubectl_note(k, "No changes found: there is no Recorder, so nothing is recorded.");
	} else if (!type) {
		kubectl_note(k, "No changes found%s.",
			k->is_everywhere ? "" : arena_printf(&k->arena, " in namespace %s%c", k->ns, '\0').p);
	} else {
		struct answer found;
		answer_init(&found);
		bool is_absent = name.n && rest_find_metadata(k->client, &one, &found) == REST_ABSENT;
		answer_done(&found);
		if (is_absent) {
			kubectl_note(k, "No changes found: it does not exist, and nothing of it is recorded.");
			struct str limit = limit_of(k, answer.body, type, &one, "keepDeleted");
			if (limit.n) {
				kubectl_note(k, "The History of a deleted object is removed after a time: " STR_FMT ".",
					STR_ARG(limit));
			}
		} else {
			explain_type(k, answer.body, type, name);
		}
	}
	answer_done(&answer);
}
