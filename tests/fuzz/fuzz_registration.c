/* Registrations of other replicas, one a line: whatever they say, what is decided from them keeps its promises. */
#include "storage/engine/agreement_table.h"
#include "tests/fuzz/fuzz.h"

enum { SENTENCE_MAX = 4096, REVISION = 100 };

static void put(struct agreement_table *t, struct str value, int64_t i, struct arena *a)
{
	struct storage_kv kv = {
		.key = arena_printf(a, "/annals/replicas/%02d", (int)i), .value = value, .mod_revision = 1 + i, .lease = 1};

	agreement_table_put(t, &kv);
}

static void put_all(struct agreement_table *t, struct str text, struct arena *a)
{
	struct str line;

	for (int64_t i = 0; text.n > 0; i++) {
		str_cut(text, '\n', &line, &text);
		put(t, line, i, a);
	}
	CHECK(t->n <= AGREEMENT_REPLICAS_MAX);
}

static bool decodes(const struct agreement_version *v, const struct kind *k, const struct version *d)
{
	size_t i = 0;
	while (i < v->n_decodes && kind_version(k, v->decodes[i]) != d) {
		i++;
	}
	return i < v->n_decodes;
}

static void check_replicas(const struct agreement_view *v, const struct kind *k)
{
	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_replica *r = &v->replicas[i];
		const struct agreement_version *version = &r->versions[k->index];
		CHECK(r->problem.n == 0 || (version->encodes.n == 0 && version->n_decodes == 0));
		CHECK(version->encodes.n == 0 || version->n_decodes > 0);
	}
}

/* No writer of the kind would be left with objects that it cannot read; and a replica that cannot read writes nothing. */
static void check_choice(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k,
	const struct agreement_choice *c)
{
	const struct agreement_replica *unreadable = agreement_unreadable(self, v, k);

	CHECK(!unreadable || !c->encodes);
	CHECK(c->reason != AGREEMENT_WANTED || c->encodes == self->wanted.versions[k->index]);
	for (size_t i = 0; i < v->n_replicas && c->encodes; i++) {
		const struct agreement_version *version = &v->replicas[i].versions[k->index];
		CHECK(version->encodes.n == 0 || decodes(version, k, c->encodes));
	}
}

/* What is common may be written, and nobody writes anything else; nothing is that might be otherwise. */
static void check_common(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct version *d)
{
	const struct agreement_replica *waits_for;
	bool is_common = agreement_is_common(self, v, k, d);

	CHECK(!is_common || agreement_may_write(self, v, k, d, REVISION, &waits_for));
	for (size_t i = 0; i < v->n_replicas && is_common; i++) {
		struct str encodes = v->replicas[i].versions[k->index].encodes;
		CHECK(v->replicas[i].problem.n == 0 && (encodes.n == 0 || kind_version(k, encodes) == d));
	}
}

static void check_kind(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k)
{
	struct buf text;

	check_replicas(v, k);
	for (size_t i = 0; i <= k->n_versions; i++) {
		const struct version *present = i < k->n_versions ? &k->versions[i] : NULL;
		struct agreement_choice c = agreement_choose(self, v, k, present);
		check_choice(self, v, k, &c);
		buf_init(&text, SENTENCE_MAX);
		agreement_explain_choice(self, k, &c, &text);
		CHECK(text.n > 0);
		buf_done(&text);
		if (present) {
			check_common(self, v, k, present);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct agreement_table t = {.registrations = STR("/annals/replicas/"), .acks = STR("/annals/replicas-seen/")};
	struct agreement_self self = {.id = STR("self")};
	struct arena a;

	arena_init(&a, CEILING);
	storage_versions_init(&self.wanted);
	memset(self.knows, 0xff, sizeof(self.knows));
	put_all(&t, (struct str){(const char *)data, n}, &a);
	struct agreement_view *v = agreement_table_view(&t);
	for (size_t i = 0; i < kind_count(); i++) {
		if (kind_is_stored(kind_at(i))) {
			check_kind(&self, v, kind_at(i));
		}
	}
	agreement_view_unref(v);
	agreement_table_done(&t);
	arena_done(&a);
	return 0;
}
