/* The ten steps of one pass over a StatefulSet (seed 002, "Revised Controller Algorithm"), and upstream's rules where apps/v1 knows
 * more: transcripts/set_pass.txt has what happens to a set, and all that its passes ask for.
 *
 *     world both                 two sets, one with each carrier of histories; or controllerrevisions, podtemplates. A second word:
 *                                seed (the default), upstream, either: whether the set asks for seed 002's way out of failed updates
 *     have replicas 5 parallel   from the beginning: fields without a new generation
 *     image b, replicas 2, partition 1, start 6, touch    what a user writes
 *     pass, kubelet, next, settle                         next is kubelet, and a pass. settle is both until nothing happens
 *     count                      a pass whose pods are many
 *     fail refused 2             the second call from now; conflict, lost, death
 *     pod 1 Running unready, delete 1, label 1 NAME VALUE     a pod; without VALUE the label goes
 *     begin 1, of-revision 1 b   the pod has just begun to run, and was never Ready; it is of the revision that keeps b
 *
 * The sets of a world print the same, or each its own lines behind its name. */
#include "tests/unit/set_world.h"
#include "tests/unit/transcript.h"

#include "api/model/members.h"

#include <string.h>

enum { WORLDS = 4 };

struct theatre {
	struct set_world worlds[WORLDS];
	struct str shown[WORLDS]; /* what was printed last of pods and status */
	size_t said[WORLDS], told[WORLDS];
	const char *names[WORLDS];
	size_t n;
	struct arena arena; /* of words */
};

static void *theatre_begin(void)
{
	struct theatre *t = mem_new(struct theatre);
	arena_init(&t->arena, 1 << 20);
	return t;
}

static void theatre_clear(struct theatre *t)
{
	while (t->n > 0) {
		set_world_done(&t->worlds[--t->n]);
	}
}

static void theatre_end(void *ctx)
{
	struct theatre *t = ctx;
	theatre_clear(t);
	arena_done(&t->arena);
	mem_free(t);
}

static int64_t number(struct str *rest)
{
	int64_t n = 0;
	struct str word = transcript_word(rest);
	if (!str_to_int64(word, &n)) {
		fail_msg("\"" STR_FMT "\" is no number", STR_ARG(word));
	}
	return n;
}

/* NULL: there is none. */
static const char *word(struct theatre *t, struct str *rest)
{
	struct str found = transcript_word(rest);
	return found.n ? arena_printf(&t->arena, STR_FMT "%c", STR_ARG(found), '\0').p : NULL;
}

static void theatre_open(struct theatre *t, struct str carriers_word, struct str rules)
{
	static const char *const names[][2] = {{"controllerrevisions", "controllerrevisions by upstream's rules"},
		{"podtemplates", "podtemplates by upstream's rules"}};
	theatre_clear(t);
	for (size_t i = 0; i < ARRAY_SIZE(carriers); i++) {
		for (size_t upstream = 0; upstream < 2; upstream++) {
			bool is_wanted = str_is(carriers_word, "both") || str_is(carriers_word, names[i][0]);
			bool is_ruled = str_is(rules, "either") || str_is(rules, "upstream") == (upstream == 1);
			if (is_wanted && is_ruled) {
				set_world_init(&t->worlds[t->n], carriers[i]);
				t->worlds[t->n].follows_seed = upstream == 0;
				t->shown[t->n] = STR("");
				t->said[t->n] = t->told[t->n] = 0;
				t->names[t->n] = names[i][upstream];
				t->n++;
			}
		}
	}
	assert_true(t->n > 0);
}

/* ---- what is printed ---- */

static struct str revision_shown(struct set_world *w, struct str name)
{
	for (size_t i = 0; i < w->n_revisions; i++) {
		const struct json *object = w->revisions[i], *data = json_gets(object, "data");
		const struct json *template =
			data ? json_gets(json_gets(data, "spec"), "template") : json_gets(object, "template");
		if (str_eq(member_text(json_gets(object, "metadata"), "name"), name)) {
			return member_text(list_item(json_gets(json_gets(template, "spec"), "containers"), 0), "image");
		}
	}
	return name.n ? STR("gone") : STR("none");
}

static void print_state(struct theatre *t, size_t i, struct buf *out)
{
	struct set_world *w = &t->worlds[i];
	const struct set_status *st = &w->status;
	struct str images = set_images(w), from = revision_shown(w, st->current_revision),
		   to = revision_shown(w, st->update_revision);
	struct str now = arena_printf(&w->arena,
		"  pods: " STR_FMT
		"\n  status: generation %lld, %lld replicas, %lld ready, %lld available, %lld current, %lld updated, " STR_FMT
		" %lld -> " STR_FMT " %lld, %lld collisions; %zu revisions\n",
		STR_ARG(images.n ? images : STR("none")), (long long)st->observed_generation, (long long)st->replicas,
		(long long)st->ready, (long long)st->available, (long long)st->current, (long long)st->updated, STR_ARG(from),
		(long long)st->current_generation, STR_ARG(to), (long long)st->update_generation, (long long)st->collisions,
		w->n_revisions);
	if (!str_eq(now, t->shown[i])) {
		buf_add_str(out, now);
		t->shown[i] = now;
	}
}

static void print_lines(const char *before, const struct buf *all, size_t *at, struct buf *out)
{
	struct str line, rest = {all->p + *at, all->n - *at};
	while (rest.n > 0 && str_cut(rest, '\n', &line, &rest)) {
		buf_printf(out, "  %s" STR_FMT "\n", before, STR_ARG(line));
	}
	*at = all->n;
}

static void print_pass(struct theatre *t, size_t i, bool is_done, struct buf *out)
{
	struct set_world *w = &t->worlds[i];
	struct str trace = set_trace(w);
	buf_printf(out, STR_FMT "\n", STR_ARG(trace.n ? trace : STR("nothing")));
	if (!is_done) {
		buf_printf(out, "  fails: " STR_FMT "\n", STR_ARG(w->problem));
	}
	print_lines("says: ", &w->events, &t->said[i], out);
	print_lines("problem: ", &w->problems, &t->told[i], out);
	if (w->again_in_s) {
		buf_printf(out, "  again in %lld s\n", (long long)w->again_in_s);
	}
	buf_adds(out, w->has_more ? "  has more\n" : "");
	print_state(t, i, out);
}

/* ---- steps on one set: each returns false if the step is not its own ---- */

static bool step_pass(struct theatre *t, size_t i, struct str verb, struct buf *out)
{
	struct set_world *w = &t->worlds[i];
	if (str_is(verb, "settle")) {
		set_settle(w);
		t->said[i] = w->events.n;
		print_lines("problem: ", &w->problems, &t->told[i], out);
		print_state(t, i, out);
		return true;
	}
	bool is_kubelet = str_is(verb, "kubelet") || str_is(verb, "next");
	if (is_kubelet) {
		set_kubelet(w);
	}
	if (str_is(verb, "kubelet")) {
		print_state(t, i, out);
	}
	if (str_is(verb, "count")) {
		bool is_done = set_pass(w);
		t->said[i] = w->events.n;
		buf_printf(out, "%s, %zu created, %zu deleted%s; %zu pods\n", is_done ? "done" : "fails", w->n_created,
			w->n_deleted, w->has_more ? ", has more" : "", w->n_pods);
		return true;
	}
	if (str_is(verb, "pass") || str_is(verb, "next")) {
		bool is_done = set_pass(w);
		print_pass(t, i, is_done, out);
		return true;
	}
	return is_kubelet;
}

static bool step_have(struct set_world *w, struct str *rest)
{
	const struct {
		const char *name;
		int64_t *number;
		bool *flag;
	} fields[] = {
		{"replicas", &w->replicas, NULL},
		{"partition", &w->partition, NULL},
		{"start", &w->start, NULL},
		{"min-ready-seconds", &w->min_ready_s, NULL},
		{"limit", &w->limit, NULL},
		{"max-unavailable", &w->max_unavailable, NULL},
		{"generation", &w->generation, NULL},
		{"template-generation", &w->template_generation, NULL},
		{"parallel", NULL, &w->is_parallel},
		{"on-delete", NULL, &w->is_on_delete},
		{"gate", NULL, &w->allows_max_unavailable},
		{"deleting", NULL, &w->is_deleting},
		{"claims-go-with-set", NULL, &w->deletes_with_set},
		{"claims-go-when-scaled", NULL, &w->deletes_when_scaled},
	};
	struct str word;
	while ((word = transcript_word(rest)).n > 0) {
		size_t i = 0;
		while (i < ARRAY_SIZE(fields) && !str_is(word, fields[i].name)) {
			i++;
		}
		if (str_is(word, "claims")) {
			w->n_claim_templates = (size_t)number(rest);
		} else if (i == ARRAY_SIZE(fields)) {
			return false;
		} else if (fields[i].number) {
			*fields[i].number = number(rest);
		} else {
			*fields[i].flag = true;
		}
	}
	return true;
}

static bool step_write(struct theatre *t, struct set_world *w, struct str verb, struct str *rest)
{
	if (str_is(verb, "image")) {
		const char *image = word(t, rest);
		assert_non_null(image);
		set_image(w, image);
	} else if (str_is(verb, "replicas")) {
		set_replicas(w, number(rest));
	} else if (str_is(verb, "partition")) {
		set_partition(w, number(rest));
	} else if (str_is(verb, "start")) {
		w->start = number(rest);
		w->generation++;
	} else if (str_is(verb, "touch")) {
		w->generation++;
	} else if (str_is(verb, "time")) {
		w->now_s += number(rest);
	} else {
		return false;
	}
	return true;
}

static bool step_pod(struct theatre *t, struct set_world *w, struct str verb, struct str *rest)
{
	if (str_is(verb, "pod")) {
		int64_t ordinal = number(rest);
		const char *phase = word(t, rest);
		assert_non_null(phase);
		set_pod_status(w, ordinal, phase, str_is(transcript_word(rest), "ready"));
	} else if (str_is(verb, "delete")) {
		set_pod_delete(w, number(rest));
	} else if (str_is(verb, "begin")) {
		set_pod_start(w, number(rest));
	} else if (str_is(verb, "of-revision")) {
		int64_t ordinal = number(rest);
		struct str revision = set_revision_name(w, word(t, rest));
		set_pod_label(w, ordinal, LABEL_REVISION, arena_printf(&t->arena, STR_FMT "%c", STR_ARG(revision), '\0').p);
	} else if (str_is(verb, "label")) {
		int64_t ordinal = number(rest);
		const char *name = word(t, rest);
		assert_non_null(name);
		set_pod_label(w, ordinal, name, word(t, rest));
	} else {
		return false;
	}
	return true;
}

static bool step_fail(struct set_world *w, struct str *rest)
{
	static const char *const ways[] = {
		[FAULT_REFUSED] = "refused", [FAULT_CONFLICT] = "conflict", [FAULT_LOST] = "lost", [FAULT_DEATH] = "death"};
	struct str way = transcript_word(rest);
	w->fault = FAULT_NONE;
	for (size_t i = FAULT_REFUSED; i < ARRAY_SIZE(ways); i++) {
		if (str_is(way, ways[i])) {
			w->fault = (enum set_fault)i;
		}
	}
	w->fault_at = w->n_calls + (size_t)number(rest);
	return w->fault != FAULT_NONE;
}

/* ---- what others do ---- */

/* As of a controller that compares bytes: the same state, kept twice. */
static void others_twin(struct set_world *w)
{
	struct json *twin = with_meta(&w->arena, w->revisions[0], "name", json_string(&w->arena, STR("web-twin")));
	json_set(&w->arena, twin, STR("revision"), json_int(&w->arena, 0));
	w->revisions[w->n_revisions++] = twin;
}

/* The first revision has no state any more. */
static void others_spoil(struct set_world *w)
{
	struct json *spoilt = json_copy(&w->arena, w->revisions[0]);
	json_set(&w->arena, spoilt, STR("data"), json_object(&w->arena));
	json_set(&w->arena, spoilt, STR("template"), json_null(&w->arena));
	w->revisions[0] = spoilt;
}

/* Another owner's revision has the name that the set's next one of image "b" would have. */
static void others_take_the_name(struct set_world *w)
{
	struct set_world other;
	set_world_init(&other, w->carrier);
	set_settle(&other);
	set_image(&other, "b");
	assert_true(set_pass(&other));
	const struct json *foreign =
		with_meta(&w->arena, set_revision_of(&other, "b"), "ownerReferences", controlled_by(&w->arena, "uid-of-other"));
	w->revisions[w->n_revisions++] =
		parsed(&w->arena, arena_printf(&w->arena, STR_FMT "%c", STR_ARG(encoded(&w->arena, foreign)), '\0').p);
	set_world_done(&other);
}

/* The informer hands them over in any order; two have names that are none of the set's. */
static void others_mix(struct set_world *w)
{
	for (size_t i = 0; i < w->n_pods / 2; i++) {
		const struct json *first = w->pods[i];
		w->pods[i] = w->pods[w->n_pods - 1 - i];
		w->pods[w->n_pods - 1 - i] = first;
	}
	w->pods[w->n_pods++] = with_meta(&w->arena, w->pods[0], "name", json_string(&w->arena, STR("web-012")));
	w->pods[w->n_pods++] = with_meta(&w->arena, w->pods[0], "name", json_string(&w->arena, STR("web-2147483648")));
}

static void others_let_claims_go(struct set_world *w)
{
	for (size_t i = 0; i < w->n_claims; i++) {
		w->claims[i] = with_meta(
			&w->arena, w->claims[i], "deletionTimestamp", json_string(&w->arena, STR("2026-01-01T00:00:00Z")));
	}
}

static bool step_others(struct set_world *w, struct str verb, struct str *rest)
{
	if (str_is(verb, "twin")) {
		others_twin(w);
	} else if (str_is(verb, "spoil")) {
		others_spoil(w);
	} else if (str_is(verb, "take-the-name")) {
		others_take_the_name(w);
	} else if (str_is(verb, "mix")) {
		others_mix(w);
	} else if (str_is(verb, "claims-going")) {
		others_let_claims_go(w);
	} else if (str_is(verb, "claims-gone")) {
		w->n_claims -= (size_t)number(rest);
	} else if (str_is(verb, "revisions-gone")) {
		w->n_revisions = 0;
	} else if (str_is(verb, "unseen")) {
		w->n_unseen_revisions = (size_t)number(rest);
	} else if (str_is(verb, "current-is-the-twin")) {
		w->status.current_revision = STR("web-twin");
	} else if (str_is(verb, "junk")) {
		for (int64_t n = number(rest); n > 0; n--) {
			w->revisions[w->n_revisions++] = with_label(
				&w->arena, w->revisions[0], HISTORY_LABEL_GENERATION, json_string(&w->arena, STR("none")));
		}
	} else {
		return false;
	}
	return true;
}

/* ---- looking ---- */

/* Each pod with its uid, which tells whether it was replaced, and the revision that its label names. */
static void look_pods(struct set_world *w, struct buf *out)
{
	for (size_t i = 0; i < w->n_pods; i++) {
		const struct json *meta = json_gets(w->pods[i], "metadata"), *labels = json_gets(meta, "labels");
		struct str name = member_text(meta, "name"), uid = member_text(meta, "uid"),
			   label = member_text(labels, LABEL_REVISION);
		struct str revision = revision_shown(w, label);
		struct str generation = member_text(labels, HISTORY_LABEL_GENERATION);
		buf_printf(out, "  " STR_FMT " " STR_FMT ", revision " STR_FMT "%s, generation " STR_FMT "\n", STR_ARG(name),
			STR_ARG(uid), STR_ARG(revision), str_is(label, "web-twin") ? " (the twin)" : "",
			STR_ARG(generation.n ? generation : STR("none")));
	}
}

static void look_claims(struct set_world *w, struct buf *out)
{
	for (size_t i = 0; i < w->n_claims; i++) {
		const struct json *meta = json_gets(w->claims[i], "metadata");
		const struct json *owner = list_item(json_gets(meta, "ownerReferences"), 0);
		struct str name = member_text(meta, "name"), kind = member_text(owner, "kind"), of = member_text(owner, "name");
		buf_printf(out, "  " STR_FMT ": ", STR_ARG(name));
		buf_printf(out, owner ? STR_FMT " " STR_FMT "\n" : "nobody's\n", STR_ARG(kind), STR_ARG(of));
	}
}

static bool step_look(struct set_world *w, struct str verb, struct buf *out)
{
	if (str_is(verb, "pods")) {
		look_pods(w, out);
	} else if (str_is(verb, "claims")) {
		look_claims(w, out);
	} else {
		return false;
	}
	return true;
}

static void step_one(struct theatre *t, size_t i, struct str input, struct buf *out)
{
	struct set_world *w = &t->worlds[i];
	struct str rest = input, verb = transcript_word(&rest);
	bool is_known = step_pass(t, i, verb, out) || step_write(t, w, verb, &rest) || step_pod(t, w, verb, &rest) ||
		step_others(w, verb, &rest) || step_look(w, verb, out) || (str_is(verb, "have") && step_have(w, &rest)) ||
		(str_is(verb, "fail") && step_fail(w, &rest));
	if (!is_known || transcript_word(&rest).n > 0) {
		fail_msg("\"" STR_FMT "\" is no step", STR_ARG(input));
	}
}

static void theatre_step(void *ctx, struct str input, struct buf *out)
{
	struct theatre *t = ctx;
	struct str rest = input, verb = transcript_word(&rest);
	struct buf printed[WORLDS];
	bool is_same = true;
	if (str_is(verb, "world")) {
		struct str carrier = transcript_word(&rest);
		theatre_open(t, carrier, transcript_word(&rest));
		return;
	}
	assert_true(t->n > 0);
	for (size_t i = 0; i < t->n; i++) {
		buf_init(&printed[i], 1 << 20);
		step_one(t, i, input, &printed[i]);
		is_same = is_same && str_eq(buf_str(&printed[i]), buf_str(&printed[0]));
	}
	for (size_t i = 0; i < t->n; i++) {
		if (!is_same) {
			buf_printf(out, "%s:\n", t->names[i]);
		}
		if (!is_same || i == 0) {
			buf_add_str(out, buf_str(&printed[i]));
		}
		buf_done(&printed[i]);
	}
}

int main(void)
{
	return transcript_run(&(struct transcript){TRANSCRIPT, theatre_begin, theatre_step, theatre_end});
}
