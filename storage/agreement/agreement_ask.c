/* Questions: what is published, and who waits for it. */
#include "base/clock.h"
#include "base/exposition.h"
#include "storage/agreement/agreement_private.h"

/* ---- publishing ---- */

bool agreement_is_certain(const struct agreement *a)
{
	return a->now_ms() < atomic_load(&a->certain_until_ms);
}

/* Lock held. A change that was sent makes tickets worthless any moment. */
static bool is_registered(const struct agreement *a)
{
	return a->mod != 0 && !a->is_unsure && !a->is_doubted && !a->trips[ERRAND_REGISTER].is_under_way;
}

static enum agreement_writing find_writing(struct agreement *a, const struct kind *k)
{
	const struct agreement_replica *waits_for;
	uint64_t bit = kind_bit(k->index);
	const struct door *d = a->encodes[k->index];

	if (!is_registered(a)) {
		return AGREEMENT_NOT_YET;
	}
	if (!d) {
		return a->next[k->index] ? AGREEMENT_NOT_YET : AGREEMENT_NEVER;
	}
	/* Where not all registrations are known, neither is who has yet to see ours. */
	bool may_begin = !(a->may_write & bit) && !a->table.is_overfull;
	if (may_begin && agreement_may_write(&a->self, a->view, k, d, a->since[k->index], &waits_for)) {
		a->may_write |= bit;
	}
	return a->may_write & bit ? AGREEMENT_MAY_WRITE : AGREEMENT_NOT_YET;
}

static const struct door *find_common(const struct agreement *a, const struct kind *k, bool is_sure)
{
	const struct door *d = a->encodes[k->index];

	return is_sure && d && !(a->in_doubt & kind_bit(k->index)) && agreement_is_common(&a->self, a->view, k, d) ? d : NULL;
}

static bool publish_kind(struct agreement *a, const struct kind *k, bool is_sure)
{
	const struct door *common = find_common(a, k, is_sure);
	enum agreement_writing writing = find_writing(a, k);
	bool is_readable = !a->view || a->table.is_overfull ? atomic_load(&a->is_readable[k->index])
							    : !agreement_unreadable(&a->self, a->view, k);
	bool has_changed = writing != a->writing[k->index];

	a->writing[k->index] = writing;
	has_changed |= atomic_exchange(&a->common[k->index], common) != common;
	has_changed |= atomic_exchange(&a->is_readable[k->index], is_readable) != is_readable;
	return has_changed;
}

bool agreement_publish(struct agreement *a)
{
	bool was_certain = a->was_certain, has_changed = false;

	a->was_certain = agreement_is_certain(a);
	for (size_t i = 0; i < kind_count(); i++) {
		if (kind_is_stored(kind_at(i))) {
			has_changed |= publish_kind(a, kind_at(i), a->mod != 0 && a->was_certain);
		}
	}
	return has_changed | (was_certain != a->was_certain);
}

/* ---- questions ---- */

static void explain_registration(const struct agreement *a, struct buf *why)
{
	if (a->table.is_overfull || (a->mod == 0 && a->table.n == AGREEMENT_REPLICAS_MAX)) {
		buf_printf(why, "there are %d registrations in etcd already, as many as there may be", AGREEMENT_REPLICAS_MAX);
		return;
	}
	buf_adds(why,
		a->is_loaded ? "this server is not registered in etcd yet"
			     : "the registrations of other servers have not been read yet");
	if (a->trouble[0] != '\0') {
		buf_printf(why, ": %s", a->trouble);
	}
}

/* Lock held; the kind may not be written. */
static void explain_writing(const struct agreement *a, const struct kind *k, struct buf *why)
{
	const struct agreement_replica *waits_for = NULL;
	const struct door *d = a->encodes[k->index];

	if (a->writing[k->index] == AGREEMENT_NEVER) {
		agreement_explain_choice(&a->self, k, &a->choices[k->index], why);
	} else if (is_registered(a) && d && !agreement_may_write(&a->self, a->view, k, d, a->since[k->index], &waits_for)) {
		agreement_explain_wait(k, d, waits_for, why);
	} else {
		explain_registration(a, why);
	}
}

/* Lock held. What was published may be older than what has been learnt since: a registration that is gone, or being changed, gives no tickets. */
static enum agreement_writing writing_now(const struct agreement *a, const struct kind *k)
{
	enum agreement_writing writing = a->writing[k->index];

	return writing == AGREEMENT_MAY_WRITE && !(is_registered(a) && (a->may_write & kind_bit(k->index))) ? AGREEMENT_NOT_YET
													    : writing;
}

enum agreement_writing agreement_write(struct agreement *a, const struct kind *k, struct agreement_ticket *ret, struct buf *why)
{
	pthread_mutex_lock(&a->lock);
	enum agreement_writing writing = writing_now(a, k);
	if (writing == AGREEMENT_MAY_WRITE) {
		*ret = (struct agreement_ticket){a->encodes[k->index], a->key, a->mod};
	} else if (why) {
		explain_writing(a, k, why);
	}
	pthread_mutex_unlock(&a->lock);
	return writing;
}

bool agreement_can_read(struct agreement *a, const struct kind *k, struct buf *why)
{
	if (atomic_load(&a->is_readable[k->index])) {
		return true;
	}
	pthread_mutex_lock(&a->lock);
	const struct agreement_replica *r = agreement_unreadable(&a->self, a->view, k);
	if (r && why) {
		struct agreement_choice choice = {NULL, AGREEMENT_CANNOT_READ, r};
		agreement_explain_choice(&a->self, k, &choice, why);
	}
	pthread_mutex_unlock(&a->lock);
	return !r;
}

void agreement_doubt(struct agreement *a, const struct agreement_ticket *ticket)
{
	pthread_mutex_lock(&a->lock);
	if (a->mod == ticket->revision && !a->trips[ERRAND_REGISTER].is_under_way) {
		a->is_doubted = true;
		pthread_cond_signal(&a->wake);
	}
	pthread_mutex_unlock(&a->lock);
}

const struct door *agreement_common(struct agreement *a, const struct kind *k)
{
	const struct door *d = atomic_load(&a->common[k->index]);
	return d && agreement_is_certain(a) ? d : NULL;
}

/* Lock held. */
static bool kind_is_settled(struct agreement *a, const struct kind *k, struct buf *why)
{
	if (!kind_is_stored(k) || a->writing[k->index] == AGREEMENT_MAY_WRITE) {
		return true;
	}
	if (why) {
		explain_writing(a, k, why);
	}
	return false;
}

bool agreement_is_settled(struct agreement *a, struct buf *why)
{
	bool is_settled = true;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < kind_count() && is_settled; i++) {
		is_settled = kind_is_settled(a, kind_at(i), why);
	}
	pthread_mutex_unlock(&a->lock);
	return is_settled;
}

int64_t agreement_lease(struct agreement *a)
{
	pthread_mutex_lock(&a->lock);
	int64_t lease = a->mod != 0 ? a->lease : 0;
	pthread_mutex_unlock(&a->lock);
	return lease;
}

struct str agreement_id(const struct agreement *a)
{
	return a->self.id;
}

struct agreement_view *agreement_view(struct agreement *a)
{
	pthread_mutex_lock(&a->lock);
	struct agreement_view *v = a->view;
	if (v) {
		atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&a->lock);
	return v;
}

/* ---- waiting ---- */

static bool wait_is_over(struct agreement *a, const struct agreement_wait *w, int64_t now_ms)
{
	return a->writing[w->kind->index] != AGREEMENT_NOT_YET || w->deadline_ms <= now_ms;
}

void agreement_waits_end(struct agreement *a, struct list *ret)
{
	int64_t now = a->now_ms();

	list_for_each_safe(it, &a->waits) {
		struct agreement_wait *w = list_entry(it, struct agreement_wait, node);
		if (wait_is_over(a, w, now)) {
			list_remove(&w->node);
			w->result = a->writing[w->kind->index] != AGREEMENT_NOT_YET ? STORAGE_OK : STORAGE_TIMEOUT;
			list_append(ret, &w->node);
		}
	}
}

int64_t agreement_waits_next_ms(struct agreement *a)
{
	int64_t next = INT64_MAX;

	list_for_each(it, &a->waits) {
		next = MIN(next, list_entry(it, struct agreement_wait, node)->deadline_ms);
	}
	return next;
}

void agreement_wait(struct agreement *a, struct agreement_wait *w)
{
	pthread_mutex_lock(&a->lock);
	bool must_wait = writing_now(a, w->kind) == AGREEMENT_NOT_YET;
	if (must_wait) {
		w->deadline_ms = a->now_ms() + w->timeout_ms;
		list_append(&a->waits, &w->node);
		pthread_cond_signal(&a->wake);
	}
	pthread_mutex_unlock(&a->lock);
	if (!must_wait) {
		w->result = STORAGE_OK;
		w->done(w);
	}
}

/* ---- metrics ---- */

static void write_common(struct agreement *a, struct buf *out)
{
	exposition_head(out, "annals_storage_version_common", "gauge",
		"Whether all live servers store objects of the resource in one version.");
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		if (kind_is_stored(k)) {
			BUF_LITERAL(out, "annals_storage_version_common{resource=\"");
			kind_write_group_resource(k, out);
			buf_printf(out, "\"} %d\n", agreement_common(a, k) != NULL);
		}
	}
}

void agreement_write_metrics(struct agreement *a, struct buf *out)
{
	pthread_mutex_lock(&a->lock);
	size_t n_replicas = a->table.n;
	bool has_registration = a->mod != 0;
	uint64_t n_registrations = a->n_registrations, n_losses = a->n_losses;
	pthread_mutex_unlock(&a->lock);

	exposition_gauge(
		out, "annals_storage_version_replicas", "Live servers that are registered in etcd.", (double)n_replicas);
	exposition_gauge(out, "annals_storage_version_registered", "Whether this server is one of them.", has_registration);
	exposition_counter(out, "annals_storage_version_registrations_total",
		"How often this server has registered or changed its registration.", (double)n_registrations);
	exposition_counter(out, "annals_storage_version_registrations_lost_total",
		"How often its registration has ended with its lease, or was removed.", (double)n_losses);
	write_common(a, out);
}
