#include "tests/unit/transcript.h"
#include "base/file.h"
#include "tests/unit/check.h"

#include <stdio.h>
#include <stdlib.h>

enum { FILE_MAX = 16 << 20, BLOCKS_MAX = 1000 };

/* A block begins with its "== NAME", and ends where the next one begins. */
struct block {
	const struct transcript *transcript;
	struct str text;
	char *name;
	struct buf now; /* the block with what its steps print */
	bool is_run;
};

static struct block blocks[BLOCKS_MAX];
static size_t n_blocks;

struct str transcript_word(struct str *rest)
{
	struct str word;

	str_cut(str_trim(*rest), ' ', &word, rest);
	return word;
}

static bool next_line(struct str *rest, struct str *ret)
{
	if (rest->n == 0) {
		return false;
	}
	str_cut(*rest, '\n', ret, rest);
	return true;
}

/* Is it a line that a step has printed? */
static bool is_output(struct str line)
{
	return line.n > 0 && !str_starts(line, STR("> ")) && !str_starts(line, STR("# ")) && !str_starts(line, STR("== "));
}

static void block_replay(struct block *b)
{
	const struct transcript *t = b->transcript;
	struct str rest = b->text, line;
	bool is_behind_step = false;
	void *ctx = t->begin();

	buf_init(&b->now, FILE_MAX);
	while (next_line(&rest, &line)) {
		bool is_step = str_starts(line, STR("> "));
		if (is_output(line) && is_behind_step) {
			continue;
		}
		is_behind_step = is_step;
		buf_printf(&b->now, STR_FMT "\n", STR_ARG(line));
		if (is_step) {
			t->step(ctx, (struct str){line.p + 2, line.n - 2}, &b->now);
		}
	}
	t->end(ctx);
	b->is_run = true;
}

static void block_show_difference(const struct block *b)
{
	struct str before = b->text, now = buf_str(&b->now), wanted, found, step = STR("");

	for (;;) {
		bool has_wanted = next_line(&before, &wanted), has_found = next_line(&now, &found);
		step = has_found && str_starts(found, STR("> ")) ? found : step;
		if (!has_wanted || !has_found || !str_eq(wanted, found)) {
			wanted = has_wanted ? wanted : STR("(the end)");
			found = has_found ? found : STR("(the end)");
			fail_msg("%s: behind\n  " STR_FMT "\nthe transcript has\n  " STR_FMT "\nand now there is\n  " STR_FMT
				 "\nUPDATE_TRANSCRIPTS=1 writes what there is now into %s",
				b->name, STR_ARG(step), STR_ARG(wanted), STR_ARG(found), b->transcript->file);
		}
	}
}

static void test_block(void **state)
{
	struct block *b = *state;

	block_replay(b);
	if (!getenv("UPDATE_TRANSCRIPTS") && !str_eq(buf_str(&b->now), b->text)) {
		block_show_difference(b);
	}
}

/* Returns what stands before the first block. */
static struct str split(const struct transcript *t, struct str text)
{
	struct str rest = text, line, head = {text.p, 0};
	struct block *b = NULL;

	while (next_line(&rest, &line)) {
		if (str_starts(line, STR("== "))) {
			assert_true(n_blocks < BLOCKS_MAX);
			b = &blocks[n_blocks++];
			*b = (struct block){.transcript = t, .text = {line.p, 0}, .name = mem_strndup(line.p + 3, line.n - 3)};
		}
		*(b ? &b->text.n : &head.n) += line.n + (line.p + line.n < text.p + text.n);
	}
	return head;
}

static void rewrite(const struct transcript *t, struct str head)
{
	FILE *f = fopen(t->file, "w");

	assert_non_null(f);
	fwrite(head.p, 1, head.n, f);
	for (size_t i = 0; i < n_blocks; i++) {
		struct str text = blocks[i].is_run ? buf_str(&blocks[i].now) : blocks[i].text;
		fwrite(text.p, 1, text.n, f);
	}
	assert_int_equal(fclose(f), 0);
}

int transcript_run(const struct transcript *t)
{
	struct CMUnitTest tests[BLOCKS_MAX];
	struct buf text;

	buf_init(&text, FILE_MAX);
	if (file_read_path(t->file, &text) != 0) {
		fprintf(stderr, "%s cannot be read\n", t->file);
		return 1;
	}
	struct str head = split(t, buf_str(&text));
	for (size_t i = 0; i < n_blocks; i++) {
		tests[i] = (struct CMUnitTest){.name = blocks[i].name, .test_func = test_block, .initial_state = &blocks[i]};
	}
	int n_failed = _cmocka_run_group_tests(t->file, tests, n_blocks, NULL, NULL);
	if (getenv("UPDATE_TRANSCRIPTS")) {
		rewrite(t, head);
	}
	for (size_t i = 0; i < n_blocks; i++) {
		buf_done(&blocks[i].now);
		mem_free(blocks[i].name);
	}
	buf_done(&text);
	return n_failed;
}
