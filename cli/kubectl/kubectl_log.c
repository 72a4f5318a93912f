/* What was changed, of all Histories that are meant. Each History tells its last changes itself, so
 * none of its revisions is read. */
#include "api/model/members.h"
#include "base/clock.h"
#include "cli/common/command.h"
#include "cli/kubectl/kubectl_watch.h"
#include "cli/kubectl/log_entries.h"

enum {
	TAIL_DEFAULT = 10000,
	TAIL_MAX = 1000000,
	KEY_MAX = 2048,             /* "NAMESPACE/NAME" */
	ENTRY_TREE_MAX = 512 << 20, /* of what is printed at once */
};

struct printer {
	struct kubectl *k;
	struct log_entries entries;
	struct text_table table; /* keeps its widths from one batch to the next */
	struct arena arena;      /* a batch */
	struct map named;        /* -o name: the objects that were printed */
	struct map labelled;     /* -l: "NAMESPACE/NAME" of the objects */
	bool has_heading, is_listed;
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

/* All columns; which of them are shown is for add_row(). */
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

/* As kubectl get -w: one after the other. */
static void write_documents(struct printer *p)
{
	for (size_t i = 0; i < p->entries.n; i++) {
		if (kubectl_wants(p->k, "yaml")) {
			buf_adds(&p->k->out, "---\n");
		}
		kubectl_print(p->k, parsed(p, &p->entries.v[i]));
	}
}

/* Each object once, in the order of their last changes; of what comes later, as it comes. */
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

static void write_entries(struct printer *p)
{
	log_entries_sort(&p->entries);
	if (kubectl_wants(p->k, "name")) {
		write_names(p);
	} else if (!kubectl_wants(p->k, "json") && !kubectl_wants(p->k, "yaml")) {
		write_table(p);
	} else if (p->k->is_following) {
		write_documents(p);
	} else {
		write_list(p);
	}
	log_entries_clear(&p->entries);
	arena_clear(&p->arena);
}

static void note_gaps(struct printer *p)
{
	if (p->entries.n_dropped) {
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

/* False: nobody reads any more. */
static bool print_now(struct printer *p)
{
	struct kubectl *k = p->k;
	write_entries(p);
	note_gaps(p);
	command_print(stderr, buf_str(&k->notes));
	bool is_printed = command_print(stdout, buf_str(&k->out)) && fflush(stdout) == 0;
	buf_clear(&k->notes);
	buf_clear(&k->out);
	return is_printed;
}

static bool is_meant(struct printer *p, const struct json *history)
{
	const struct json *subject = json_gets(json_gets(history, "spec"), "subject");
	char key[KEY_MAX];
	if (!p->k->label_selector) {
		return true;
	}
	snprintf(key, sizeof(key), STR_FMT "/" STR_FMT, STR_ARG(member_text(subject, "namespace")),
		STR_ARG(member_text(subject, "name")));
	return map_get(&p->labelled, str_of(key)) != NULL;
}

static bool take(void *ctx, const struct json *history)
{
	struct printer *p = ctx;
	if (is_meant(p, history)) {
		log_entries_take(&p->entries, history);
	}
	return true;
}

static bool take_and_print(void *ctx, const struct json *history)
{
	struct printer *p = ctx;
	log_entries_take(&p->entries, history);
	/* Until a list is complete, nothing is in order. */
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
	p->entries.since_us = 0; /* what comes now is new, whatever clock it was written by */
	p->entries.max = TAIL_MAX;
	return print_now(p);
}

/* ---- which ---- */

static struct str selector_of(struct kubectl *k)
{
	struct str type = k->type ? histories_selector(k) : STR(""), more = str_of(k->field_selector);
	return arena_printf(&k->arena, STR_FMT "%s" STR_FMT, STR_ARG(type), type.n && more.n ? "," : "", STR_ARG(more));
}

/* A History of what has no namespace is where its Recorder put it. */
static bool is_anywhere(const struct kubectl *k)
{
	return k->is_everywhere || (k->type && !k->type->is_namespaced);
}

/* Histories do not have the labels of their objects, which may be others at each revision: the objects are asked. */
static int find_labelled(struct printer *p)
{
	struct kubectl *k = p->k;
	const struct target all = {&k->type->resource, is_anywhere(k) ? STR("") : str_of(k->ns), STR(""), NULL};
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
			snprintf(key, sizeof(key), STR_FMT "/" STR_FMT, STR_ARG(member_text(meta, "namespace")),
				STR_ARG(member_text(meta, "name")));
			map_set(&p->labelled, str_of(key), p, NULL);
		}
		options.continue_token = arena_dup(&k->arena, error ? STR("") : list_continue(page.body));
	} while (options.continue_token.n);
	int r = error ? kubectl_refused(k, error, &page) : 0;
	answer_done(&page);
	return r;
}

static int look(struct printer *p)
{
	struct kubectl *k = p->k;
	struct str version;
	const struct kubectl_watch w = {
		.target = {&histories, is_anywhere(k) ? STR("") : str_of(k->ns), STR(""), NULL},
		.field_selector = selector_of(k),
		.on_object = k->is_following ? take_and_print : take,
		.on_gone = forget,
		.on_listing = on_listing,
		.on_listed = on_listed,
		.ctx = p,
	};
	if (k->label_selector && find_labelled(p)) {
		return -1;
	}
	if (k->is_following) {
		return kubectl_follow(k, &w);
	}
	if (kubectl_list(k, &w, &version)) {
		return -1;
	}
	bool is_empty = p->entries.n == 0;
	write_entries(p);
	note_gaps(p);
	if (is_empty && (kubectl_wants(k, "text") || kubectl_wants(k, "wide"))) {
		kubectl_note(k, "No changes found.");
	}
	return 0;
}

static int run(struct kubectl *k)
{
	if (k->tail < 0 || k->tail > TAIL_MAX) {
		return kubectl_fail(k, "--tail must be between 1 and %d", TAIL_MAX);
	}
	if (k->label_selector && (!k->type || k->target.name.n || k->is_following)) {
		return kubectl_fail(k, "-l selects among the objects of a TYPE, as they are now: not with a name or -w");
	}
	if (histories_check(k)) {
		return -1;
	}
	struct printer p = {.k = k};
	int64_t since_us = k->since_ms ? clock_wall_us() - k->since_ms * 1000 : 0;
	log_entries_init(&p.entries, k->tail ? (size_t)k->tail : TAIL_DEFAULT, since_us);
	arena_init(&p.arena, ENTRY_TREE_MAX);
	map_init(&p.named, TAIL_MAX);
	map_init(&p.labelled, TAIL_MAX);
	int r = look(&p);
	map_done(&p.labelled);
	map_done(&p.named);
	arena_done(&p.arena);
	text_table_done(&p.table);
	log_entries_done(&p.entries);
	return r;
}

const struct kubectl_command kubectl_log = {
	.name = "log",
	.usage = "[TYPE[/NAME]] [-A] [--since=1h] [-w] [flags]",
	.summary = "what was changed, when, and by whom",
	.description = "Shows the changes that Recorders have recorded, the newest last. Without an argument it shows all\n"
		       "changes in the namespace; with TYPE or TYPE/NAME those of a type or of one object. Deleted objects\n"
		       "are shown, too.\n\n"
		       "BY is the user where that is known, else the field managers. CHANGE lists the changed parts as JSON\n"
		       "pointers; -o wide shows all of them, and the cause of the change. REVISION is the number for show,\n"
		       "diff, undo and restore.\n\n"
		       "With -w it goes on with what happens. -o json and -o yaml print a List of Changes, each with its\n"
		       "subject and its History. -o name prints the objects.",
	.examples = "  # the changes of the last hour, and then new ones\n"
		    "  kubectl annals log --since=1h -w\n"
		    "  # of one object, with causes\n"
		    "  kubectl annals log deployment/web -o wide\n"
		    "  # what alice changed, in all namespaces\n"
		    "  kubectl annals log -A --field-selector=status.by=alice\n",
	.flags = "all-namespaces,A,watch,w,since,tail,field-selector,selector,l",
	.outputs = "text,wide,json,yaml,name",
	.words = WORDS_OBJECT_OR_NONE,
	.run = run,
};
