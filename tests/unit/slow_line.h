/* The connection of one process to a store without a clock (storage_memory_new_manual), as bad as a test wants it: requests, answers and events wait
 * until they are let through, in any order but that of one watch's events; they are lost, or carried out long after the caller has given up. */
#ifndef TESTS_UNIT_SLOW_LINE_H
#define TESTS_UNIT_SLOW_LINE_H

#include "storage/storage.h"

struct slow_line;

/* inner outlives the line. on_submit: something has been submitted; NULL: nothing. */
struct slow_line *slow_line_new(struct storage *inner, void (*on_submit)(void *ctx), void *ctx);
struct storage *slow_line_store(struct slow_line *l);
/* The process has died: nothing is answered any more; what is on its way is carried out by and by, or never. */
void slow_line_cut(struct slow_line *l);
struct slow_line *slow_line_free(struct slow_line *l); /* cut */

/* Each does one thing of its sort, chosen by `choice`; false: there is nothing. */
bool slow_line_carry_out(struct slow_line *l, unsigned choice, int64_t now_ms); /* a request, at the store */
bool slow_line_answer(struct slow_line *l, unsigned choice);
bool slow_line_tell(struct slow_line *l);                    /* the watch's next events, or its end */
bool slow_line_refuse(struct slow_line *l, unsigned choice); /* a request: certainly not carried out */
/* A request or an answer: STORAGE_UNKNOWN. What was not carried out yet is later, or never. */
bool slow_line_lose(struct slow_line *l, unsigned choice);
bool slow_line_straggle(struct slow_line *l, unsigned choice, int64_t now_ms); /* carries out what its caller has given up */
void slow_line_interrupt(struct slow_line *l, int64_t now_ms); /* the watch: resumes behind the last events delivered */
void slow_line_time_out(struct slow_line *l, int64_t now_ms);  /* whatever has waited for longer than its caller will */

#endif
