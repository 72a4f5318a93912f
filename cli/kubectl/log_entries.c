/* A History counts all changes it ever had, and keeps the last ones. So the number of each of them is
 * known, and one that was taken is never taken again, whatever list or event shows it. */
#include "cli/kubectl/log_entries.h"

#include "api/model/members.h"
#include "base/clock.h"

#include <stdlib.h>

enum {
	SEEN_MAX = 4 << 20,    /* Histories */
	BYTES_MAX = 256 << 20, /* of texts */
	TEXT_MAX = 1 << 20,    /* of one */
	ARENA_MAX = 4 << 20,
};

struct counter {
	int64_t n;
};

void log_entries_init(struct log_entries *e, size_t max, int64_t since_us)
{
	*e = (struct log_entries){.max = max, .since_us = since_us};
	map_init(&e->seen, SEEN_MAX);
}

void log_entries_clear(struct log_entries *e)
{
	for (size_t i = 0; i < e->n; i++) {
		mem_free(e->v[i].text);
	}
	e->n = e->bytes = 0;
}

void log_entries_done(struct log_entries *e)
{
	log_entries_clear(e);
	mem_free(e->v);
	for (struct map_entry *each = map_next(&e->seen, NULL); each; each = map_next(&e->seen, each)) {
		mem_free(each->value);
	}
	map_done(&e->seen);
}

static int by_time(const void *a, const void *b)
{
	const struct log_entry *x = a, *y = b;
	if (x->time_us != y->time_us) {
		return x->time_us < y->time_us ? -1 : 1;
	}
	if (x->version != y->version) {
		return x->version < y->version ? -1 : 1;
	}
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static void drop_oldest(struct log_entries *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		e->bytes -= strlen(e->v[i].text);
		mem_free(e->v[i].text);
	}
	memmove(e->v, e->v + n, (e->n - n) * sizeof(*e->v));
	e->n -= n;
	e->n_dropped += n;
}

void log_entries_sort(struct log_entries *e)
{
	if (!e->n) {
		return;
	}
	qsort(e->v, e->n, sizeof(*e->v), by_time);
	if (e->n > e->max) {
		drop_oldest(e, e->n - e->max);
	}
	if (e->bytes > BYTES_MAX) {
		drop_oldest(e, e->n / 2);
	}
}

static struct json *entry_of(const struct json *history, struct json *change, struct arena *a)
{
	const struct json *meta = json_gets(history, "metadata");
	struct json *entry = json_object(a), *where = json_object(a),
		    *subject = json_gets(json_gets(history, "spec"), "subject");
	json_add_text(a, where, STR("namespace"), member_text(meta, "namespace"));
	json_add_text(a, where, STR("name"), member_text(meta, "name"));
	json_add_text(a, entry, STR("apiVersion"), STR("annals.dev/v1"));
	json_add_text(a, entry, STR("kind"), STR("Change"));
	json_add(a, entry, STR("history"), where);
	json_add(a, entry, STR("subject"), subject ? subject : json_object(a));
	json_add(a, entry, STR("change"), change);
	return entry;
}

static char *text_of(const struct json *history, struct json *change)
{
	struct arena arena;
	struct buf text;
	buf_init(&text, TEXT_MAX);
	arena_init(&arena, ARENA_MAX);
	json_encode(&text, entry_of(history, change, &arena));
	arena_done(&arena);
	return buf_take(&text, NULL);
}

static void add(struct log_entries *e, const struct json *history, struct json *change)
{
	struct log_entry one = {.serial = e->serial++};
	time_parse_rfc3339(member_text(change, "time"), &one.time_us);
	if (one.time_us < e->since_us) {
		return;
	}
	str_to_uint64(member_text(change, "resourceVersion"), &one.version);
	one.text = text_of(history, change);
	if (e->n == e->cap) {
		e->cap = e->cap ? e->cap * 2 : 64;
		e->v = mem_realloc_array(e->v, e->cap, sizeof(*e->v));
	}
	e->bytes += strlen(one.text);
	e->v[e->n++] = one;
	if (e->n >= 2 * e->max || e->bytes > BYTES_MAX) {
		log_entries_sort(e);
	}
}

static struct counter *counter_of(struct log_entries *e, const struct json *history, bool *ret_is_new)
{
	struct str uid = member_text(json_gets(history, "metadata"), "uid");
	struct counter *found = map_get(&e->seen, uid);
	*ret_is_new = !found;
	if (!found) {
		found = mem_new(struct counter);
		if (!map_set(&e->seen, uid, found, NULL)) {
			found = mem_free(found);
		}
	}
	return found;
}

void log_entries_take(struct log_entries *e, const struct json *history)
{
	bool is_new;
	const struct json *status = json_gets(history, "status"), *changes = json_gets(status, "changes");
	uint32_t n = json_is(changes, JSON_ARRAY) ? changes->n : 0;
	int64_t total = MAX(member_int(status, "totalChanges"), (int64_t)n);
	struct counter *seen = counter_of(e, history, &is_new);
	if (!seen) {
		return;
	}
	int64_t first = MAX(seen->n, total - n); /* of those that are new, counted from 0 */
	if (!is_new && first > seen->n) {
		e->n_lost += (uint64_t)(first - seen->n);
	}
	for (int64_t i = first; i < total; i++) {
		add(e, history, changes->items[i - (total - n)]);
	}
	seen->n = MAX(seen->n, total);
}

void log_entries_forget(struct log_entries *e, const struct json *history)
{
	mem_free(map_remove(&e->seen, member_text(json_gets(history, "metadata"), "uid")));
}
