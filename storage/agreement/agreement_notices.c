/* What people are told, once, when it changes. */
#include "storage/agreement/agreement_private.h"

#include <stdio.h>

static void note(struct agreement *a, bool is_trouble, const struct buf *text)
{
	buf_addc(&a->notices, is_trouble ? '!' : ' ');
	buf_add(&a->notices, text->p, text->n);
	buf_addc(&a->notices, '\0');
}

enum { SENTENCE_MAX = 4096 };

static void note_kind(struct agreement *a, const struct kind *k)
{
	const struct agreement_choice *c = &a->choices[k->index];
	bool is_told = a->told[k->index] == c->reason && a->told_encodes[k->index] == c->encodes;
	struct buf text;

	/* Nobody need be told that all is as it is wanted from the start. */
	if (is_told || (c->reason == AGREEMENT_WANTED && a->told[k->index] == AGREEMENT_WANTED)) {
		a->told_encodes[k->index] = c->encodes;
		return;
	}
	buf_init(&text, SENTENCE_MAX);
	agreement_explain_choice(&a->self, k, c, &text);
	note(a, c->reason != AGREEMENT_WANTED, &text);
	buf_done(&text);
	a->told[k->index] = c->reason;
	a->told_encodes[k->index] = c->encodes;
}

static void note_problems(struct agreement *a)
{
	int64_t newest = a->told_problem;

	for (size_t i = 0; i < a->view->n_replicas; i++) {
		const struct agreement_replica *r = &a->view->replicas[i];
		struct buf text;

		if (r->problem.n == 0 || r->mod_revision <= a->told_problem) {
			continue;
		}
		newest = MAX(newest, r->mod_revision);
		buf_init(&text, SENTENCE_MAX);
		buf_adds(&text, "the registration of ");
		agreement_write_name(r, &text);
		buf_printf(&text, " cannot be understood: " STR_FMT "; while it is in etcd no storage version hash is shown",
			STR_ARG(r->problem));
		note(a, true, &text);
		buf_done(&text);
	}
	a->told_problem = newest;
}

static void note_flag(struct agreement *a, bool *told, bool now, const char *on, const char *off, bool is_on_bad)
{
	struct buf text;

	if (*told != now) {
		*told = now;
		buf_init(&text, SENTENCE_MAX);
		buf_printf(&text, "%s", now ? on : off);
		note(a, now == is_on_bad, &text);
		buf_done(&text);
	}
}

/* Once, and not for each of many attempts in vain. That etcd is not there at the start is told by the cache. */
void agreement_note_trouble(struct agreement *a, const char *message)
{
	bool is_new = a->trouble[0] == '\0';
	struct buf text;

	snprintf(a->trouble, sizeof(a->trouble), "%s", message);
	if (is_new && a->is_loaded) {
		buf_init(&text, SENTENCE_MAX);
		buf_printf(&text, "cannot %s in etcd, will go on trying: %s", a->mod ? "keep the registration" : "register",
			a->trouble);
		note(a, true, &text);
		buf_done(&text);
		a->told_trouble = true;
	}
}

/* As trouble, although it is none any more: whoever was warned wants to know. */
void agreement_note_trouble_over(struct agreement *a)
{
	struct buf text;

	a->trouble[0] = '\0';
	if (a->told_trouble) {
		a->told_trouble = false;
		buf_init(&text, SENTENCE_MAX);
		BUF_LITERAL(&text, "etcd keeps the registration again");
		note(a, true, &text);
		buf_done(&text);
	}
}

void agreement_note(struct agreement *a)
{
	note_flag(a, &a->told_registered, a->mod != 0, a->told_as,
		"the registration in etcd is gone, joining again: nothing is written meanwhile", false);
	if (!a->view) {
		return;
	}
	note_flag(a, &a->told_overfull, a->table.is_overfull,
		"there are more registrations in etcd than servers can be: no storage version hash is shown",
		"there are no more registrations in etcd than servers can be", true);
	note_problems(a);
	for (size_t i = 0; i < kind_count(); i++) {
		if (kind_is_stored(kind_at(i)) && !a->table.is_overfull) {
			note_kind(a, kind_at(i));
		}
	}
}
