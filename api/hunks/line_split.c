/* The shortest way from one sequence to another in linear space (Myers, "An O(ND) Difference Algorithm
 * and Its Variations", 1986): ways from both ends meet in the middle, which cuts the problem in two.
 *
 * Time grows with the number of differences times the length. So a search that has taken many
 * steps gives up, as in GNU diff: it cuts where the best way so far has come to. And all searches
 * together have a budget. Once that is used up, the rest counts as replaced. */
#include "api/hunks/line_private.h"

enum {
	EFFORT = 64 << 20, /* comparisons of lines, and steps from one diagonal to another */
	ROUNDS_MAX = 2048, /* of one search: twice as many differences are found for certain */
	ROUNDS_MIN = 32,
};

/* Ways from one end. Those with the same x - y are on one diagonal: for each, how far the best has come. */
struct ways {
	int64_t *x;          /* by diagonal, from that of the beginning on in both directions */
	int64_t middle;      /* diagonal */
	int64_t first, last; /* diagonals that have been reached */
};

struct splitter {
	const uint32_t *from, *to;
	struct line_side *sides;
	struct ways ahead, back;
	int64_t effort; /* what is left of it */
	int64_t rounds; /* of one search */
};

/* Lines `from` to `from_end` of the one, and `to` to `to_end` of the other. */
struct box {
	int64_t from, from_end, to, to_end;
};

static int64_t *way(const struct ways *w, int64_t diagonal)
{
	return &w->x[diagonal - w->middle];
}

static void ways_begin(struct ways *w, int64_t middle, int64_t x)
{
	w->middle = w->first = w->last = middle;
	*way(w, middle) = x;
}

/* One more diagonal on either side, but none that leaves the box. `none` is worse than any way. */
static void ways_widen(struct ways *w, const struct box *b, int64_t none)
{
	if (w->first > b->from - b->to_end) {
		w->first--;
		*way(w, w->first - 1) = none;
	} else {
		w->first++;
	}
	if (w->last < b->from_end - b->to) {
		w->last++;
		*way(w, w->last + 1) = none;
	} else {
		w->last--;
	}
}

static bool ways_have(const struct ways *w, int64_t diagonal)
{
	return w->first <= diagonal && diagonal <= w->last;
}

/* One difference further on each diagonal, then along equal lines. True: it has met a way back. */
static bool go_ahead(struct splitter *s, const struct box *b, bool may_meet, int64_t ret[2])
{
	for (int64_t d = s->ahead.last; d >= s->ahead.first; d -= 2) {
		int64_t below = *way(&s->ahead, d - 1), above = *way(&s->ahead, d + 1);
		int64_t start = below < above ? above : below + 1, x = start, y = x - d;
		while (x < b->from_end && y < b->to_end && s->from[x] == s->to[y]) {
			x++;
			y++;
		}
		*way(&s->ahead, d) = x;
		s->effort -= x - start + 1;
		if (may_meet && ways_have(&s->back, d) && *way(&s->back, d) <= x) {
			ret[0] = x;
			ret[1] = y;
			return true;
		}
	}
	return false;
}

static bool go_back(struct splitter *s, const struct box *b, bool may_meet, int64_t ret[2])
{
	for (int64_t d = s->back.last; d >= s->back.first; d -= 2) {
		int64_t below = *way(&s->back, d - 1), above = *way(&s->back, d + 1);
		int64_t start = below < above ? below : above - 1, x = start, y = x - d;
		while (x > b->from && y > b->to && s->from[x - 1] == s->to[y - 1]) {
			x--;
			y--;
		}
		*way(&s->back, d) = x;
		s->effort -= start - x + 1;
		if (may_meet && ways_have(&s->ahead, d) && x <= *way(&s->ahead, d)) {
			ret[0] = x;
			ret[1] = y;
			return true;
		}
	}
	return false;
}

/* Where the way that has come furthest is, of those from the beginning. */
static int64_t furthest_ahead(const struct splitter *s, const struct box *b, int64_t ret[2])
{
	int64_t best = -1;

	for (int64_t d = s->ahead.last; d >= s->ahead.first; d -= 2) {
		int64_t x = MIN(*way(&s->ahead, d), b->from_end), y = x - d;
		if (y > b->to_end) {
			y = b->to_end;
			x = y + d;
		}
		if (x + y > best) {
			best = x + y;
			ret[0] = x;
			ret[1] = y;
		}
	}
	return best - (b->from + b->to);
}

/* And of those from the end. */
static int64_t furthest_back(const struct splitter *s, const struct box *b, int64_t ret[2])
{
	int64_t best = INT64_MAX;

	for (int64_t d = s->back.last; d >= s->back.first; d -= 2) {
		int64_t x = MAX(*way(&s->back, d), b->from), y = x - d;
		if (y < b->to) {
			y = b->to;
			x = y + d;
		}
		if (x + y < best) {
			best = x + y;
			ret[0] = x;
			ret[1] = y;
		}
	}
	return b->from_end + b->to_end - best;
}

static void cut_at_best(const struct splitter *s, const struct box *b, int64_t ret[2])
{
	int64_t ahead[2] = {0}, back[2] = {0};
	bool is_ahead = furthest_ahead(s, b, ahead) > furthest_back(s, b, back);

	memcpy(ret, is_ahead ? ahead : back, sizeof(ahead));
}

/* Where a shortest way passes, or a good one. False: there was no effort left to look. */
static bool find_middle(struct splitter *s, const struct box *b, int64_t ret[2])
{
	int64_t begin = b->from - b->to, end = b->from_end - b->to_end;
	bool is_odd = (begin - end) & 1;

	ways_begin(&s->ahead, begin, b->from);
	ways_begin(&s->back, end, b->from_end);
	for (int64_t round = 1; s->effort > 0; round++) {
		ways_widen(&s->ahead, b, -1);
		if (go_ahead(s, b, is_odd, ret)) {
			return true;
		}
		ways_widen(&s->back, b, INT64_MAX);
		if (go_back(s, b, !is_odd, ret)) {
			return true;
		}
		if (round == s->rounds) {
			cut_at_best(s, b, ret);
			return true;
		}
	}
	return false;
}

static void mark(const struct line_side *side, int64_t begin, int64_t end)
{
	for (int64_t i = begin; i < end; i++) {
		side->is_changed[side->lines[i]] = true;
	}
}

static void trim(const struct splitter *s, struct box *b)
{
	while (b->from < b->from_end && b->to < b->to_end && s->from[b->from] == s->to[b->to]) {
		b->from++;
		b->to++;
	}
	while (b->from < b->from_end && b->to < b->to_end && s->from[b->from_end - 1] == s->to[b->to_end - 1]) {
		b->from_end--;
		b->to_end--;
	}
}

static int64_t size_of(const struct box *b)
{
	return b->from_end - b->from + b->to_end - b->to;
}

/* The smaller part by recursion, the bigger one by the loop: the stack is never deep. */
static void split(struct splitter *s, struct box b)
{
	for (;;) {
		int64_t at[2];
		trim(s, &b);
		if (b.from == b.from_end || b.to == b.to_end || !find_middle(s, &b, at)) {
			mark(&s->sides[0], b.from, b.from_end);
			mark(&s->sides[1], b.to, b.to_end);
			return;
		}
		struct box head = {b.from, at[0], b.to, at[1]}, tail = {at[0], b.from_end, at[1], b.to_end};
		bool is_head_smaller = size_of(&head) < size_of(&tail);
		split(s, is_head_smaller ? head : tail);
		b = is_head_smaller ? tail : head;
	}
}

void line_split(struct line_side sides[2])
{
	int64_t n = (int64_t)sides[0].n + sides[1].n;
	struct splitter s = {.from = sides[0].classes, .to = sides[1].classes, .sides = sides, .effort = EFFORT};

	/* Searches follow each other through the texts: the more lines, the fewer rounds each may have. */
	s.rounds = MAX(ROUNDS_MIN, MIN(ROUNDS_MAX, EFFORT / (4 * (n + 1))));
	size_t width = (size_t)(2 * s.rounds + 3);
	int64_t *x = mem_array(2 * width, sizeof(*x));
	s.ahead.x = x + s.rounds + 1;
	s.back.x = x + width + s.rounds + 1;
	split(&s, (struct box){0, sides[0].n, 0, sides[1].n});
	mem_free(x);
}
