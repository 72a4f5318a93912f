/* A clock's value for each phase is all that a request pays. Only one that was slow makes words of
 * them, and never more than ten lines a second: a server that is slow for everybody must not be
 * busy saying so. */
#include "server/request/request.h"

#include "base/clock.h"

enum { FIELDS_MAX = 24, LINES_A_SECOND = 10 };

void timing_pass(struct request *q, enum step step)
{
	q->timing.passed_ns[step] = clock_mono_ns();
	q->timing.waited_before_ns[step] = q->timing.cache_ns + q->timing.etcd_ns;
}

void timing_waited(struct request *q, int64_t ns, bool is_for_cache)
{
	*(is_for_cache ? &q->timing.cache_ns : &q->timing.etcd_ns) += ns;
	*(is_for_cache ? &q->timing.n_cache_waits : &q->timing.n_txns) += 1;
}

/* ---- the line ---- */

struct fields {
	struct log_field v[FIELDS_MAX];
	size_t n;
};

static void add_text(struct fields *f, const char *name, struct str text)
{
	f->v[f->n++] = (struct log_field){.name = name, .kind = LOG_FIELD_TEXT, .text = text};
}

static void add_number(struct fields *f, const char *name, int64_t n)
{
	f->v[f->n++] = (struct log_field){.name = name, .kind = LOG_FIELD_NUMBER, .number = n};
}

static void add_ms(struct fields *f, const char *name, int64_t ns)
{
	f->v[f->n++] = (struct log_field){.name = name, .kind = LOG_FIELD_MS, .number = ns};
}

/* What each phase took by itself: waiting for cache and etcd is told apart. Together they are the whole. */
static void add_phases(struct fields *f, const struct request *q, int64_t duration_ns)
{
	static const char *const names[STEPS] = {
		"authenticate_ms", "authorize_ms", "receive_ms", "decode_ms", "admit_ms", "encode_ms"};
	const struct timing *t = &q->timing;
	int64_t began = http_started_ns(q->x), before = began, waited = 0;

	for (size_t i = 0; i < STEPS; i++) {
		if (t->passed_ns[i] < before) {
			continue;
		}
		add_ms(f, names[i], t->passed_ns[i] - before - (t->waited_before_ns[i] - waited));
		before = t->passed_ns[i];
		waited = t->waited_before_ns[i];
	}
	add_ms(f, "cache_wait_ms", t->cache_ns);
	add_number(f, "cache_waits", t->n_cache_waits);
	add_ms(f, "etcd_ms", t->etcd_ns);
	add_number(f, "etcd_txns", t->n_txns);
	add_ms(f, "send_ms", began + duration_ns - before - (t->cache_ns + t->etcd_ns - waited));
}

/* A server that is slow for everybody must not be made slower by its log. */
static bool may_report(struct server *s, int64_t *ret_n_left_out)
{
	int64_t second = clock_mono_ns() / 1000000000, seen = atomic_load_explicit(&s->slow_second, memory_order_relaxed);

	if (seen != second &&
		atomic_compare_exchange_strong_explicit(
			&s->slow_second, &seen, second, memory_order_relaxed, memory_order_relaxed)) {
		atomic_store_explicit(&s->n_slow_lines, 0, memory_order_relaxed);
	}
	if (atomic_fetch_add_explicit(&s->n_slow_lines, 1, memory_order_relaxed) >= LINES_A_SECOND) {
		atomic_fetch_add_explicit(&s->n_slow_left_out, 1, memory_order_relaxed);
		return false;
	}
	*ret_n_left_out = atomic_exchange_explicit(&s->n_slow_left_out, 0, memory_order_relaxed);
	return true;
}

void timing_report(struct request *q, int64_t duration_ns)
{
	const struct server_options *o = &q->server->options;
	struct fields f = {.n = 0};
	int64_t n_left_out = 0;

	if (o->slow_request_ms <= 0 || duration_ns <= o->slow_request_ms * 1000000 || q->class == CLASS_WATCH || !o->on_slow ||
		!may_report(q->server, &n_left_out)) {
		return;
	}
	add_text(&f, "method", http_method(q->x));
	add_text(&f, "path", q->route.path);
	add_text(&f, "verb", str_of(q->route.verb));
	add_number(&f, "status", http_status(q->x));
	add_text(&f, "user", q->user ? q->user->name : STR(""));
	add_text(&f, "agent", http_header(q->x, "User-Agent"));
	add_text(&f, "peer", http_peer(q->x)->address);
	add_text(&f, "audit", q->audit_id);
	add_ms(&f, "total_ms", duration_ns);
	add_phases(&f, q, duration_ns);
	if (n_left_out > 0) {
		add_number(&f, "left_out", n_left_out);
	}
	o->on_slow(o->notice_ctx, f.v, f.n);
}
