/* Upstream's rules say when an object is to be gone, not who removes it. Whoever stops what it
 * stands for deletes it once more with no time left, and that removes it. So this only moves a
 * time, and only forward. */
#include "server/verbs/delete_grace.h"

#include "api/model/kind.h"
#include "base/clock.h"

static void grace_set(struct request *q, struct object *o, int64_t from_s, int64_t period_s)
{
	char text[TIME_RFC3339_SIZE];

	time_format_rfc3339(text, from_s + period_s);
	o->meta.deletion_timestamp = arena_dup(q->a, str_of(text));
	o->meta.has_grace_period = true;
	o->meta.grace_period_s = period_s;
}

static enum grace grace_shorten(struct request *q, struct object *o, const struct delete_options *options)
{
	struct meta *m = &o->meta;
	int64_t end_us;

	if (m->grace_period_s == 0) {
		return GRACE_NONE;
	}
	if (!options->has_grace_period || options->grace_period_s >= m->grace_period_s ||
		!time_parse_rfc3339(m->deletion_timestamp, &end_us)) {
		return GRACE_PENDING;
	}
	grace_set(q, o, end_us / 1000000 - m->grace_period_s, options->grace_period_s);
	return GRACE_SET;
}

/* A period beyond all reason is as good as for ever, and the year has four digits. */
static int64_t grace_bounded(int64_t period_s)
{
	static const int64_t century_s = 36525LL * 24 * 60 * 60;

	return MIN(period_s, century_s);
}

enum grace grace_decide(struct request *q, struct object *o, const struct delete_options *options)
{
	const struct kind *k = o->kind;

	if (!k->grace_period) {
		return GRACE_NONE;
	}
	if (meta_is_deleting(&o->meta)) {
		return grace_shorten(q, o, options);
	}
	grace_set(q, o, clock_wall_s(), grace_bounded(k->grace_period(o, options->has_grace_period, options->grace_period_s)));
	if (o->meta.generation > 0) {
		o->meta.generation++;
	}
	return GRACE_SET;
}
