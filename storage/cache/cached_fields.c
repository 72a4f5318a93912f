/* In the content that is shared a NUL stands for each time: JSON has none, so nobody else's content
 * can be the same and mean something else. */
#include "storage/cache/cached_fields.h"

#include "storage/cache/shared.h"

#include <string.h>

#define TIME_OPENING STR("\"time\":\"")

static void fields_make(void *made, struct str content)
{
	struct fields *f = made;

	*f = (struct fields){0};
	for (size_t i = 0; i < content.n; i++) {
		if (content.p[i] == '\0') {
			f->at[f->n_times++] = (uint32_t)i;
		}
	}
}

/* Where the next time begins: behind p, with a quote after it. NULL: there is none. */
static const char *next_time(const char *p, const char *end)
{
	while ((p = memmem(p, (size_t)(end - p), TIME_OPENING.p, TIME_OPENING.n)) != NULL) {
		p += TIME_OPENING.n;
		if (end - p > FIELDS_TIME_SIZE && p[FIELDS_TIME_SIZE] == '"') {
			return p;
		}
	}
	return NULL;
}

static char *put(char *to, const char *p, size_t n)
{
	memcpy(to, p, n);
	return to + n;
}

const struct fields *fields_share(struct str text, struct arena *a, struct str *ret_times)
{
	const char *p = text.p, *end = text.p + text.n, *time;

	if (text.n == 0 || memchr(text.p, '\0', text.n)) {
		return NULL;
	}
	char *content = arena_text(a, text.n), *to = content;
	char *times = arena_text(a, (size_t)FIELDS_TIMES_MAX * FIELDS_TIME_SIZE), *times_end = times;
	for (size_t n = 0; n < FIELDS_TIMES_MAX && (time = next_time(p, end)); n++) {
		to = put(to, p, (size_t)(time - p));
		*to++ = '\0';
		times_end = put(times_end, time, FIELDS_TIME_SIZE);
		p = time + FIELDS_TIME_SIZE;
	}
	to = put(to, p, (size_t)(end - p));
	*ret_times = (struct str){times, (size_t)(times_end - times)};
	return shared_get((struct str){content, (size_t)(to - content)}, sizeof(struct fields), fields_make);
}

struct str fields_part(const struct fields *f, size_t i)
{
	struct str content = shared_content(f);
	size_t from = i > 0 ? f->at[i - 1] + 1U : 0, to = i < f->n_times ? f->at[i] : content.n;

	return (struct str){content.p + from, to - from};
}

size_t fields_size(const struct fields *f)
{
	return f ? shared_content(f).n - f->n_times : 0;
}
