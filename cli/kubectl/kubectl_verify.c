/* The command verify: is what was recorded still as it was recorded? The rules are in api/record/changes.h. */
#include "api/diff/changes.h"
#include "api/model/digest.h"
#include "api/model/members.h"
#include "cli/common/command.h"
#include "cli/kubectl/kubectl.h"
#include "cli/kubectl/kubectl_watch.h"

enum {
	PAGE = 50,            /* states; each may have a MiB */
	READS_MAX = 10,       /* of a History that changes meanwhile */
	SORTS_MAX = 8,        /* reasons why something is unverified */
	TREE_MAX = 512 << 20, /* bytes of one History with all its states as trees */
};

static const struct resource revisions_resource = {{"annals.dev", 10}, {"v1", 2}, {"controllerrevisions", 19}};

struct verifying {
	struct kubectl *k;
	struct arena scratch; /* of one state */
	struct text_table table;
	struct json *findings; /* for other forms of output */
	uint64_t n_histories, n_changes, n_revisions, n_altered, n_missing, n_unverified;
	struct {
		const char *things, *why; /* NULL: no more */
		uint64_t n, n_here;       /* in all Histories; in the one under way */
	} unverified[SORTS_MAX];
	bool has_failed;
	/* the History under way */
	const struct json *history;
	struct record_state *states;
	size_t n_states, cap_states;
	struct str revision; /* the one that is checked; empty: none */
};

static const char *const doubts[] = {
	[RECORD_UNVERIFIED] = "Unverified", [RECORD_ALTERED] = "Altered", [RECORD_MISSING] = "Missing"};

/* ---- findings ---- */

static void add_row(struct verifying *v, enum record_doubt doubt, struct str what)
{
	struct kubectl *k = v->k;
	const struct json *meta = json_gets(v->history, "metadata");
	struct str subject = history_subject(&k->arena, v->history), ns = arena_dup(&k->arena, member_text(meta, "namespace"));
	struct str *row = text_table_row(&v->table), *cell = row;
	struct json *finding = json_object(&k->arena);

	if (k->is_everywhere) {
		*cell++ = ns;
	}
	*cell++ = subject;
	*cell++ = str_of(doubts[doubt]);
	*cell = what;
	json_add_text(&k->arena, finding, STR("namespace"), ns);
	json_add_text(&k->arena, finding, STR("history"), arena_dup(&k->arena, member_text(meta, "name")));
	json_add_text(&k->arena, finding, STR("object"), subject);
	json_add_text(&k->arena, finding, STR("finding"), str_of(doubts[doubt]));
	json_add_text(&k->arena, finding, STR("message"), what);
	json_append(&k->arena, v->findings, finding);
}

/* There may be many with one reason, so they are counted. */
static void count_unverified(struct verifying *v, const char *things, const char *why)
{
	size_t i = 0;

	while (i + 1 < SORTS_MAX && v->unverified[i].why &&
		(strcmp(v->unverified[i].things, things) != 0 || strcmp(v->unverified[i].why, why) != 0)) {
		i++;
	}
	v->unverified[i].things = things;
	v->unverified[i].why = why;
	v->unverified[i].n++;
	v->unverified[i].n_here++;
	v->n_unverified++;
}

static void say(void *ctx, enum record_doubt doubt, const struct json *change, const char *what)
{
	struct verifying *v = ctx;
	struct arena *a = &v->k->arena;

	if (doubt == RECORD_UNVERIFIED) {
		count_unverified(v, change ? "changes" : "revisions", what);
		return;
	}
	v->n_altered += doubt == RECORD_ALTERED;
	v->n_missing += doubt == RECORD_MISSING;
	add_row(v, doubt,
		change ? arena_printf(a, "change of " STR_FMT ", version " STR_FMT ": %s", STR_ARG(member_text(change, "time")),
				 STR_ARG(member_text(change, "resourceVersion")), what)
			: v->revision.n ? arena_printf(a, "revision " STR_FMT ": %s", STR_ARG(v->revision), what)
					: arena_printf(a, "%s", what));
}

static void add_unverified(struct verifying *v)
{
	for (size_t i = 0; i < SORTS_MAX && v->unverified[i].why; i++) {
		if (v->unverified[i].n_here) {
			add_row(v, RECORD_UNVERIFIED,
				arena_printf(&v->k->arena, "%llu %s: %s", (unsigned long long)v->unverified[i].n_here,
					v->unverified[i].things, v->unverified[i].why));
			v->unverified[i].n_here = 0;
		}
	}
}

/* ---- a History ---- */

static void take_state(struct verifying *v, const struct json *object)
{
	const struct json *meta = json_gets(object, "metadata"), *data = json_gets(object, "data");
	char digest[DIGEST_SIZE];

	digest_of(digest, data, &v->scratch);
	arena_clear(&v->scratch);
	if (v->n_states == v->cap_states) {
		v->cap_states = v->cap_states * 2 + 16;
		v->states = mem_realloc_array(v->states, v->cap_states, sizeof(*v->states));
	}
	v->states[v->n_states++] = (struct record_state){
		.name = arena_dup(&v->k->arena, member_text(meta, "name")),
		.digest = arena_dup(&v->k->arena, str_of(digest)),
		.number = member_int(object, "revision"),
		.is_held = member_count(meta, "ownerReferences") > 1 || member_count(meta, "finalizers") > 0,
	};
}

static int read_states(struct verifying *v)
{
	struct kubectl *k = v->k;
	const struct json *meta = json_gets(v->history, "metadata");
	const struct target all = {&revisions_resource, member_text(meta, "namespace"), STR(""), NULL};
	struct list_options options = {.limit = PAGE};
	struct answer answer;
	int error;

	options.field_selector = arena_printf(&k->arena, "controller.uid=" STR_FMT, STR_ARG(member_text(meta, "uid")));
	v->n_states = 0;
	answer_init(&answer);
	do {
		const struct json *item;
		error = rest_list(k->client, &all, &options, &answer);
		for (uint32_t i = 0; !error && (item = list_item(json_gets(answer.body, "items"), i)); i++) {
			take_state(v, item);
		}
		options.continue_token = error ? STR("") : arena_dup(&k->arena, list_continue(answer.body));
	} while (options.continue_token.n);
	int r = error ? kubectl_refused(k, error, &answer) : 0;
	answer_done(&answer);
	return r;
}

static void check_history(struct verifying *v)
{
	const struct json *status = json_gets(v->history, "status");
	const struct record_report to = {say, v};

	record_check_changes(status, &to, &v->scratch);
	record_check_missing(status, v->states, v->n_states, &to);
	for (size_t i = 0; i < v->n_states; i++) {
		v->revision = v->states[i].name;
		record_check_state(status, &v->states[i], &to);
	}
	v->revision = STR("");
	add_unverified(v);
	arena_clear(&v->scratch);
	v->n_histories++;
	v->n_changes += member_count(status, "changes");
	v->n_revisions += v->n_states;
}

static struct str version_of(const struct json *history)
{
	return member_text(json_gets(history, "metadata"), "resourceVersion");
}

/* The History must not have changed while its revisions were read. If it has, they are read again. */
static int verify_history(struct verifying *v, const struct json *history)
{
	struct kubectl *k = v->k;
	struct answer answers[2];
	const struct json *meta = json_gets(history, "metadata");
	const struct target one = {&histories, arena_dup(&k->arena, member_text(meta, "namespace")),
		arena_dup(&k->arena, member_text(meta, "name")), NULL};
	bool is_settled = false, is_gone = false;
	int r = 0;

	answer_init(&answers[0]);
	answer_init(&answers[1]);
	v->history = history;
	for (unsigned i = 0; i < READS_MAX && !r && !is_settled && !is_gone; i++) {
		struct answer *next = &answers[i % 2];
		r = read_states(v);
		int error = r ? 0 : rest_get(k->client, &one, next);
		is_gone = error == REST_STATUS && answer_is_absent(next, &one);
		r = r ? r : error && !is_gone ? kubectl_refused(k, error, next) : 0;
		if (!r && !is_gone) {
			is_settled = str_eq(version_of(v->history), version_of(next->body));
			v->history = next->body;
		}
	}
	if (is_settled) {
		check_history(v);
	} else if (!r && !is_gone) {
		count_unverified(v, "histories", "they change all the time");
		add_unverified(v);
	}
	v->history = NULL;
	answer_done(&answers[0]);
	answer_done(&answers[1]);
	return r;
}

static bool verify_each(void *ctx, const struct json *history)
{
	struct verifying *v = ctx;

	v->has_failed = verify_history(v, history) != 0;
	return !v->has_failed;
}

static int verify_all(struct verifying *v)
{
	struct kubectl *k = v->k;
	const struct target all = {&histories, k->is_everywhere ? STR("") : str_of(k->ns), STR(""), NULL};
	struct answer answer;

	answer_init(&answer);
	int error = rest_each(k->client, &all, false, verify_each, v, &answer);
	int r = v->has_failed ? -1 : error ? kubectl_refused(k, error, &answer) : 0;
	answer_done(&answer);
	bool is_forbidden;
	const struct kubectl_watch w = {.on_object = verify_each, .ctx = v};
	return r || k->is_everywhere ? r : kubectl_list_archived(k, &w, false, &is_forbidden) || v->has_failed ? -1 : 0;
}

static int verify_one(struct verifying *v)
{
	struct kubectl *k = v->k;
	struct answer answer;
	const struct json *history;

	answer_init(&answer);
	int found = history_find(k, &answer, &history);
	int r = found > 0 ? verify_history(v, history)
		: found   ? -1
			  : kubectl_fail(k, "nothing was recorded of " STR_FMT, STR_ARG(kubectl_name(k)));
	answer_done(&answer);
	return r;
}

/* ---- the output ---- */

static void write_text(struct verifying *v)
{
	struct kubectl *k = v->k;

	if (v->table.n > 1) {
		text_table_write(&v->table, &k->arena, &k->out);
	}
	buf_printf(&k->out, "%llu histories, %llu changes, %llu revisions: %llu altered, %llu missing, %llu unverified\n",
		(unsigned long long)v->n_histories, (unsigned long long)v->n_changes, (unsigned long long)v->n_revisions,
		(unsigned long long)v->n_altered, (unsigned long long)v->n_missing, (unsigned long long)v->n_unverified);
	for (size_t i = 0; i < SORTS_MAX && v->unverified[i].why; i++) {
		buf_printf(&k->out, "unverified: %llu %s: %s\n", (unsigned long long)v->unverified[i].n,
			v->unverified[i].things, v->unverified[i].why);
	}
}

static void write_result(struct verifying *v)
{
	struct kubectl *k = v->k;
	struct json *list = json_object(&k->arena);

	if (!kubectl_prints_objects(k)) {
		write_text(v);
		return;
	}
	json_add_text(&k->arena, list, STR("apiVersion"), STR("v1"));
	json_add_text(&k->arena, list, STR("kind"), STR("List"));
	json_add(&k->arena, list, STR("items"), v->findings);
	kubectl_print(k, list);
}

/* Differences are printed, and the command fails all the same. */
static int finish(struct verifying *v)
{
	struct kubectl *k = v->k;

	write_result(v);
	if (!v->n_altered && !v->n_missing) {
		return 0;
	}
	command_print(stdout, buf_str(&k->out));
	fflush(stdout);
	return kubectl_fail(k, "not everything is as it was recorded");
}

static void add_headings(struct verifying *v)
{
	static const char *const headings[] = {"NAMESPACE", "OBJECT", "FINDING", "WHAT"};
	struct str *row = text_table_row(&v->table);
	size_t from = v->k->is_everywhere ? 0 : 1;

	for (size_t i = from; i < ARRAY_SIZE(headings); i++) {
		row[i - from] = str_of(headings[i]);
	}
	v->table.n_columns = ARRAY_SIZE(headings) - from;
}

static int run(struct kubectl *k)
{
	struct verifying v = {.k = k};

	if (histories_check(k)) {
		return -1;
	}
	if (k->type && (!k->target.name.n || k->is_everywhere)) {
		return kubectl_fail(k, "give one object, as TYPE/NAME, or none");
	}
	arena_init(&v.scratch, TREE_MAX);
	v.findings = json_array(&k->arena);
	add_headings(&v);
	int r = k->type ? verify_one(&v) : verify_all(&v);
	r = r ? r : finish(&v);
	text_table_done(&v.table);
	mem_free(v.states);
	arena_done(&v.scratch);
	return r;
}

const struct kubectl_command kubectl_verify = {
	.name = "verify",
	.usage = "[TYPE/NAME | -A] [flags]",
	.summary = "Verifies that what was recorded was not altered",
	.description =
		"Compares recorded states with the digests that their Histories list, and each listed change with the\n"
		"one before it. Without an argument it verifies all Histories in the namespace.\n\n"
		"Altered: a state, or a change, is not the one that was recorded. Missing: a change or a revision was\n"
		"removed. Revisions beyond the history limit are not missing. Unverified: annals 0.1 recorded it, which\n"
		"kept no digests, or the change that led to a revision is too old to be listed. The last lines count\n"
		"what is unverified by its reason.\n\n"
		"The exit status is 1 if anything is altered or missing.",
	.examples = "  # one object\n"
		    "  kubectl annals verify deployment/web\n"
		    "  # everything\n"
		    "  kubectl annals verify -A\n",
	.flags = "all-namespaces,A",
	.outputs = "text,json,yaml",
	.words = WORDS_OBJECT_OR_NONE,
	.run = run,
};
