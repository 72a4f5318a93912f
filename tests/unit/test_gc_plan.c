/* The garbage collector's decisions and the patches that carry them out: transcripts/gc_plan.txt. */
#include "controllers/gc/gc_plan.h"
#include "controllers/kit/patch.h"
#include "tests/unit/check.h"
#include "tests/unit/transcript.h"

/* ---- steps ----
 *
 *     plan solid dangling waiting    the fates of the object's owners, and any of the words in `traits`
 *     object {"uid":"me",...}        the metadata of the object that later steps patch
 *     unrefer a b                    removes the references to these uids: both forms of the patch
 *     unblock                        both forms of the patch
 *     finalize orphan                removes one finalizer */

enum { UIDS_MAX = 8 };

struct bench {
	struct arena arena;
	struct json *meta;
};

static void *bench_begin(void)
{
	struct bench *b = mem_new(struct bench);
	arena_init(&b->arena, 1 << 20);
	return b;
}

static void bench_end(void *ctx)
{
	struct bench *b = ctx;
	arena_done(&b->arena);
	mem_free(b);
}

static void situation_add(struct gc_situation *s, struct str word)
{
	static const char *const fates[] = {[GC_SOLID] = "solid", [GC_DANGLING] = "dangling", [GC_WAITING] = "waiting"};
	const struct {
		const char *word;
		bool *trait;
	} traits[] = {
		{"has-dependents", &s->has_dependents},
		{"has-waiting-dependent", &s->has_waiting_dependent},
		{"orphan", &s->has_orphan_finalizer},
		{"foreground", &s->has_foreground_finalizer},
	};
	for (size_t i = 0; i < ARRAY_SIZE(fates); i++) {
		if (str_is(word, fates[i])) {
			s->n_owners[i]++;
			return;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(traits); i++) {
		if (str_is(word, traits[i].word)) {
			*traits[i].trait = true;
			return;
		}
	}
	fail_msg("no such word: " STR_FMT, STR_ARG(word));
}

static void bench_plan(struct str *rest, struct buf *out)
{
	static const char *const actions[] = {[GC_KEEP] = "keep", [GC_TRIM] = "trim", [GC_DELETE] = "delete"};
	struct gc_situation s = {0};
	for (struct str word; (word = transcript_word(rest)).n > 0;) {
		situation_add(&s, word);
	}
	struct gc_plan p = gc_plan_for(&s);
	buf_printf(out, "%s%s%s%s\n", p.unblocks ? "unblock, then " : "", actions[p.action], p.action == GC_DELETE ? " " : "",
		p.action == GC_DELETE ? p.propagation : "");
}

static void bench_unrefer(const struct bench *b, struct str *rest, struct buf *out)
{
	struct str uids[UIDS_MAX], uid = json_text(json_gets(b->meta, "uid"));
	size_t n = 0;
	for (struct str word; (word = transcript_word(rest)).n > 0; n++) {
		assert_true(n < UIDS_MAX);
		uids[n] = word;
	}
	buf_adds(out, "strategic ");
	meta_patch_unrefer(out, uid, uids, n);
	buf_adds(out, "\nmerge ");
	meta_patch_unrefer_merge(out, uid, b->meta, uids, n);
	buf_addc(out, '\n');
}

static void bench_unblock(const struct bench *b, struct buf *out)
{
	buf_adds(out, "strategic ");
	meta_patch_unblock(out, b->meta);
	buf_adds(out, "\nmerge ");
	meta_patch_unblock_merge(out, b->meta);
	buf_addc(out, '\n');
}

static void bench_finalize(const struct bench *b, struct str *rest, struct buf *out)
{
	char finalizer[64];
	struct str word = transcript_word(rest);
	assert_true(word.n < sizeof(finalizer));
	snprintf(finalizer, sizeof(finalizer), STR_FMT, STR_ARG(word));
	size_t n = out->n;
	bool has_it = meta_patch_finalize(out, b->meta, finalizer);
	assert_int_equal(has_it, out->n > n);
	buf_adds(out, has_it ? "\n" : "the object does not have it\n");
}

static void bench_step(void *ctx, struct str input, struct buf *out)
{
	struct bench *b = ctx;
	struct str rest = input, verb = transcript_word(&rest);
	size_t at;
	if (str_is(verb, "plan")) {
		bench_plan(&rest, out);
	} else if (str_is(verb, "unrefer")) {
		bench_unrefer(b, &rest, out);
	} else if (str_is(verb, "unblock")) {
		bench_unblock(b, out);
	} else if (str_is(verb, "finalize")) {
		bench_finalize(b, &rest, out);
	} else {
		assert_true(str_is(verb, "object"));
		struct str text = arena_dup(&b->arena, rest); /* the step's text goes, and the tree points into it */
		assert_int_equal(json_parse(&b->meta, &b->arena, text, JSON_LIMITS_DEFAULT, &at), 0);
	}
}

int main(void)
{
	return transcript_run(&(struct transcript){TRANSCRIPT, bench_begin, bench_step, bench_end});
}
