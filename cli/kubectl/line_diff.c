/* Longest common subsequence by the plain table, with the texts' common head and tail cut off
 * first: revisions differ in few lines. Output is as of diff -u, which people and tools read
 * already. */
#include "cli/kubectl/line_diff.h"

enum {
	CONTEXT = 3,
	/* Time and memory grow with the product of both lengths. */
	CELLS_MAX = 4 << 20, /* of the table of common subsequences */
};

struct lines {
	struct str *v;
	size_t n;
};

/* What becomes of a line: taken from both texts, from the first, or from the second. */
struct edit {
	char sign;
	size_t from, to; /* lines before it in each */
	struct str line;
};

struct edits {
	struct edit *v;
	size_t n;
};

static struct lines cut_lines(struct str text)
{
	struct lines l = {0};
	size_t cap = 1;
	for (size_t i = 0; i < text.n; i++) {
		cap += text.p[i] == '\n';
	}
	l.v = mem_array(cap, sizeof(*l.v));
	while (text.n > 0) {
		str_cut(text, '\n', &l.v[l.n++], &text);
	}
	return l;
}

static void add(struct edits *e, char sign, size_t from, size_t to, struct str line)
{
	e->v[e->n++] = (struct edit){sign, from, to, line};
}

/* lengths[i][j]: of the longest common subsequence of what is behind i and j. */
static uint32_t *measure(const struct lines *a, const struct lines *b)
{
	size_t width = b->n + 1;
	uint32_t *lengths = mem_array((a->n + 1) * width, sizeof(*lengths));
	for (size_t i = a->n; i-- > 0;) {
		for (size_t j = b->n; j-- > 0;) {
			uint32_t down = lengths[(i + 1) * width + j], right = lengths[i * width + j + 1];
			lengths[i * width + j] =
				str_eq(a->v[i], b->v[j]) ? lengths[(i + 1) * width + j + 1] + 1 : MAX(down, right);
		}
	}
	return lengths;
}

/* What is between the common beginning and the common end, of `base` lines before it. */
static void compare_middle(struct edits *e, const struct lines *a, const struct lines *b, size_t base)
{
	bool is_small = (a->n + 1) * (b->n + 1) <= CELLS_MAX;
	uint32_t *lengths = is_small ? measure(a, b) : NULL;
	size_t i = 0, j = 0, width = b->n + 1;
	while (i < a->n || j < b->n) {
		bool is_common = lengths && i < a->n && j < b->n && str_eq(a->v[i], b->v[j]);
		bool takes_from =
			i < a->n && (!lengths || j == b->n || lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]);
		if (is_common) {
			add(e, ' ', base + i, base + j, a->v[i]);
			i++;
			j++;
		} else if (takes_from) {
			add(e, '-', base + i, base + j, a->v[i]);
			i++;
		} else {
			add(e, '+', base + i, base + j, b->v[j]);
			j++;
		}
	}
	mem_free(lengths);
}

static struct edits compare(const struct lines *a, const struct lines *b)
{
	struct edits e = {.v = mem_array(a->n + b->n + 1, sizeof(*e.v))};
	size_t head = 0, tail = 0;
	while (head < a->n && head < b->n && str_eq(a->v[head], b->v[head])) {
		add(&e, ' ', head, head, a->v[head]);
		head++;
	}
	while (tail < a->n - head && tail < b->n - head && str_eq(a->v[a->n - 1 - tail], b->v[b->n - 1 - tail])) {
		tail++;
	}
	const struct lines middle_a = {a->v + head, a->n - head - tail}, middle_b = {b->v + head, b->n - head - tail};
	compare_middle(&e, &middle_a, &middle_b, head);
	for (size_t i = tail; i > 0; i--) {
		add(&e, ' ', a->n - i, b->n - i, a->v[a->n - i]);
	}
	return e;
}

/* ---- hunks ---- */

static size_t next_change(const struct edits *e, size_t at)
{
	while (at < e->n && e->v[at].sign == ' ') {
		at++;
	}
	return at;
}

/* Where the hunk ends that has the change at `at`: changes that are near each other share one. */
static size_t hunk_end(const struct edits *e, size_t at)
{
	for (;;) {
		while (at < e->n && e->v[at].sign != ' ') {
			at++;
		}
		size_t next = next_change(e, at);
		if (next == e->n || next - at > (size_t)2 * CONTEXT) {
			return MIN(at + CONTEXT, e->n);
		}
		at = next;
	}
}

static void write_hunk(struct buf *out, const struct edits *e, size_t begin, size_t end)
{
	size_t n_from = 0, n_to = 0;
	for (size_t i = begin; i < end; i++) {
		n_from += e->v[i].sign != '+';
		n_to += e->v[i].sign != '-';
	}
	buf_printf(
		out, "@@ -%zu,%zu +%zu,%zu @@\n", e->v[begin].from + (n_from > 0), n_from, e->v[begin].to + (n_to > 0), n_to);
	for (size_t i = begin; i < end; i++) {
		buf_printf(out, "%c" STR_FMT "\n", e->v[i].sign, STR_ARG(e->v[i].line));
	}
}

void line_diff(struct buf *out, struct str from, struct str to, const char *from_name, const char *to_name)
{
	struct lines a = cut_lines(from), b = cut_lines(to);
	struct edits e = compare(&a, &b);
	size_t at = next_change(&e, 0);
	if (at < e.n) {
		buf_printf(out, "--- %s\n+++ %s\n", from_name, to_name);
	}
	while (at < e.n) {
		size_t end = hunk_end(&e, at);
		write_hunk(out, &e, at > CONTEXT ? at - CONTEXT : 0, end);
		at = next_change(&e, end);
	}
	mem_free(e.v);
	mem_free(a.v);
	mem_free(b.v);
}
