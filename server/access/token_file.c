/* The file means what it means to kube-apiserver, which reads it with Go's encoding/csv: quotes,
 * empty lines and CR LF are read as that does. Look-ups search among digests, sorted. So no byte of
 * a token that was sent is ever compared with one of the file's, and no token stays in memory. */
#include "server/access/token_file.h"

#include "base/arena.h"
#include "base/keyed_hash.h"

#include <errno.h>
#include <stdlib.h>

enum {
	FIELDS_MIN = 3,
	FIELDS_MAX = 4, /* further ones are ignored */
};

struct entry {
	unsigned char digest[SHA256_SIZE];
	size_t record; /* order in the file */
	struct token_user user;
};

struct tokens {
	struct keyed_hash hash;
	struct entry *entries; /* sorted by digest */
	size_t n;
	struct arena arena;
};

/* Reads one record after the other. */
struct csv {
	struct str rest;
	size_t line; /* from 1, of `rest` */
	struct arena *arena;
	struct buf *err;
};

struct record {
	struct str fields[FIELDS_MAX];
	size_t n; /* may be more than are kept */
};

static int csv_refuse(struct csv *c, const char *why)
{
	buf_printf(c->err, "line %zu: %s", c->line, why);
	return -EINVAL;
}

static void csv_skip(struct csv *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		c->line += c->rest.p[i] == '\n';
	}
	c->rest.p += n;
	c->rest.n -= n;
}

static bool csv_at(const struct csv *c, char ch)
{
	return c->rest.n > 0 && c->rest.p[0] == ch;
}

/* A line break, in either form, counts as one '\n'. */
static bool csv_at_newline(const struct csv *c)
{
	return csv_at(c, '\n') || str_starts(c->rest, STR("\r\n"));
}

static void csv_skip_newline(struct csv *c)
{
	csv_skip(c, csv_at(c, '\r') ? 2 : 1);
}

static int csv_quoted_field(struct csv *c, struct str *ret)
{
	char *out = arena_text(c->arena, c->rest.n);
	size_t n = 0, at = 1;
	for (; at < c->rest.n; at++) {
		if (c->rest.p[at] == '"') {
			if (at + 1 >= c->rest.n || c->rest.p[at + 1] != '"') {
				break;
			}
			at++;
		}
		out[n++] = c->rest.p[at];
	}
	if (at >= c->rest.n) {
		return csv_refuse(c, "a quoted field has no end");
	}

	csv_skip(c, at + 1);
	if (c->rest.n > 0 && !csv_at(c, ',') && !csv_at_newline(c)) {
		return csv_refuse(c, "a quoted field must be followed by a comma or the end of the line");
	}
	*ret = (struct str){out, n};
	return 0;
}

static int csv_plain_field(struct csv *c, struct str *ret)
{
	size_t n = 0;
	while (n < c->rest.n && c->rest.p[n] != ',' && c->rest.p[n] != '\n') {
		if (c->rest.p[n++] == '"') {
			return csv_refuse(c, "a quote within a field that does not begin with one");
		}
	}
	struct str field = {c->rest.p, n};
	if (n < c->rest.n && c->rest.p[n] == '\n' && str_ends(field, STR("\r"))) {
		field.n--;
	}
	csv_skip(c, field.n);
	*ret = field;
	return 0;
}

static int csv_record(struct csv *c, struct record *ret)
{
	*ret = (struct record){.n = 0};
	for (;;) {
		struct str field;
		int r = csv_at(c, '"') ? csv_quoted_field(c, &field) : csv_plain_field(c, &field);
		if (r) {
			return r;
		}
		if (ret->n < FIELDS_MAX) {
			ret->fields[ret->n] = field;
		}
		ret->n++;
		if (!csv_at(c, ',')) {
			break;
		}
		csv_skip(c, 1);
	}
	if (ret->n < FIELDS_MIN) {
		return csv_refuse(c, "a user has at least 3 columns: token, user name, user uid");
	}
	return 0;
}

static size_t count_groups(struct str list)
{
	size_t n = 1;
	for (size_t i = 0; i < list.n; i++) {
		n += list.p[i] == ',';
	}
	return n;
}

static void user_set_groups(struct token_user *u, struct str list, struct arena *a)
{
	struct str *groups = arena_array(a, struct str, count_groups(list));
	struct str rest = arena_dup(a, list);
	bool more;
	do {
		more = str_cut(rest, ',', &groups[u->n_groups++], &rest);
	} while (more);
	u->groups = groups;
}

static void tokens_add(struct tokens *t, const struct record *record)
{
	t->entries = mem_realloc_array(t->entries, t->n + 1, sizeof(*t->entries));
	struct entry *e = &t->entries[t->n];
	*e = (struct entry){.record = t->n};
	t->n++;

	keyed_hash(&t->hash, record->fields[0], e->digest);
	e->user.name = arena_dup(&t->arena, record->fields[1]);
	e->user.uid = arena_dup(&t->arena, record->fields[2]);
	if (record->n > FIELDS_MIN) {
		user_set_groups(&e->user, record->fields[3], &t->arena);
	}
}

static int compare_digests(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return memcmp(x->digest, y->digest, SHA256_SIZE);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare_digests(x, y);
	return order ? order : (x->record > y->record) - (x->record < y->record);
}

/* Of several records with one token the last stays. */
static void tokens_sort(struct tokens *t)
{
	size_t n = 0;
	if (t->n > 0) {
		qsort(t->entries, t->n, sizeof(*t->entries), compare_entries);
	}
	for (size_t i = 0; i < t->n; i++) {
		if (i + 1 == t->n || compare_digests(&t->entries[i], &t->entries[i + 1]) != 0) {
			t->entries[n++] = t->entries[i];
		}
	}
	t->n = n;
}

static int tokens_read(struct tokens *t, struct csv *c)
{
	while (c->rest.n > 0) {
		/* encoding/csv skips empty lines. */
		if (csv_at_newline(c)) {
			csv_skip_newline(c);
			continue;
		}
		struct record record;
		int r = csv_record(c, &record);
		if (r) {
			return r;
		}
		/* kube-apiserver skips an empty token, too. */
		if (record.fields[0].n > 0) {
			tokens_add(t, &record);
		}
	}
	tokens_sort(t);
	return 0;
}

int tokens_parse(struct tokens **ret, struct str text, struct buf *err)
{
	_cleanup_(tokens_freep) struct tokens *t = mem_new(struct tokens);
	arena_init(&t->arena, SIZE_MAX);
	keyed_hash_init(&t->hash);

	struct arena scratch;
	arena_init(&scratch, SIZE_MAX);
	struct csv csv = {.rest = text, .line = 1, .arena = &scratch, .err = err};
	int r = tokens_read(t, &csv);
	arena_done(&scratch);
	if (r) {
		return r;
	}
	*ret = take_ptr(t);
	return 0;
}

struct tokens *tokens_free(struct tokens *t)
{
	if (t) {
		arena_done(&t->arena);
		mem_free(t->entries);
		mem_free(t);
	}
	return NULL;
}

const struct token_user *tokens_find(const struct tokens *t, struct str token)
{
	struct entry wanted;
	if (t->n == 0) {
		return NULL;
	}
	keyed_hash(&t->hash, token, wanted.digest);
	const struct entry *e = bsearch(&wanted, t->entries, t->n, sizeof(*t->entries), compare_digests);
	return e ? &e->user : NULL;
}
