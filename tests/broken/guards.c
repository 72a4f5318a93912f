/* Takes guards out of the transactions of an annals that is linked with -Wl,--wrap=request_txn: those that $ANNALS_UNGUARDED names, separated by
 * commas. What looks at the cache before a transaction stays as it is, so what comes through is what only the transaction can keep out. */
#include "server/request/request.h"
#include "tests/broken/unguarded.h"

void __real_request_txn(struct request *q, void (*next)(struct request *q));
void __wrap_request_txn(struct request *q, void (*next)(struct request *q));

enum part { PART_COMPARES, PART_STEPS };

static const struct guard {
	const char *name;
	enum part part;
	const char *directory; /* of the keys, behind the prefix */
} guards[] = {
	{"declared", PART_COMPARES, "/objects/core/configmaps/"},
	{"history", PART_COMPARES, "/history/"},
	{"history-index", PART_STEPS, "/history/"},
	{"marks", PART_STEPS, "/referenced/"},
	{"needed", PART_COMPARES, "/objects/annals.dev/providers/"},
	{"protection", PART_COMPARES, "/references/"},
	{"reference-index", PART_STEPS, "/references/"},
};

static bool is_below(const struct request *q, struct str key, const char *directory)
{
	struct str prefix = q->server->options.prefix;

	return str_starts(key, prefix) && str_starts((struct str){key.p + prefix.n, key.n - prefix.n}, str_of(directory));
}

/* The first compare is that of the object which is written: it stays. */
static void drop_compares(const struct request *q, struct storage_txn *t, const char *directory)
{
	size_t n = 1;

	for (size_t i = 1; i < t->n_compares; i++) {
		if (!is_below(q, t->compares[i].key, directory)) {
			t->compares[n++] = t->compares[i];
		}
	}
	t->n_compares = MIN(n, t->n_compares);
}

static void drop_steps(const struct request *q, struct storage_txn *t, const char *directory)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_success; i++) {
		if (!is_below(q, t->success[i].key, directory)) {
			t->success[n++] = t->success[i];
		}
	}
	t->n_success = n;
}

void __wrap_request_txn(struct request *q, void (*next)(struct request *q))
{
	for (size_t i = 0; i < ARRAY_SIZE(guards); i++) {
		if (is_unguarded(guards[i].name)) {
			(guards[i].part == PART_COMPARES ? drop_compares : drop_steps)(q, &q->plan.txn, guards[i].directory);
		}
	}
	__real_request_txn(q, next);
}
