/* Questions about other keys are gathered and asked together, since one round trip for each
 * would make the walk as slow as the network. They are asked at the walk's revision, or an
 * answer could be newer than the question.
 *
 * The lock guards n_under_way alone: the answers' callbacks run on the storage's thread. It is
 * static because a process runs one fsck. */
#include "cli/fsck/fsck_private.h"

#include <errno.h>
#include <pthread.h>

/* Bounds the memory of answers, each of which may be a whole object. */
enum { QUESTIONS_AT_ONCE = 128 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static size_t n_under_way; /* under the lock */

struct question *fsck_question(struct fsck *f, struct str key, void (*answer)(struct fsck *f, struct question *q))
{
	struct question *q = arena_new(&f->page, struct question);
	q->range.key = q->key = key;
	q->range.at_revision = f->revision;
	q->answer = answer;
	return q;
}

static void on_done(struct storage_op *op _unused_)
{
	pthread_mutex_lock(&lock);
	if (--n_under_way == 0) {
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&lock);
}

static void run_all(struct fsck *f, struct question *list)
{
	n_under_way = f->n_questions;
	for (struct question *q = list; q; q = q->next) {
		q->range.op.done = on_done;
		storage_range(f->storage, &q->range);
	}
	pthread_mutex_lock(&lock);
	while (n_under_way > 0) {
		pthread_cond_wait(&changed, &lock);
	}
	pthread_mutex_unlock(&lock);
}

static struct question *in_order(struct question *newest)
{
	struct question *list = NULL;
	while (newest) {
		struct question *next = newest->next;
		newest->next = list;
		list = newest;
		newest = next;
	}
	return list;
}

static int read_answer(struct fsck *f, struct question *q)
{
	const struct storage_op *op = &q->range.op;
	if (op->result != STORAGE_OK) {
		buf_printf(&f->err, "cannot read " STR_FMT ": %s", STR_ARG(q->range.key), op->message);
		return -EIO;
	}
	q->answer(f, q);
	return 0;
}

int fsck_answer_all(struct fsck *f)
{
	struct question *list = in_order(f->questions);
	int r = 0;
	run_all(f, list);
	f->questions = NULL;
	f->n_questions = 0;
	for (struct question *q = list; q; q = q->next) {
		r = r ? r : read_answer(f, q);
		storage_op_clear(&q->range.op);
	}
	return r;
}

int fsck_ask(struct fsck *f, struct question *q)
{
	q->next = f->questions;
	f->questions = q;
	return ++f->n_questions < QUESTIONS_AT_ONCE ? 0 : fsck_answer_all(f);
}
