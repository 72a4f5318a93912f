/* What a write costs before it is stored: CPU time of each step, for ControllerRevisions of 1, 10 and 100 KiB of data.
 * Usage: api_bench [SECONDS for each row] */
#include "api/patch/managed.h"
#include "api/rules/validate.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define NOW "2026-01-01T00:00:00Z"

/* One write and all it leaves behind. */
struct write {
	struct arena a;
	const struct kind *kind;
	const struct version *version;
	struct str body, stored;
	struct json *in;
	struct object *old, *o;
	struct buf out;
};

static void check(bool is_fine, const char *what)
{
	if (!is_fine) {
		fprintf(stderr, "api_bench: %s\n", what);
		exit(1);
	}
}

/* As long as `n`, of members such as templates have. */
static void write_data(struct buf *b, size_t n)
{
	size_t start = b->n;
	buf_adds(b, "{\"kind\":\"StatefulSet\",\"spec\":{\"template\":[");
	for (int i = 0; b->n - start < n; i++) {
		buf_printf(b,
			"%s{\"name\":\"container-%d\",\"image\":\"registry.example.com/team/"
			"app:1.2.%d\",\"ports\":[80,443],\"tty\":false}",
			i ? "," : "", i, i);
	}
	buf_adds(b, "]}}");
}

static void write_body(struct buf *b, size_t n, int revision)
{
	buf_printf(b,
		"{\"apiVersion\":\"apps/"
		"v1\",\"kind\":\"ControllerRevision\",\"metadata\":{\"name\":\"web-7d4b9c\",\"namespace\":\"default\","
		"\"labels\":{\"app\":\"web\",\"controller-revision-hash\":\"web-7d4b9c\"},\"ownerReferences\":[{\"apiVersion\":"
		"\"apps/v1\","
		"\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"d9607e19-f88f-11e6-a518-42010a800195\",\"controller\":"
		"true,"
		"\"blockOwnerDeletion\":true}]},\"revision\":%d,\"data\":",
		revision);
	write_data(b, n);
	buf_adds(b, "}");
}

static void step_parse(struct write *w)
{
	size_t at;
	check(json_parse(&w->in, &w->a, w->body, JSON_LIMITS_DEFAULT, &at) == 0, "the body does not parse");
}

static void step_decode(struct write *w)
{
	struct str error;
	struct decode_report report = {0};
	check(object_decode(&w->o, w->kind, w->version, w->in, w->old, &w->a, &report, &error) == 0,
		"the body does not decode");
}

static void step_load(struct write *w)
{
	check(object_decode_stored(&w->old, w->kind, w->stored, 7, &w->a) == 0, "what was stored does not decode");
}

static void step_prepare(struct write *w)
{
	if (w->old) {
		meta_prepare_update(w->o, w->old, &w->a);
	} else {
		meta_prepare_create(w->o, STR("default"), &w->a);
	}
}

static void step_managed(struct write *w)
{
	managed_update(w->o, w->old, w->version, STR(""), STR("kube-controller-manager"), STR(NOW), &w->a);
}

static void step_validate(struct write *w)
{
	struct field_errors e;
	field_errors_init(&e, &w->a);
	if (w->old) {
		validate_meta_update(w->kind, &w->o->meta, &w->old->meta, &e);
		w->kind->validate_update(w->o, w->old, &e);
	} else {
		validate_meta(w->kind, &w->o->meta, &e);
		w->kind->validate(w->o, &e);
	}
	check(e.n == 0, "the object is not valid");
}

static void step_encode(struct write *w)
{
	check(object_encode_stored(&w->out, w->o, &w->o->kind->versions[0]), "the object does not encode");
}

static const struct step {
	const char *name;
	void (*run)(struct write *w);
	bool only_update;
} steps[] = {
	{"parse", step_parse, false},
	{"load", step_load, true},
	{"decode", step_decode, false},
	{"prepare", step_prepare, false},
	{"managed", step_managed, false},
	{"validate", step_validate, false},
	{"encode", step_encode, false},
};

static void write_init(struct write *w, struct str body, struct str stored)
{
	*w = (struct write){.body = body, .stored = stored};
	w->kind = kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), true, &w->version);
	arena_init(&w->a, (size_t)256 << 20);
	buf_init(&w->out, (size_t)16 << 20);
}

static void write_done(struct write *w)
{
	buf_done(&w->out);
	arena_done(&w->a);
}

/* Runs the first n steps of a write once; what is left of the write before is gone. */
static void write_run(struct write *w, size_t n)
{
	arena_clear(&w->a);
	buf_clear(&w->out);
	w->old = NULL;
	for (size_t i = 0; i < n; i++) {
		if (!steps[i].only_update || w->stored.n) {
			steps[i].run(w);
		}
	}
}

/* Microseconds of CPU for the first n steps. */
static double measure(struct write *w, size_t n, double seconds)
{
	int64_t start = clock_cpu_ns(), spent;
	size_t rounds = 0;
	do {
		for (int i = 0; i < 100; i++, rounds++) {
			write_run(w, n);
		}
		spent = clock_cpu_ns() - start;
	} while ((double)spent < seconds * 1e9);
	return (double)spent / 1e3 / (double)rounds;
}

static void report(const char *verb, size_t bytes, struct write *w, double seconds)
{
	double before = measure(w, 0, seconds);
	printf("%s %zu KiB, us:", verb, bytes / 1024);
	double total = 0;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (steps[i].only_update && !w->stored.n) {
			continue;
		}
		double until = measure(w, i + 1, seconds);
		printf(" %s %.2f", steps[i].name, until - before);
		total += until - before;
		before = until;
	}
	printf(" | together %.2f\n", total);
}

static void bench(size_t bytes, double seconds)
{
	struct buf body, changed;
	struct write create, update;
	buf_init(&body, (size_t)16 << 20);
	buf_init(&changed, (size_t)16 << 20);
	write_body(&body, bytes, 1);
	write_body(&changed, bytes, 2);

	write_init(&create, buf_str(&body), (struct str){0});
	report("create", bytes, &create, seconds);
	write_init(&update, buf_str(&changed), buf_str(&create.out));
	report("update", bytes, &update, seconds);

	write_done(&update);
	write_done(&create);
	buf_done(&changed);
	buf_done(&body);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.2;
	for (size_t bytes = 1024; bytes <= (size_t)100 * 1024; bytes *= 10) {
		bench(bytes, seconds);
	}
	return 0;
}
