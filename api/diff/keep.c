/* The rules of keeping recorded states, and which of them go. */
#include "api/diff/keep.h"

#include "api/model/members.h"
#include "base/clock.h"
#include "base/options.h"

#include <assert.h>

enum {
	DAY_S = 24 * 3600,
	FACTS_BYTES_MAX = 4096, /* bytes: eight managers, a user's name, a time and a version */
};

/* ---- deciding ---- */

static int64_t day_of(int64_t time_s)
{
	return time_s >= 0 ? time_s / DAY_S : (time_s - DAY_S + 1) / DAY_S;
}

static bool is_idle(const struct keep_state *s)
{
	return !s->is_fixed && !s->goes;
}

static size_t first_of_user(const struct keep_state *v, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (str_eq(v[k].user, v[i].user)) {
			return k;
		}
	}
	return i;
}

/* Spares the first state of all, and the last of each user. The current state is that of its user, too. */
static void states_spare(struct keep_state *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		v[i].goes = v[i].is_spared = false;
		v[i].n_left = 0;
		v[i].user_at = first_of_user(v, i);
	}
	for (size_t i = n; i > 0; i--) {
		struct keep_state *of_user = &v[v[i - 1].user_at];
		v[i - 1].is_spared = i == 1 || of_user->n_left == 0;
		of_user->n_left++;
	}
}

/* A state was replaced when the next one began. Clocks may step back between two states. */
static int64_t replaced_for_s(const struct keep_state *v, size_t i, int64_t now_s)
{
	int64_t age_s;

	return __builtin_sub_overflow(now_s, MAX(v[i].time_s, v[i + 1].time_s), &age_s) ? 0 : MAX(age_s, (int64_t)0);
}

static bool is_thinned(const struct keep_state *v, size_t n, size_t i)
{
	bool has_newer = false;

	for (size_t k = i + 1; !has_newer && k < n; k++) {
		has_newer = day_of(v[k].time_s) == day_of(v[i].time_s);
	}
	return has_newer;
}

static void states_age(struct keep_state *v, size_t n, const struct keep_rules *rules, int64_t now_s)
{
	int64_t newer = 0;

	for (size_t i = n - 1; i > 0; i--) {
		struct keep_state *s = &v[i - 1];
		int64_t age_s = replaced_for_s(v, i - 1, now_s);
		if (s->is_fixed || newer++ < rules->at_least) {
			continue;
		}
		bool is_old = rules->for_s >= 0 && age_s > rules->for_s;
		bool is_thin =
			rules->thin_after_s >= 0 && age_s > rules->thin_after_s && !s->is_spared && is_thinned(v, n, i - 1);
		s->goes = is_old || is_thin;
	}
}

struct left {
	int64_t idle;
	size_t bytes;
};

/* Counts the states that are left: of each user those that may go, and all bytes. */
static struct left states_count(struct keep_state *v, size_t n)
{
	struct left left = {.bytes = v[n - 1].bytes};

	for (size_t i = 0; i < n; i++) {
		v[i].n_left = 0;
	}
	for (size_t i = 0; i + 1 < n; i++) {
		left.idle += is_idle(&v[i]);
		left.bytes += v[i].goes ? 0 : v[i].bytes;
		v[v[i].user_at].n_left += is_idle(&v[i]);
	}
	return left;
}

/* Finds the oldest state that is not spared, of the user who has the most; else the oldest one but the very first; else that. NULL:
 * all that are left are fixed. */
static struct keep_state *next_victim(struct keep_state *v, size_t n)
{
	struct keep_state *victim = NULL;
	size_t most = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		size_t n_left = v[v[i].user_at].n_left;
		if (is_idle(&v[i]) && !v[i].is_spared && n_left > most) {
			victim = &v[i];
			most = n_left;
		}
	}
	for (size_t i = 1; !victim && i + 1 < n; i++) {
		victim = is_idle(&v[i]) ? &v[i] : NULL;
	}
	return victim || n < 2 || !is_idle(&v[0]) ? victim : &v[0];
}

static void states_limit(struct keep_state *v, size_t n, const struct keep_rules *rules)
{
	struct left left = states_count(v, n);
	struct keep_state *victim;

	while ((left.idle > rules->at_most || (rules->bytes > 0 && left.bytes > (size_t)rules->bytes)) &&
		(victim = next_victim(v, n))) {
		victim->goes = true;
		left.idle--;
		left.bytes -= victim->bytes;
		v[victim->user_at].n_left--;
	}
}

size_t keep_choose(struct keep_state *v, size_t n, const struct keep_rules *rules, int64_t now_s)
{
	size_t n_gone = 0;

	if (n == 0) {
		return 0;
	}
	states_spare(v, n);
	states_age(v, n, rules, now_s);
	states_limit(v, n, rules);
	assert(!v[n - 1].goes);
	for (size_t i = 0; i < n; i++) {
		n_gone += v[i].goes;
	}
	return n_gone;
}

/* ---- as JSON ---- */

const struct type type_duration = {.kind = TYPE_STRING, .go_type = "v1.Duration"};

const struct type type_keep = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.Keep",
	.go_type = "v1.Keep",
	.doc = "How long the states of an object are kept. The current state always is.",
	.fields =
		(const struct field[]){
			{"for", &type_duration, 0,
				"The time for which a state is kept after another one has replaced it, such as 2160h. Absent: "
				"no limit.",
				NULL, NULL},
			{"atLeast", &type_int32, FIELD_KEEP_EMPTY,
				"The number of states besides the current one that are kept however old they are: 0 to 1000. "
				"Absent: 3, or atMost if that is less.",
				NULL, NULL},
			{"atMost", &type_int32, FIELD_KEEP_EMPTY,
				"The number of states that are kept besides the current one: 0 to 1000. Of the user who has "
				"the most, the oldest go first; the first state, and the last one of each user, go last. "
				"Absent: 1000.",
				NULL, NULL},
			{"thinAfter", &type_duration, 0,
				"Of states that were replaced longer ago than that, such as 168h, only the last one of each day "
				"(UTC) is kept, and also the first state and the last one of each user. Absent: all are.",
				NULL, NULL},
			{"bytes", &type_int64, FIELD_KEEP_EMPTY,
				"The bytes of the states of an object, as they are stored: at least 1024. Beyond it states go "
				"as beyond atMost. The current state counts as compact JSON, and always stays. Absent: no limit.",
				NULL, NULL},
			{0},
		},
};

void check_duration(struct field_errors *e, const struct where *at, struct str text)
{
	int64_t ms;

	if (!duration_parse_ms(text, &ms)) {
		refuse_text(e, at, text, "must be a duration such as 720h0m0s or 30m");
	} else if (ms < 0) {
		refuse_text(e, at, text, "must be greater than or equal to 0");
	}
}

void check_keep(struct field_errors *e, const struct where *at, const struct json *keep)
{
	static const char *const durations[] = {"for", "thinAfter"}, *const counts[] = {"atLeast", "atMost"};
	const struct json *at_least = json_gets(keep, "atLeast"), *at_most = json_gets(keep, "atMost");

	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		struct str text = member_text(keep, durations[i]);
		if (text.n > 0) {
			check_duration(e, WHERE_NAMED(at, durations[i]), text);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		check_range(e, WHERE_NAMED(at, counts[i]), json_gets(keep, counts[i]), 0, KEEP_STATES_MAX,
			"must be between 0 and 1000");
	}
	if (at_least && at_most && member_int(keep, "atLeast") > member_int(keep, "atMost")) {
		refuse_invalid(e, WHERE(at, "atLeast"), at_least, "must be less than or equal to atMost");
	}
	check_range(e, WHERE(at, "bytes"), json_gets(keep, "bytes"), KEEP_BYTES_MIN, INT64_MAX,
		"must be greater than or equal to 1024");
}

struct json *keep_complete(const struct json *own, const struct json *general, struct arena *a)
{
	static const char *const names[] = {"for", "atLeast", "atMost", "thinAfter", "bytes"};
	struct json *keep = json_object(a);

	if (!own && !general) {
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct json *value = json_gets(own, names[i]);
		value = value ? value : json_gets(general, names[i]);
		if (value) {
			json_add(a, keep, str_of(names[i]), (struct json *)value);
		}
	}
	return keep;
}

static int64_t duration_s(const struct json *keep, const char *name)
{
	struct str text = member_text(keep, name);
	int64_t ms;

	return text.n > 0 && duration_parse_ms(text, &ms) ? ms / 1000 : -1;
}

static int64_t number_or(const struct json *keep, const char *name, int64_t other)
{
	const struct json *value = json_gets(keep, name);

	return value ? member_int(keep, name) : other;
}

void keep_read(struct keep_rules *ret, const struct json *keep)
{
	int64_t at_most = number_or(keep, "atMost", KEEP_STATES_MAX);

	*ret = (struct keep_rules){
		.for_s = duration_s(keep, "for"),
		.thin_after_s = duration_s(keep, "thinAfter"),
		.at_least = MIN(number_or(keep, "atLeast", KEEP_AT_LEAST_DEFAULT), at_most),
		.at_most = at_most,
		.bytes = number_or(keep, "bytes", 0),
	};
}

bool keep_has_number(struct str ranges, int64_t number)
{
	struct str range, rest = ranges, first, last;
	bool has = false;

	while (!has && rest.n > 0) {
		int64_t from, to;
		str_cut(rest, ',', &range, &rest);
		bool is_range = str_cut(range, '-', &first, &last);
		has = str_to_int64(first, &from) && str_to_int64(is_range ? last : first, &to) && from <= number &&
			number <= to;
	}
	return has;
}

/* ---- the change of a state ---- */

struct json *keep_facts(const struct json *change, struct str user, struct arena *a)
{
	static const char *const names[] = {"type", "time", "managers", "resourceVersion"};
	_cleanup_(buf_done) struct buf text;
	struct json *facts = json_object(a);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct json *value = json_gets(change, names[i]);
		if (value) {
			json_add(a, facts, str_of(names[i]), value);
		}
	}
	json_add_text(a, facts, STR("user"), user);
	buf_init(&text, FACTS_BYTES_MAX);
	if (!json_encode(&text, facts)) {
		return NULL;
	}
	return json_string(a, arena_dup(a, buf_str(&text)));
}

const struct json *keep_facts_of(const struct json *metadata, struct arena *a)
{
	struct str text = json_text(json_get(json_gets(metadata, "annotations"), ANNOTATION_CHANGE));
	struct json *facts = NULL;
	size_t at;

	if (text.n == 0 || text.n > FACTS_BYTES_MAX || json_parse(&facts, a, text, JSON_LIMITS_DEFAULT, &at)) {
		return NULL;
	}
	return json_is(facts, JSON_OBJECT) ? facts : NULL;
}
