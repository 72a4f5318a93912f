/* Takes rules out of the agreement of replicas (storage/engine/agreement.h), of an annals that is linked with -Wl,--wrap=SYMBOL for those below:
 *
 *   acks     nobody's acknowledgement is waited for
 *   common   whatever is written is taken for what all write
 *   ticket   objects are written, whatever became of the registration
 *   ranged   registrations are made, whoever else has registered meanwhile */
#include "storage/engine/agreement_table.h"
#include "storage/etcd/etcd.h"
#include "tests/broken/unguarded.h"

/* Of one store at a time: a process has one that is written to. */
static const struct storage_ops *real_ops;
static struct storage_ops broken_ops;

bool __real_agreement_may_write(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k,
	const struct version *encodes, int64_t since, const struct agreement_replica **ret_waits_for);
bool __wrap_agreement_may_write(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k,
	const struct version *encodes, int64_t since, const struct agreement_replica **ret_waits_for);
bool __real_agreement_is_common(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct version *encodes);
bool __wrap_agreement_is_common(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct version *encodes);
int __real_storage_etcd_new(struct storage **ret, const struct storage_etcd_options *options, struct buf *err);
int __wrap_storage_etcd_new(struct storage **ret, const struct storage_etcd_options *options, struct buf *err);

bool __wrap_agreement_may_write(const struct agreement_self *self, const struct agreement_view *v, const struct kind *k,
	const struct version *encodes, int64_t since, const struct agreement_replica **ret_waits_for)
{
	return is_unguarded("acks") || __real_agreement_may_write(self, v, k, encodes, since, ret_waits_for);
}

bool __wrap_agreement_is_common(
	const struct agreement_self *self, const struct agreement_view *v, const struct kind *k, const struct version *encodes)
{
	return is_unguarded("common") || __real_agreement_is_common(self, v, k, encodes);
}

static bool is_left_out(const struct storage_compare *c)
{
	bool is_registration = memmem(c->key.p, c->key.n, "/replicas/", strlen("/replicas/"));

	return is_registration && is_unguarded(c->range_end.n ? "ranged" : "ticket");
}

static void broken_txn(struct storage *s, struct storage_txn *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_compares; i++) {
		if (!is_left_out(&t->compares[i])) {
			t->compares[n++] = t->compares[i];
		}
	}
	t->n_compares = n;
	real_ops->txn(s, t);
}

int __wrap_storage_etcd_new(struct storage **ret, const struct storage_etcd_options *options, struct buf *err)
{
	int r = __real_storage_etcd_new(ret, options, err);

	if (r == 0) {
		real_ops = (*ret)->ops;
		broken_ops = *real_ops;
		broken_ops.txn = broken_txn;
		(*ret)->ops = &broken_ops;
	}
	return r;
}
