/* Replicas over one store whose connections are slow, lose things and break, that stop, die and come back with other wishes or as other builds, while
 * clients write through them. What must hold is looked at after every step, with all of them in view. One thread, one clock: a seed says everything.
 *
 *   AGREEMENT_SEED=17 AGREEMENT_ROUNDS=1 tests/unit/test_agreement_random */
#include "storage/engine/agreement_private.h"
#include "storage/memory/memory.h"
#include "tests/unit/check.h"
#include "tests/unit/slow_line.h"

#include <stdlib.h>

enum { N = 4, KINDS = 2, STEPS = 6000, CALM_STEPS = 20000, ROUNDS = 150, WRITES_MAX = 16, LINES_MAX = 256, LEASE_S = 2 };

struct replica {
	struct world *world;
	struct slow_line *line;
	struct agreement *agreement;        /* NULL: not running */
	bool is_stopped;                    /* as by SIGSTOP */
	bool is_cut_off;                    /* nothing comes through */
	const struct version *document[KINDS]; /* made in on_change */
	const struct version *shown[KINDS];    /* to clients, when somebody looked last */
};

/* A client's transaction on its way. It outlives the process. */
struct write {
	struct agreement_ticket ticket;
	char key[128];
	struct replica *replica;
	struct agreement *agreement; /* that gave the ticket */
	unsigned kind;
};

struct world {
	unsigned seed, random, step;
	const char *action;
	struct storage *store;
	struct replica replicas[N];
	struct slow_line *lines[LINES_MAX]; /* also of the dead */
	size_t n_lines;
	struct write writes[WRITES_MAX];
	size_t n_writes;
	struct agreement_table truth; /* what is registered */
	unsigned n_written, n_refused, n_shown, n_hidden;
};

static int64_t now_ms;

static int64_t world_now(void)
{
	return now_ms;
}

static const struct kind *kind_of(unsigned i)
{
	return kind_by_hub(STR("annals.dev"), i == 0 ? STR("dependents") : STR("controllerrevisions"));
}

static unsigned pick(struct world *w, unsigned n)
{
	return (unsigned)rand_r(&w->random) % n;
}

static bool chance(struct world *w, unsigned one_in)
{
	return pick(w, one_in) == 0;
}

#define world_fail(w, ...)                                                                     \
	do {                                                                                   \
		fprintf(stderr, "seed %u, step %u (%s): ", (w)->seed, (w)->step, (w)->action); \
		fprintf(stderr, __VA_ARGS__);                                                  \
		fprintf(stderr, "\n");                                                         \
		fail();                                                                        \
	} while (0)

/* ---- what must hold ---- */

static const struct version *shown_by(const struct replica *r, unsigned kind)
{
	return r->agreement && agreement_is_certain(r->agreement) ? r->document[kind] : NULL;
}

/* Old, absent, new; and whatever is shown at one moment is the same. */
static void check_shown(struct world *w)
{
	for (unsigned k = 0; k < KINDS; k++) {
		const struct version *common = NULL;
		for (size_t i = 0; i < N; i++) {
			struct replica *r = &w->replicas[i];
			const struct version *now = shown_by(r, k), *before = r->shown[k];
			if (now && before && now != before) {
				world_fail(w, "replica %zu shows %s straight after %s", i, now->name, before->name);
			}
			if (now && common && now != common) {
				world_fail(w, "%s and %s are shown together", now->name, common->name);
			}
			common = now ? now : common;
			w->n_shown += now && !before;
			w->n_hidden += before && !now;
			r->shown[k] = now;
		}
	}
}

static void on_looked(struct storage_op *op)
{
	(void)op;
}

static void look(struct world *w)
{
	struct storage_range range = {
		.op.done = on_looked, .key = STR("/annals/replicas-seen/"), .range_end = STR("/annals/replicas0")};

	storage_range(w->store, &range);
	storage_memory_run(w->store, now_ms);
	agreement_table_install(&w->truth, range.kvs, range.n_kvs, false, range.op.revision);
	storage_op_clear(&range.op);
}

static bool decodes(const struct agreement_version *v, const struct kind *k, const struct version *d)
{
	size_t i = 0;
	while (i < v->n_decodes && kind_version(k, v->decodes[i]) != d) {
		i++;
	}
	return i < v->n_decodes;
}

static void check_written(struct world *w, const struct write *write)
{
	const struct kind *k = kind_of(write->kind);
	const struct version *version = write->ticket.version;

	for (size_t i = 0; i < N; i++) {
		const struct version *d = shown_by(&w->replicas[i], write->kind);
		if (d && d != version) {
			world_fail(w, "%s is written as %s while replica %zu shows %s", k->resource, version->name, i, d->name);
		}
	}
	look(w);
	for (size_t i = 0; i < w->truth.n; i++) {
		const struct agreement_replica *r = &w->truth.rows[i].entry->replica;
		const struct agreement_version *v = &r->versions[k->index];
		if (v->encodes.n > 0 && !decodes(v, k, version)) {
			world_fail(w, "%s is written as %s, which " STR_FMT " cannot read", k->resource, version->name,
				STR_ARG(r->id));
		}
	}
}

/* ---- processes ---- */

static void on_change(void *ctx, struct agreement *a)
{
	struct replica *r = ctx;

	for (unsigned k = 0; k < KINDS; k++) {
		r->document[k] = agreement_common(a, kind_of(k));
	}
	r->agreement = a;
	check_shown(r->world);
}

/* Whatever a replica tells others by what it sends, its documents say already. */
static void on_submit(void *ctx)
{
	struct replica *r = ctx;

	for (unsigned k = 0; k < KINDS && r->agreement; k++) {
		if (shown_by(r, k) && agreement_common(r->agreement, kind_of(k)) != r->document[k]) {
			world_fail(r->world, "a replica goes on before its document is taken back");
		}
	}
}

static uint32_t some_versions(struct world *w, const struct kind *k)
{
	uint32_t all = (UINT32_C(1) << k->n_versions) - 1;

	return chance(w, 3) ? 1 + pick(w, all) : all;
}

static const struct version *some_version(struct world *w, const struct kind *k, uint32_t known)
{
	unsigned i;

	do {
		i = pick(w, (unsigned)k->n_versions);
	} while (!(known & UINT32_C(1) << i));
	return &k->versions[i];
}

static void replica_start(struct replica *r, bool is_calm)
{
	struct world *w = r->world;
	uint32_t knows[KIND_COUNT_MAX];
	struct agreement_options options = {.prefix = STR("/annals"), .lease_s = LEASE_S, .on_change = on_change, .ctx = r};
	char id[32];

	assert_true(w->n_lines < LINES_MAX);
	w->lines[w->n_lines++] = r->line = slow_line_new(w->store, on_submit, r);
	storage_versions_init(&options.versions);
	for (size_t i = 0; i < KIND_COUNT_MAX; i++) {
		knows[i] = i < kind_count() ? (UINT32_C(1) << kind_at(i)->n_versions) - 1 : 0;
	}
	for (unsigned k = 0; k < KINDS && !is_calm; k++) {
		unsigned index = kind_of(k)->index;
		knows[index] = some_versions(w, kind_of(k));
		options.versions.versions[index] = some_version(w, kind_of(k), knows[index]);
	}
	options.storage = slow_line_store(r->line);
	r->is_stopped = r->is_cut_off = false;
	snprintf(id, sizeof(id), "%zu-%zu", (size_t)(r - w->replicas), w->n_lines);
	r->agreement = agreement_open(&options, &(struct agreement_nature){str_of(id), world_now, knows});
	agreement_run(r->agreement);
}

static void on_revoked(struct storage_op *op)
{
	storage_op_clear(op);
}

static void revoke(struct world *w, int64_t id)
{
	struct storage_lease lease = {.op.done = on_revoked, .id = id};

	storage_lease_revoke(w->store, &lease);
	storage_memory_run(w->store, now_ms);
}

static void replica_end(struct replica *r, bool is_killed)
{
	struct world *w = r->world;

	if (!r->agreement) {
		return;
	}
	int64_t lease = r->agreement->lease;
	slow_line_cut(r->line);
	r->agreement = agreement_abandon(r->agreement);
	memset(r->document, 0, sizeof(r->document));
	if (!is_killed && lease) {
		revoke(w, lease);
	}
}

static bool is_active(const struct replica *r)
{
	return r->agreement && !r->is_stopped;
}

/* ---- clients ---- */

static void write_start(struct world *w, struct replica *r)
{
	struct write *write = &w->writes[w->n_writes];
	unsigned k = pick(w, KINDS);

	if (!is_active(r) || w->n_writes == WRITES_MAX ||
		agreement_write(r->agreement, kind_of(k), &write->ticket, NULL) != AGREEMENT_MAY_WRITE) {
		return;
	}
	snprintf(write->key, sizeof(write->key), STR_FMT, STR_ARG(write->ticket.key));
	write->replica = r;
	write->agreement = r->agreement;
	write->kind = k;
	w->n_writes++;
}

static void on_written(struct storage_op *op)
{
	(void)op;
}

static void write_finish(struct world *w)
{
	if (w->n_writes == 0) {
		return;
	}
	size_t at = pick(w, (unsigned)w->n_writes);
	struct write write = w->writes[at];
	w->writes[at] = w->writes[--w->n_writes];
	struct storage_compare guard = {
		COMPARE_MOD, COMPARE_EQUAL, str_of(write.key), {NULL, 0}, write.ticket.revision, {NULL, 0}};
	struct storage_step put = {
		.kind = STEP_PUT, .key = STR("/annals/objects/x"), .value = str_of(write.ticket.version->name)};
	struct storage_txn txn = {.op.done = on_written, .compares = &guard, .n_compares = 1, .success = &put, .n_success = 1};

	storage_txn(w->store, &txn);
	storage_memory_run(w->store, now_ms);
	bool is_written = txn.succeeded;
	storage_op_clear(&txn.op);
	if (is_written) {
		w->n_written++;
		check_written(w, &write);
	} else {
		w->n_refused++;
		if (is_active(write.replica) && write.replica->agreement == write.agreement) {
			agreement_doubt(write.agreement, &write.ticket);
			agreement_run(write.agreement);
		}
	}
}

/* ---- what happens ---- */

static struct replica *some_replica(struct world *w)
{
	return &w->replicas[pick(w, N)];
}

static void timers_run(struct world *w)
{
	for (size_t i = 0; i < N; i++) {
		struct replica *r = &w->replicas[i];
		if (is_active(r)) {
			slow_line_time_out(r->line, now_ms);
			agreement_run(r->agreement);
		}
	}
}

static void do_time(struct world *w)
{
	now_ms += 1 + pick(w, chance(w, 8) ? 400 : 15);
	storage_memory_run(w->store, now_ms);
	if (!chance(w, 4)) {
		timers_run(w); /* or late */
	}
}

static bool is_reachable(const struct replica *r)
{
	return is_active(r) && !r->is_cut_off;
}

static void do_deliver(struct world *w)
{
	struct replica *r = some_replica(w);
	unsigned choice = pick(w, 1000);

	/* What a stopped process has sent is carried out all the same. */
	if (r->agreement && !r->is_cut_off && chance(w, 3)) {
		slow_line_carry_out(r->line, choice, now_ms);
	} else if (is_reachable(r) && chance(w, 2)) {
		slow_line_answer(r->line, choice);
	} else if (is_reachable(r)) {
		slow_line_tell(r->line);
	}
}

static void do_harm(struct world *w)
{
	struct replica *r = some_replica(w);
	unsigned choice = pick(w, 1000);

	if (!is_active(r)) {
		return;
	}
	if (chance(w, 2)) {
		slow_line_lose(r->line, choice);
	} else if (chance(w, 2)) {
		slow_line_refuse(r->line, choice);
	} else {
		slow_line_interrupt(r->line, now_ms);
	}
}

static void do_straggle(struct world *w)
{
	slow_line_straggle(w->lines[pick(w, (unsigned)w->n_lines)], pick(w, 1000), now_ms);
}

static void do_restart(struct world *w)
{
	struct replica *r = some_replica(w);

	if (w->n_lines < LINES_MAX - 2 * N) {
		replica_end(r, chance(w, 2));
		if (!chance(w, 4)) {
			replica_start(r, false);
		}
	}
}

static void do_stop(struct world *w)
{
	struct replica *r = some_replica(w);

	r->is_stopped = r->agreement && !r->is_stopped && chance(w, 3);
}

static void do_cut_off(struct world *w)
{
	struct replica *r = some_replica(w);

	r->is_cut_off = !r->is_cut_off && chance(w, 3);
}

static void do_compact(struct world *w)
{
	struct storage_compact compact = {.op.done = on_looked, .at_revision = 0};

	look(w);
	compact.at_revision = w->truth.revision;
	storage_compact(w->store, &compact);
	storage_memory_run(w->store, now_ms);
	storage_op_clear(&compact.op);
}

static void do_write(struct world *w)
{
	write_start(w, some_replica(w));
}

static const struct action {
	const char *name;
	unsigned weight; /* of 1000 */
	void (*run)(struct world *w);
} actions[] = {
	{"deliver", 600, do_deliver},
	{"time", 80, do_time},
	{"write", 120, do_write},
	{"finish a write", 100, write_finish},
	{"harm", 40, do_harm},
	{"straggle", 30, do_straggle},
	{"restart", 8, do_restart},
	{"stop", 10, do_stop},
	{"cut off", 10, do_cut_off},
	{"compact", 2, do_compact},
};

static void world_step(struct world *w, size_t n_actions)
{
	unsigned total = 0;
	for (size_t i = 0; i < n_actions; i++) {
		total += actions[i].weight;
	}
	unsigned choice = pick(w, total);
	size_t i = 0;
	while (choice >= actions[i].weight) {
		choice -= actions[i++].weight;
	}
	w->step++;
	w->action = actions[i].name;
	actions[i].run(w);
	check_shown(w);
}

/* ---- the end: all alike, nothing in the way ---- */

static bool is_agreed(struct world *w)
{
	for (size_t i = 0; i < N; i++) {
		struct replica *r = &w->replicas[i];
		for (unsigned k = 0; k < KINDS; k++) {
			const struct kind *kind = kind_of(k);
			if (shown_by(r, k) != kind_storage_version(kind)) {
				return false;
			}
		}
		if (!agreement_is_settled(r->agreement, NULL)) {
			return false;
		}
	}
	return true;
}

static void world_calm(struct world *w)
{
	enum { CALM_ACTIONS = 4 };

	for (size_t i = 0; i < N; i++) {
		replica_end(&w->replicas[i], chance(w, 2));
		replica_start(&w->replicas[i], true);
	}
	for (unsigned i = 0; i < CALM_STEPS && !is_agreed(w); i++) {
		world_step(w, CALM_ACTIONS);
	}
	w->action = "calm";
	for (size_t i = 0; i < N && !is_agreed(w); i++) {
		struct buf why;
		buf_init(&why, 4096);
		agreement_is_settled(w->replicas[i].agreement, &why);
		fprintf(stderr, "replica %zu: " STR_FMT "\n", i, STR_ARG(buf_str(&why)));
		buf_done(&why);
	}
	if (!is_agreed(w)) {
		world_fail(w, "no agreement although all want the same");
	}
}

static void world_run(unsigned seed)
{
	struct world w = {.seed = seed, .random = seed, .action = "start", .store = storage_memory_new_manual()};

	now_ms = 1000000;
	w.truth.registrations = STR("/annals/replicas/");
	w.truth.acks = STR("/annals/replicas-seen/");
	for (size_t i = 0; i < N; i++) {
		w.replicas[i].world = &w;
		replica_start(&w.replicas[i], false);
	}
	for (unsigned i = 0; i < STEPS; i++) {
		world_step(&w, ARRAY_SIZE(actions));
	}
	world_calm(&w);
	for (size_t i = 0; i < N; i++) {
		replica_end(&w.replicas[i], true);
	}
	for (size_t i = 0; i < w.n_lines; i++) {
		slow_line_free(w.lines[i]);
	}
	agreement_table_done(&w.truth);
	storage_free(w.store);
	print_message("seed %u: %u written, %u refused, %u times shown, %u times hidden\n", seed, w.n_written, w.n_refused,
		w.n_shown, w.n_hidden);
}

static unsigned setting(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);
	return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void test_agreement__holds_whatever_happens(void **state _unused_)
{
	unsigned first = setting("AGREEMENT_SEED", 1), rounds = setting("AGREEMENT_ROUNDS", ROUNDS / SEEDS_SHARE);

	for (unsigned seed = first; seed < first + rounds; seed++) {
		world_run(seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_agreement__holds_whatever_happens),
	};
	return cmocka_run_group_tests_name("agreement_random", tests, NULL, NULL);
}
