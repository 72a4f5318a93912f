/* ControllerRevisions to the byte as kube-controller-manager writes them: it compares bytes before
 * anything else, so a set may be handed from one controller to the other, in the midst of an
 * update, and no pod is restarted.
 *
 * One thing is otherwise. Upstream reads the template as floating-point numbers on its way here.
 * An integer beyond 2^53 comes out as another one, and data cannot be applied any more. Here it
 * stays as it is. */
#include "controllers/history/history_private.h"

#include <stdio.h>

static const struct json text_replace = {.kind = JSON_STRING, .is_frozen = true, .n = sizeof("replace") - 1, .text = "replace"};

static void write_sorted(struct buf *out, const struct json *j, const struct history_member *extra);

static void write_object(struct buf *out, const struct json *j, const struct history_member *extra)
{
	_cleanup_(mem_freep) struct history_member *members = NULL;
	size_t n = history_members(&members, j, extra);
	buf_addc(out, '{');
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? "," : "");
		json_encode_string(out, members[i].name);
		buf_addc(out, ':');
		write_sorted(out, members[i].value, NULL);
	}
	buf_addc(out, '}');
}

static void write_array(struct buf *out, const struct json *j)
{
	buf_addc(out, '[');
	for (uint32_t i = 0; i < j->n; i++) {
		buf_adds(out, i ? "," : "");
		write_sorted(out, j->items[i], NULL);
	}
	buf_addc(out, ']');
}

static void write_sorted(struct buf *out, const struct json *j, const struct history_member *extra)
{
	if (extra || json_is(j, JSON_OBJECT)) {
		write_object(out, j, extra);
	} else if (json_is(j, JSON_ARRAY)) {
		write_array(out, j);
	} else if (json_is(j, JSON_STRING)) {
		json_encode_string(out, json_text(j)); /* not as it was spelled: others spell it anew, too */
	} else {
		json_encode(out, j);
	}
}

void history_data_write(const struct json *state, struct buf *out)
{
	buf_adds(out, "{\"spec\":{\"template\":");
	write_sorted(out, state, &(struct history_member){STR("$patch"), &text_replace});
	buf_adds(out, "}}");
}

const struct json *history_data_state(const struct json *data, struct arena *a)
{
	const struct json *template = json_gets(json_gets(data, "spec"), "template");
	if (!json_is(template, JSON_OBJECT)) {
		return NULL;
	}
	struct json *state = json_copy(a, template);
	json_remove(state, STR("$patch"));
	return state;
}

static uint32_t fnv1(uint32_t hash, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		hash = hash * 16777619u ^ (unsigned char)s.p[i];
	}
	return hash;
}

void history_hash(struct str data, int64_t collisions, char out[16])
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; /* so that no words arise */
	char count[24], digits[16];
	snprintf(count, sizeof(count), "%lld", (long long)collisions);
	snprintf(digits, sizeof(digits), "%lu", (unsigned long)fnv1(fnv1(2166136261u, data), str_of(count)));
	size_t i = 0;
	for (; digits[i]; i++) {
		out[i] = letters[(unsigned char)digits[i] % (sizeof(letters) - 1)];
	}
	out[i] = '\0';
}

struct str revision_name(struct str prefix, const char *hash, struct arena *a)
{
	enum { PREFIX_MAX = 223 };
	prefix.n = MIN(prefix.n, (size_t)PREFIX_MAX);
	/* No part of a name may end in a dot, or what follows begin with a dash: upstream cannot
	 * keep the history of such a set at all. */
	while (prefix.n && prefix.p[prefix.n - 1] == '.') {
		prefix.n--;
	}
	return arena_printf(a, STR_FMT "-%s", STR_ARG(prefix), hash);
}
