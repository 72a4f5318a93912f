/* The name of a history (docs/explanation/history.md): of the subject's, as much as a DNS subdomain may hold of
 * it, and a digest that tells subjects apart. It must stay as it is for ever: another name would
 * begin another history. */
#include "api/record/names.h"

#include "api/model/digest.h"

enum { LABEL_VALUE_MAX = 63 };

static char lowered(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_alphanumeric(char c)
{
	return (lowered(c) >= 'a' && lowered(c) <= 'z') || (c >= '0' && c <= '9');
}

/* Appends what may stand in a DNS subdomain. A dot stays where it is between letters and digits: each part
 * between dots begins and ends with one of those. */
static void add_subdomain(struct buf *b, struct str text, size_t room)
{
	size_t from = 0;
	while (from < text.n && !is_alphanumeric(text.p[from])) {
		from++;
	}
	for (size_t i = from; i < text.n && i < from + room; i++) {
		char c = text.p[i];
		bool is_dot = c == '.' && is_alphanumeric(text.p[i - 1]) && i + 1 < text.n && is_alphanumeric(text.p[i + 1]) &&
			i + 1 < from + room;
		buf_addc(b, is_alphanumeric(c) ? lowered(c) : is_dot ? '.' : '-');
	}
}

static struct str subject_digest(const struct history_subject *subject, struct arena *a)
{
	char *digest = arena_text(a, DIGEST_SIZE);
	struct json *parts = json_array(a);

	json_append(a, parts, json_string(a, subject->group));
	json_append(a, parts, json_string(a, subject->kind));
	json_append(a, parts, json_string(a, subject->namespace));
	json_append(a, parts, json_string(a, subject->name));
	digest_of(digest, parts, a);
	return (struct str){digest, HISTORY_DIGEST_LENGTH};
}

struct str history_name(const struct history_subject *subject, struct arena *a)
{
	struct str digest = subject_digest(subject, a);
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, HISTORY_NAME_MAX);

	add_subdomain(&b, subject->kind, LABEL_VALUE_MAX);
	size_t kind_end = b.n;
	buf_addc(&b, '.');
	add_subdomain(&b, subject->name, HISTORY_NAME_MAX - b.n - 1 - digest.n);
	if (b.n == kind_end + 1) {
		buf_truncate(&b, kind_end); /* no part of a name is empty */
	}
	buf_addc(&b, '-');
	buf_add_str(&b, digest);
	return arena_dup(a, buf_str(&b));
}

bool history_name_fits_label(struct str name)
{
	return name.n <= LABEL_VALUE_MAX;
}
