/* The command log. Each History lists its last changes itself, so revisions are only read for -p. */
#include "api/diff/changes.h"
#include "api/model/members.h"
#include "base/clock.h"
#include "cli/common/command.h"
#include "cli/kubectl/kubectl_watch.h"
#include "cli/kubectl/log_entries.h"
#include "cli/kubectl/put_back.h"

#include <assert.h>

enum {
	TAIL_DEFAULT = 10000,
	TAIL_DEFAULT_PATCH = 100,   /* two revisions are read for each */
	TAIL_MAX = 1000000,         /* changes; a greater --tail is refused, and -1 means as many */
	SUBJECTS_MAX = 1000,        /* objects named on the command line; more are refused */
	KEY_MAX = 2048,             /* "NAMESPACE/NAME" */
	ENTRY_TREE_MAX = 512 << 20, /* bytes of one batch */
};

/* The type, and perhaps the object, that a word names. */
struct subject {
	const struct api_resource *type;
	struct str name; /* empty: all of that type */
};

struct printer {
	struct kubectl *k;
	struct subject *subjects; /* none: everything */
	size_t n_subjects;
	bool is_anywhere; /* looks in all namespaces */
	struct log_entries entries;
	struct text_table table; /* keeps its widths from one batch to the next */
	struct arena arena;      /* for one batch */
	struct map named;        /* -o name: the objects that were printed */
	struct map labelled;     /* -l: "GROUP/KIND/NAMESPACE/NAME" of the objects with these labels */
	struct map limits;       /* -p: the same of objects, and the limit (struct str) that removes their revisions */
	bool has_heading, is_listed, has_failed;
};

static const char *const headings[] = {"TIME", "NAMESPACE", "OBJECT", "REVISION", "BY", "CHANGE", "CHANGE-CAUSE"};

static struct json *parsed(struct printer *p, const struct log_entry *e)
{
	struct json *entry;
	size_t at;
	return json_parse(&entry, &p->arena, str_of(e->text), JSON_LIMITS_DEFAULT, &at) ? json_object(&p->arena) : entry;
}

/* ---- as a table ---- */

static struct str subject_of(struct printer *p, const struct json *entry)
{
	struct json *history = json_object(&p->arena), *spec = json_object(&p->arena);
	json_add(&p->arena, spec, STR("subject"), json_gets(entry, "subject"));
	json_add(&p->arena, history, STR("spec"), spec);
	return history_subject(&p->arena, history);
}

/* Fills in all columns. add_row() chooses those that are shown. */
static void fill(struct printer *p, const struct json *entry, struct str cells[ARRAY_SIZE(headings)])
{
	const struct json *change = json_gets(entry, "change");
	struct str namespace = member_text(json_gets(entry, "subject"), "namespace");
	struct str cause = member_text(change, "cause");
	int64_t number = member_int(change, "number");
	cells[0] = member_text(change, "time");
	cells[1] = namespace.n ? namespace : STR("<none>");
	cells[2] = subject_of(p, entry);
	cells[3] = number ? arena_printf(&p->arena, "%lld", (long long)number) : STR("<none>");
	cells[4] = change_by(&p->arena, change);
	cells[5] = change_what(&p->arena, change, kubectl_wants(p->k, "wide"));
	cells[6] = cause.n ? cause : STR("<none>");
}

static void add_row(struct printer *p, const struct str cells[ARRAY_SIZE(headings)])
{
	struct str *row = text_table_row(&p->table);
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(headings); i++) {
		bool is_shown = i == 1 ? p->k->is_everywhere : i < 6 || kubectl_wants(p->k, "wide");
		if (is_shown) {
			row[n++] = cells[i];
		}
	}
	p->table.n_columns = n;
}

static void write_table(struct printer *p)
{
	struct str cells[ARRAY_SIZE(headings)];
	p->table.n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(headings); i++) {
		cells[i] = str_of(headings[i]);
	}
	if (!p->has_heading && p->entries.n) {
		add_row(p, cells);
		p->has_heading = true;
	}
	for (size_t i = 0; i < p->entries.n; i++) {
		fill(p, parsed(p, &p->entries.v[i]), cells);
		add_row(p, cells);
	}
	if (p->table.n) {
		text_table_write(&p->table, &p->arena, &p->k->out);
	}
}

/* ---- with differences ---- */

static void write_key(char ret[KEY_MAX], struct str group, struct str kind, struct str namespace, struct str name)
{
	snprintf(ret, KEY_MAX, STR_FMT "/" STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(group), STR_ARG(kind), STR_ARG(namespace),
		STR_ARG(name));
}

/* Reads a revision. *ret is NULL if it no longer exists. Returns 0, or -1 if it cannot be read, or if it has another digest
 * than was recorded. */
static int get_revision(struct printer *p, struct str namespace, struct str name, struct str digest, struct answer *answer,
	const struct json **ret)
{
	static const struct resource revisions = {{"annals.dev", 10}, {"v1", 2}, {"controllerrevisions", 19}};
	*ret = NULL;
	if (!name.n) {
		return 0;
	}
	const struct target one = {&revisions, namespace, name, NULL};
	int error = rest_get(p->k->client, &one, answer);
	if (error && !(error == REST_STATUS && answer_is_absent(answer, &one))) {
		return kubectl_refused(p->k, error, answer);
	}
	*ret = error ? NULL : json_gets(answer->body, "data");
	return state_check(p->k, name, *ret, digest);
}

/* Says which limit has removed the revisions that a difference needs. The Recorder is asked for once for each object. */
static void write_limit(struct printer *p, const struct log_entry *e, const struct json *entry, struct buf *out)
{
	const struct json *subject = json_gets(entry, "subject");
	struct str group = member_text(subject, "group"), kind = member_text(subject, "kind"),
		   namespace = member_text(subject, "namespace"), name = member_text(subject, "name");
	struct kubectl *k = p->k;
	char key[KEY_MAX];
	if (!e->before && !e->is_first) {
		buf_adds(out, "(the change before this one is not listed any more: " LOG_CHANGES_KEPT ")\n");
		return;
	}
	write_key(key, group, kind, namespace, name);
	struct str *limit = map_get(&p->limits, str_of(key));
	for (size_t i = 0; i < k->discovery.n && !limit; i++) {
		const struct api_resource *type = &k->discovery.resources[i];
		if (str_eq(type->resource.group, group) && str_eq(type->kind, kind)) {
			limit = arena_array(&k->arena, struct str, 1);
			*limit = log_limit_of(k, type, namespace, name, "historyLimit");
			map_set(&p->limits, str_of(key), limit, NULL);
		}
	}
	buf_printf(out, "(a revision that this needs is not kept any more: " STR_FMT ")\n",
		STR_ARG(limit ? *limit : STR("the server does not serve its kind now")));
}

static void write_change(
	struct printer *p, const struct log_entry *e, const struct json *entry, struct json *const states[2], struct buf *out)
{
	const struct json *change = json_gets(entry, "change"), *subject = json_gets(entry, "subject");
	bool is_secret = !member_text(subject, "group").n && str_is(member_text(subject, "kind"), "Secret");
	bool is_deleted = str_is(member_text(change, "type"), "Deleted");

	if (str_is(member_text(change, "type"), "Released")) {
		buf_adds(out, "(no Recorder selects the object any more)\n");
		return;
	}
	if (change_is_rerecorded(change)) {
		buf_adds(out, "(nobody changed the object: its Recorder has other rules, or reads another API version)\n");
		return;
	}
	if ((!states[0] && !e->is_first) || (!states[1] && !is_deleted)) {
		write_limit(p, e, entry, out);
		return;
	}
	struct json *both[] = {states[0], states[1]};
	if (is_secret) {
		put_back_mask_secret(&both[0], &both[1], &p->arena);
	}
	struct str name = subject_of(p, entry);
	const struct str names[] = {arena_printf(&p->arena, STR_FMT " before", STR_ARG(name)),
		is_deleted ? arena_printf(&p->arena, STR_FMT " deleted", STR_ARG(name))
			   : arena_printf(&p->arena, STR_FMT " revision %lld", STR_ARG(name),
				     (long long)member_int(change, "number"))};
	const struct json *const values[] = {both[0], both[1]};
	kubectl_write_yaml_diff(values, names, out);
}

static int write_difference(struct printer *p, const struct log_entry *e)
{
	struct answer answers[2];
	const struct json *entry = parsed(p, e), *states[2] = {NULL, NULL};
	struct str namespace = member_text(json_gets(entry, "history"), "namespace");
	const struct json *change = json_gets(entry, "change");
	const struct str names[] = {str_of(e->before), member_text(change, "revision")};
	const struct str digests[] = {str_of(e->before_digest), member_text(change, "digest")};
	int r = 0;
	for (size_t i = 0; i < 2; i++) {
		answer_init(&answers[i]);
		r = r ? r : get_revision(p, namespace, names[i], digests[i], &answers[i], &states[i]);
	}
	if (!r) {
		struct json *copies[] = {
			states[0] ? json_copy(&p->arena, states[0]) : NULL, states[1] ? json_copy(&p->arena, states[1]) : NULL};
		write_change(p, e, entry, copies, &p->k->out);
		buf_addc(&p->k->out, '\n');
	}
	answer_done(&answers[0]);
	answer_done(&answers[1]);
	return r;
}

/* A row, and below it the difference. */
static int write_differences(struct printer *p)
{
	struct log_entries all = p->entries;
	int r = 0;
	p->k->is_diff = true;
	for (size_t i = 0; i < all.n && !r; i++) {
		p->entries.v = all.v + i;
		p->entries.n = 1;
		write_table(p);
		r = write_difference(p, &all.v[i]);
		arena_clear(&p->arena);
	}
	p->entries.v = all.v;
	p->entries.n = all.n;
	return r;
}

/* ---- in other forms ---- */

static void write_list(struct printer *p)
{
	struct json *list = json_object(&p->arena), *items = json_array(&p->arena);
	for (size_t i = 0; i < p->entries.n; i++) {
		json_append(&p->arena, items, parsed(p, &p->entries.v[i]));
	}
	json_add_text(&p->arena, list, STR("apiVersion"), STR("v1"));
	json_add_text(&p->arena, list, STR("kind"), STR("List"));
	json_add(&p->arena, list, STR("items"), items);
	kubectl_print(p->k, list);
}

/* Prints one document after another, like kubectl get -w. */
static void write_documents(struct printer *p)
{
	for (size_t i = 0; i < p->entries.n; i++) {
		if (kubectl_wants(p->k, "yaml")) {
			buf_adds(&p->k->out, "---\n");
		}
		kubectl_print(p->k, parsed(p, &p->entries.v[i]));
	}
}

/* Prints each object once, in the order of their last changes. With -f, later ones follow. */
static void write_names(struct printer *p)
{
	struct str *names = arena_array(&p->arena, struct str, p->entries.n);
	for (size_t i = p->entries.n; i > 0; i--) {
		struct str name = subject_of(p, parsed(p, &p->entries.v[i - 1]));
		if (!map_get(&p->named, name)) {
			map_set(&p->named, name, p, NULL);
			names[i - 1] = name;
		}
	}
	for (size_t i = 0; i < p->entries.n; i++) {
		if (names[i].n) {
			buf_printf(&p->k->out, STR_FMT "\n", STR_ARG(names[i]));
		}
	}
}

static int write_entries(struct printer *p)
{
	int r = 0;
	log_entries_sort(&p->entries);
	if (kubectl_wants(p->k, "name")) {
		write_names(p);
	} else if (p->k->shows_patches) {
		r = write_differences(p);
	} else if (!kubectl_prints_objects(p->k)) {
		write_table(p);
	} else if (p->k->is_following) {
		write_documents(p);
	} else {
		write_list(p);
	}
	log_entries_clear(&p->entries);
	arena_clear(&p->arena);
	return r;
}

static void note_gaps(struct printer *p)
{
	if (p->entries.n_dropped && p->k->tail != 0) {
		kubectl_note(p->k, "%llu older changes are not shown; --tail=N shows more",
			(unsigned long long)p->entries.n_dropped);
	}
	if (p->entries.n_lost) {
		kubectl_note(p->k, "%llu changes came and went in their Histories while the watch was interrupted",
			(unsigned long long)p->entries.n_lost);
	}
	p->entries.n_dropped = p->entries.n_lost = 0;
}

/* ---- following ---- */

/* Returns false if the reader of the output has gone. */
static bool print_now(struct printer *p)
{
	struct kubectl *k = p->k;
	if (write_entries(p)) {
		p->has_failed = true;
		return false;
	}
	note_gaps(p);
	command_print(stderr, buf_str(&k->notes));
	bool is_printed =
		(k->is_diff ? kubectl_write_diff(k, stdout, buf_str(&k->out)) : command_print(stdout, buf_str(&k->out))) &&
		fflush(stdout) == 0;
	buf_clear(&k->notes);
	buf_clear(&k->out);
	return is_printed;
}

static bool is_meant(struct printer *p, const struct json *history)
{
	const struct json *subject = json_gets(json_gets(history, "spec"), "subject");
	struct str group = member_text(subject, "group"), kind = member_text(subject, "kind"),
		   namespace = member_text(subject, "namespace"), name = member_text(subject, "name");
	bool is_named = p->n_subjects == 0;
	for (size_t i = 0; i < p->n_subjects && !is_named; i++) {
		const struct subject *s = &p->subjects[i];
		is_named = str_eq(group, s->type->resource.group) && str_eq(kind, s->type->kind) &&
			(!s->name.n || str_eq(name, s->name));
	}
	/* Cluster-scoped objects have their Histories in any namespace, so those of other namespaces are listed, too. */
	return is_named && (p->k->is_everywhere || !p->is_anywhere || !namespace.n || str_is(namespace, p->k->ns));
}

/* Does the object have such labels now (-f -l)? The server is asked, since a History does not
 * have them. True if it does not answer. */
static bool has_labels_now(struct printer *p, const struct json *subject)
{
	struct kubectl *k = p->k;
	const struct api_resource *type = NULL;
	for (size_t i = 0; i < p->n_subjects && !type; i++) {
		const struct api_resource *each = p->subjects[i].type;
		bool is_it = str_eq(member_text(subject, "group"), each->resource.group) &&
			str_eq(member_text(subject, "kind"), each->kind);
		type = is_it ? each : NULL;
	}
	assert(type); /* is_meant() has found it */
	struct answer answer;
	_cleanup_(buf_done) struct buf name;
	buf_init(&name, KEY_MAX);
	buf_printf(&name, "metadata.name=" STR_FMT, STR_ARG(member_text(subject, "name")));
	const struct target all = {&type->resource, member_text(subject, "namespace"), STR(""), NULL};
	const struct list_options options = {
		.label_selector = str_of(k->label_selector), .field_selector = buf_str(&name), .metadata_only = true};
	answer_init(&answer);
	bool has = rest_list(k->client, &all, &options, &answer) != 0 || member_count(answer.body, "items") > 0;
	answer_done(&answer);
	return has;
}

/* With -f, objects come to have the labels, lose them, and are deleted. The change by which an object loses them is shown. */
static bool is_labelled(struct printer *p, const struct json *history)
{
	const struct json *subject = json_gets(json_gets(history, "spec"), "subject");
	char key[KEY_MAX];
	if (!p->k->label_selector) {
		return true;
	}
	write_key(key, member_text(subject, "group"), member_text(subject, "kind"), member_text(subject, "namespace"),
		member_text(subject, "name"));
	bool was = map_get(&p->labelled, str_of(key)) != NULL;
	if (!p->k->is_following || !p->is_listed) {
		return was;
	}
	bool is = has_labels_now(p, subject);
	if (is) {
		map_set(&p->labelled, str_of(key), p, NULL);
	} else {
		map_remove(&p->labelled, str_of(key));
	}
	return was || is;
}

static bool take(void *ctx, const struct json *history)
{
	struct printer *p = ctx;
	if (is_meant(p, history)) {
		bool is_shown = is_labelled(p, history);
		(is_shown ? log_entries_take : log_entries_skip)(&p->entries, history);
	}
	return true;
}

static bool take_and_print(void *ctx, const struct json *history)
{
	struct printer *p = ctx;
	take(p, history);
	/* Changes are sorted when the list is complete. */
	return !p->is_listed || p->entries.n == 0 || print_now(p);
}

static void forget(void *ctx, const struct json *history)
{
	struct printer *p = ctx;
	log_entries_forget(&p->entries, history);
}

static void on_listing(void *ctx)
{
	struct printer *p = ctx;
	p->is_listed = false;
}

static bool on_listed(void *ctx)
{
	struct printer *p = ctx;
	p->is_listed = true;
	p->entries.filter.since_us = 0; /* events are new, even if another clock gave them an old time */
	p->entries.max = TAIL_MAX;
	return print_now(p);
}

/* ---- choosing Histories ---- */

/* Field selectors have no "or". For several types all Histories are read, and is_meant() chooses. */
static struct str selector_of(struct printer *p)
{
	struct kubectl *k = p->k;
	struct str type = STR(""), more = str_of(k->field_selector);
	bool is_one_type = p->n_subjects > 0;
	for (size_t i = 1; i < p->n_subjects; i++) {
		is_one_type &= p->subjects[i].type == p->subjects[0].type;
	}
	if (is_one_type) {
		k->type = p->subjects[0].type;
		k->target.name = p->n_subjects == 1 ? p->subjects[0].name : STR("");
		type = histories_selector(k);
	}
	return arena_printf(&k->arena, STR_FMT "%s" STR_FMT, STR_ARG(type), type.n && more.n ? "," : "", STR_ARG(more));
}

/* A History does not have the labels of its object, which may change with each revision. So the objects are listed. */
static int find_labelled(struct printer *p, const struct api_resource *type)
{
	struct kubectl *k = p->k;
	bool is_everywhere = k->is_everywhere || !type->is_namespaced;
	const struct target all = {&type->resource, is_everywhere ? STR("") : str_of(k->ns), STR(""), NULL};
	struct list_options options = {.limit = LIST_PAGE, .label_selector = str_of(k->label_selector), .metadata_only = true};
	struct answer page;
	int error;
	answer_init(&page);
	do {
		const struct json *item;
		error = rest_list(k->client, &all, &options, &page);
		for (uint32_t i = 0; !error && (item = list_item(json_gets(page.body, "items"), i)); i++) {
			const struct json *meta = json_gets(item, "metadata");
			char key[KEY_MAX];
			write_key(key, type->resource.group, type->kind, member_text(meta, "namespace"),
				member_text(meta, "name"));
			map_set(&p->labelled, str_of(key), p, NULL);
		}
		options.continue_token = arena_dup(&k->arena, error ? STR("") : list_continue(page.body));
	} while (options.continue_token.n);
	int r = error ? kubectl_refused(k, error, &page) : 0;
	answer_done(&page);
	return r;
}

/* ---- the latest changes of all namespaces ----
 *
 * The server finds the Histories whose latest change was in a minute, or in an hour, by its index. So a log of the last minutes costs
 * what it shows. The oldest step comes first: a History that changes meanwhile is in a later one. */

/* Requests for one log, each for a minute or an hour: more would cost the server more than one list of all. A longer time is listed so. */
enum { STEPS_MAX = 72 };
/* The clocks of servers may be ahead. */
static const int64_t ahead_us = (int64_t)5 * 60 * 1000000;

/* 2026-01-02T03:04 of a minute. */
static const struct step {
	int64_t us;
	const char *field;
	size_t n_text;
} steps[] = {
	{(int64_t)60 * 1000000, "status.changedMinute", 16},
	{(int64_t)3600 * 1000000, "status.changedHour", 13},
};

static int list_steps(struct printer *p, const struct kubectl_watch *w, const struct step *step, int64_t until_us)
{
	struct kubectl_watch one = *w;
	char time[TIME_RFC3339_SIZE];
	struct str version;
	int r = 0;

	for (int64_t at = p->entries.filter.since_us / step->us * step->us; !r && at <= until_us; at += step->us) {
		time_format_rfc3339(time, at / 1000000);
		one.field_selector = arena_printf(&p->k->arena, "%s=%.*s%s" STR_FMT, step->field, (int)step->n_text, time,
			w->field_selector.n ? "," : "", STR_ARG(w->field_selector));
		r = kubectl_list(p->k, &one, &version);
	}
	return r;
}

/* Returns 0, or -1 where the Histories must be listed as ever: the flags ask for more, or the server does not have these fields. */
static int list_latest(struct printer *p, const struct kubectl_watch *w)
{
	int64_t since_us = p->entries.filter.since_us, until_us = clock_wall_us() + ahead_us;

	if (!p->k->is_everywhere || p->n_subjects > 0 || since_us <= 0) {
		return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (until_us - since_us < STEPS_MAX * steps[i].us) {
			int r = list_steps(p, w, &steps[i], until_us);
			buf_clear(&p->k->err);
			return r;
		}
	}
	return -1;
}

static void explain_nothing(struct printer *p, bool is_of_latest)
{
	const struct subject *first = p->n_subjects ? &p->subjects[0] : NULL;

	if (is_of_latest) {
		kubectl_note(p->k, "No changes found: %llu objects have changed since then, and none as the flags ask for.",
			(unsigned long long)p->entries.n_histories);
	} else {
		log_explain_nothing(p->k, &p->entries, first ? first->type : NULL, first ? first->name : STR(""));
	}
}

static int look(struct printer *p)
{
	struct kubectl *k = p->k;
	struct str version;
	const struct kubectl_watch w = {
		.target = {&histories, p->is_anywhere ? STR("") : str_of(k->ns), STR(""), NULL},
		.field_selector = selector_of(p),
		.on_object = k->is_following ? take_and_print : take,
		.on_gone = forget,
		.on_listing = on_listing,
		.on_listed = on_listed,
		.ctx = p,
	};
	for (size_t i = 0; k->label_selector && i < p->n_subjects; i++) {
		if (find_labelled(p, p->subjects[i].type)) {
			return -1;
		}
	}
	if (k->is_following) {
		return kubectl_follow(k, &w) || p->has_failed ? -1 : 0;
	}
	bool is_forbidden = false, is_of_latest = !list_latest(p, &w);
	if (!is_of_latest && kubectl_list(k, &w, &version)) {
		return -1;
	}
	if (!p->is_anywhere && kubectl_list_archived(k, &w, p->n_subjects == 0, &is_forbidden)) {
		return -1;
	}
	log_entries_sort(&p->entries);
	bool is_empty = p->entries.n == 0 && k->tail != 0;
	if (write_entries(p)) {
		return -1;
	}
	note_gaps(p);
	if (p->entries.n_unsure) {
		kubectl_note(k, "%llu changes list only some of their paths, and may be of " STR_FMT ", too",
			(unsigned long long)p->entries.n_unsure, STR_ARG(p->entries.filter.path));
	}
	if (is_empty && (kubectl_wants(k, "text") || kubectl_wants(k, "wide"))) {
		explain_nothing(p, is_of_latest);
		if (is_forbidden) {
			kubectl_note(k,
				"Histories of a deleted namespace are shown to those who may list histories in all namespaces.");
		}
	}
	return 0;
}

/* ---- flags ---- */

bool kubectl_read_duration(const char *text, int64_t *ret_us)
{
	struct str days, rest;
	int64_t n = 0, ms = 0;
	if (!str_cut(str_of(text), 'd', &days, &rest)) {
		rest = days;
	} else if (!str_to_int64(days, &n) || n < 0 || n > 365000) {
		return false;
	}
	if ((rest.n && !duration_parse_ms(rest, &ms)) || ms < 0 || (!rest.n && !days.n)) {
		return false;
	}
	*ret_us = (n * 86400000 + ms) * 1000;
	return true;
}

static int read_times(struct kubectl *k, struct log_filter *f)
{
	int64_t ago;
	if (k->since && k->since_time) {
		return kubectl_fail(k, "only one of --since and --since-time may be given");
	}
	if (k->since && !kubectl_read_duration(k->since, &ago)) {
		return kubectl_fail(k, "--since must be a duration such as 90s, 30m, 12h or 7d");
	}
	f->since_us = k->since && ago ? clock_wall_us() - ago : 0;
	if (k->since_time && !time_parse_rfc3339(str_of(k->since_time), &f->since_us)) {
		return kubectl_fail(k, "--since-time must be a time such as 2026-11-23T08:00:00Z");
	}
	if (k->until && !time_parse_rfc3339(str_of(k->until), &f->until_us)) {
		if (!kubectl_read_duration(k->until, &ago)) {
			return kubectl_fail(
				k, "--until must be a time such as 2026-11-23T08:00:00Z, or a duration such as 12h");
		}
		f->until_us = clock_wall_us() - ago;
	}
	return 0;
}

static int check(struct kubectl *k)
{
	struct log_filter times = {0};
	if (k->tail > TAIL_MAX) {
		return kubectl_fail(k, "--tail must be between -1 and %d", TAIL_MAX);
	}
	if (k->until && k->is_following) {
		return kubectl_fail(k, "--until ends the log, and --follow goes on with it: give one of them");
	}
	if (k->path && k->path[0] != '/') {
		return kubectl_fail(k, "--path must be a JSON pointer such as /data/limit");
	}
	if (k->shows_patches && !kubectl_wants(k, "text") && !kubectl_wants(k, "wide")) {
		return kubectl_fail(k, "--patch goes with -o text and -o wide");
	}
	for (size_t i = 0; k->label_selector && i < k->n_words; i++) {
		if (strchr(k->words[i], '/') || i > 0) {
			return kubectl_fail(k, "name cannot be provided when a selector is specified");
		}
	}
	if (k->label_selector && !k->n_words) {
		return kubectl_fail(k, "-l selects among the objects of a TYPE: name one");
	}
	return read_times(k, &times);
}

static int add_subject(struct kubectl *k, void *ctx)
{
	struct printer *p = ctx;
	if (p->n_subjects == SUBJECTS_MAX) {
		return kubectl_fail(k, "more than %d objects", SUBJECTS_MAX);
	}
	p->subjects[p->n_subjects++] = (struct subject){k->type, k->target.name};
	/* The Recorder chooses the namespace of a cluster-scoped object's History. */
	p->is_anywhere |= !k->type->is_namespaced;
	return 0;
}

static int run(struct kubectl *k)
{
	struct printer p = {.k = k, .is_anywhere = k->is_everywhere, .has_heading = k->has_no_headers};
	struct log_filter filter = {.by = str_of(k->by), .path = str_of(k->path)};
	size_t most = k->tail == -1 ? TAIL_MAX : k->shows_patches ? TAIL_DEFAULT_PATCH : TAIL_DEFAULT;
	if (read_times(k, &filter) || histories_check(k)) {
		return -1;
	}
	log_entries_init(&p.entries, k->tail >= 0 ? (size_t)k->tail : most, &filter);
	arena_init(&p.arena, ENTRY_TREE_MAX);
	map_init(&p.named, TAIL_MAX);
	map_init(&p.labelled, TAIL_MAX);
	map_init(&p.limits, TAIL_MAX);
	p.subjects = mem_array(SUBJECTS_MAX, sizeof(*p.subjects));
	int r = kubectl_find_all(k, add_subject, &p);
	r = r ? r : look(&p);
	mem_free(p.subjects);
	map_done(&p.limits);
	map_done(&p.labelled);
	map_done(&p.named);
	arena_done(&p.arena);
	text_table_done(&p.table);
	log_entries_done(&p.entries);
	return r;
}

const struct kubectl_command kubectl_log = {
	.name = "log",
	.usage = "[TYPE[,TYPE...] [NAME...] | TYPE/NAME...] [flags]",
	.summary = "Shows what changed, when, and by whom",
	.description = "Shows the changes that Recorders have recorded, the newest last. Without an argument it shows all\n"
		       "changes in the namespace; otherwise those of types or of objects. Deleted objects are shown, too.\n\n"
		       "BY is the user where that is certain, else the field managers, marked as such: helm (manager).\n"
		       "CHANGE lists the changed parts as JSON pointers; -o wide shows all of them, and the cause of the\n"
		       "change. REVISION is the number for show, diff, undo and restore.\n\n"
		       "With -f it goes on with what happens. -o json and -o yaml print a List of Changes, each with its\n"
		       "subject and its History. -o name prints the objects.",
	.examples = "  # the changes of the last hour, and then new ones\n"
		    "  kubectl annals log --since=1h -f\n"
		    "  # of one object, with causes\n"
		    "  kubectl annals log deployment/web -o wide\n"
		    "  # what alice changed, in all namespaces\n"
		    "  kubectl annals log -A --by=alice\n"
		    "  # who changed the limit, and to what\n"
		    "  kubectl annals log configmap/shop --path=/data/limit -p\n"
		    "  # a night, of two types\n"
		    "  kubectl annals log deployments,configmaps --since-time=2026-11-22T20:00:00Z --until=8h\n",
	.flags = "all-namespaces,A,by,path,patch,p,follow,f,watch,w,since,since-time,until,tail,no-headers,"
		 "field-selector,selector,l,color",
	.outputs = "text,wide,json,yaml,name",
	.words = WORDS_OBJECTS,
	.check = check,
	.run = run,
};
