/* `kubectl get -o json` prints one List, however many objects there are, so its items are taken
 * out while it is read. Its "kind" may stand behind them: whatever has an array "items" at its top
 * level is taken for a List, since no object of ours has one. */
#include "cli/export/documents.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 256 << 10, END = -1, FAILED = -2, NAME_MAX_BYTES = 127 };

void documents_init(struct documents *d, int fd, size_t max_bytes)
{
	*d = (struct documents){.fd = fd, .line = 1, .chunk = mem_alloc(CHUNK)};
	buf_init(&d->text, max_bytes);
}

void documents_done(struct documents *d)
{
	buf_done(&d->text);
	d->chunk = mem_free(d->chunk);
}

/* ---- bytes ---- */

static int documents_fill(struct documents *d)
{
	ssize_t n;
	do {
		n = read(d->fd, d->chunk, CHUNK);
	} while (n < 0 && errno == EINTR);
	d->at = 0;
	d->n = n > 0 ? (size_t)n : 0;
	return n > 0 ? 0 : n < 0 ? FAILED : END;
}

static int documents_peek(struct documents *d)
{
	int r = d->at < d->n ? 0 : documents_fill(d);
	return r ? r : (unsigned char)d->chunk[d->at];
}

static int documents_take(struct documents *d)
{
	int c = documents_peek(d);
	if (c >= 0) {
		assert(d->at < d->n);
		d->at++;
		d->offset++;
		d->line += c == '\n';
	}
	return c;
}

/* Skips blanks and returns the next byte. */
static int peek_token(struct documents *d)
{
	int c = documents_peek(d);
	while (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
		documents_take(d);
		c = documents_peek(d);
	}
	return c;
}

/* ---- errors ---- */

static int documents_fail(struct documents *d, int c, const char *wanted, struct buf *err)
{
	if (c == FAILED) {
		buf_printf(err, "cannot read the file: %s", strerror(errno));
		return -EIO;
	}
	buf_printf(err, "line %llu: ", (unsigned long long)d->line);
	if (c == END) {
		buf_printf(err, "the file ends here, before %s: it has been cut", wanted);
	} else if (c > ' ' && c < 0x7f) {
		buf_printf(err, "there is '%c' where %s should be", c, wanted);
	} else {
		buf_printf(err, "there is the byte 0x%02x where %s should be", (unsigned)c, wanted);
	}
	return -EBADMSG;
}

static int fail_size(struct documents *d, uint64_t line, struct buf *err)
{
	buf_printf(err, "line %llu: what begins here is longer than %zu bytes: no object is", (unsigned long long)line,
		d->text.ceiling);
	return -EFBIG;
}

/* ---- values ---- */

/* The buffer for a value's text; NULL: the text is skipped. */
static bool keep(struct buf *to, int c)
{
	return !to || buf_addc(to, (char)c);
}

/* Reads a string from its first quote to its last. Copies up to n bytes of its content to `ret`,
 * with escapes unchanged. */
static int take_string(struct documents *d, struct buf *to, char *ret, size_t n)
{
	size_t length = 0;
	int c = documents_take(d);
	bool fits = keep(to, c);
	for (c = documents_take(d); c >= 0 && c != '"' && fits; c = documents_take(d)) {
		fits = keep(to, c);
		if (c == '\\') {
			c = documents_take(d);
			fits = fits && c >= 0 && keep(to, c);
		}
		if (ret && length + 1 < n && c >= 0) {
			ret[length++] = (char)c;
		}
	}
	if (ret) {
		ret[length] = '\0';
	}
	return c < 0 ? c : fits && keep(to, c) ? 0 : -EFBIG;
}

/* Any value, whose first byte has been seen: brackets are counted, not matched. 0, END, FAILED or -EFBIG. */
static int take_value(struct documents *d, struct buf *to)
{
	size_t depth = 0;
	do {
		int c = documents_peek(d), r = 0;
		if (c == '"') {
			r = take_string(d, to, NULL, 0);
		} else if (c < 0) {
			r = c;
		} else {
			depth += c == '{' || c == '[';
			if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
				return 0; /* the byte behind a number or a word is not part of it */
			}
			assert(depth > 0 || (c != '}' && c != ']'));
			depth -= (c == '}' || c == ']');
			r = keep(to, documents_take(d)) ? 0 : -EFBIG;
			if (depth == 0 && (c == '}' || c == ']')) {
				return r;
			}
		}
		if (r) {
			return r;
		}
		if (depth == 0 && c == '"') {
			return 0;
		}
	} while (true);
}

/* ---- a List ---- */

static int take_item(struct documents *d, struct document *ret, struct buf *err)
{
	ret->offset = d->offset;
	ret->line = d->line;
	buf_clear(&d->text);
	int r = take_value(d, &d->text);
	if (r == -EFBIG) {
		return fail_size(d, ret->line, err);
	}
	if (r) {
		return documents_fail(d, r, "the end of an object", err);
	}
	ret->text = buf_str(&d->text);
	ret->length = ret->text.n;
	ret->is_item = d->is_in_list;
	ret->list_kind = d->is_in_list ? str_of(d->list_kind) : STR("");
	ret->list_version = d->is_in_list ? str_of(d->list_version) : STR("");
	return 1;
}

/* Skips the members behind the items: none of them is needed. */
static int end_list(struct documents *d, struct buf *err)
{
	int c;
	documents_take(d); /* ] */
	d->is_in_list = false;
	while ((c = peek_token(d)) >= 0 && c != '}') {
		int r = strchr(",:]", c) ? (documents_take(d), 0) : take_value(d, NULL);
		if (r) {
			return documents_fail(d, r, "the end of the List", err);
		}
	}
	if (c < 0) {
		return documents_fail(d, c, "the end of the List", err);
	}
	documents_take(d);
	return 0;
}

/* Returns 1 with an item, or 0 if there are no more. */
static int next_item(struct documents *d, struct document *ret, struct buf *err)
{
	int c = peek_token(d);
	if (!d->is_first_item && c == ',') {
		documents_take(d);
		c = peek_token(d);
	} else if (!d->is_first_item && c != ']') {
		return documents_fail(d, c, "a comma or the end of the List's items", err);
	}
	d->is_first_item = false;
	if (c == ']') {
		return end_list(d, err);
	}
	return c == '{' ? take_item(d, ret, err) : documents_fail(d, c, "an object", err);
}

/* ---- an object ---- */

/* Reads a member of the outermost object, whose name has been read. Returns 1 behind the '[' of
 * a List's items. */
static int take_member(struct documents *d, const char *name)
{
	int c = peek_token(d);
	if (c == '[' && strcmp(name, "items") == 0) {
		documents_take(d);
		return 1;
	}
	if (c == '"' && strcmp(name, "kind") == 0) {
		return take_string(d, &d->text, d->list_kind, sizeof(d->list_kind));
	}
	if (c == '"' && strcmp(name, "apiVersion") == 0) {
		return take_string(d, &d->text, d->list_version, sizeof(d->list_version));
	}
	return c < 0 ? c : take_value(d, &d->text);
}

/* Reads members up to the end of the object (0) or to its items (1). */
static int take_members(struct documents *d)
{
	char name[NAME_MAX_BYTES + 1];
	int c, r = 0;
	while (!r && (c = peek_token(d)) != '}') {
		if (c == '"') {
			r = take_string(d, &d->text, name, sizeof(name));
			c = r ? r : peek_token(d);
			if (!r && c == ':') {
				r = keep(&d->text, documents_take(d)) ? take_member(d, name) : -EFBIG;
			}
		} else {
			r = c < 0 ? c : keep(&d->text, documents_take(d)) ? 0 : -EFBIG;
		}
	}
	return r ? r : keep(&d->text, documents_take(d)) ? 0 : -EFBIG;
}

static int next_object(struct documents *d, struct document *ret, struct buf *err)
{
	*ret = (struct document){.offset = d->offset, .line = d->line};
	d->list_kind[0] = d->list_version[0] = '\0';
	buf_clear(&d->text);
	buf_addc(&d->text, (char)documents_take(d));
	int r = take_members(d);
	if (r == -EFBIG) {
		return fail_size(d, ret->line, err);
	}
	if (r < 0) {
		return documents_fail(d, r, "the end of an object", err);
	}
	d->is_in_list = d->is_first_item = r == 1;
	ret->text = buf_str(&d->text);
	ret->length = d->offset - ret->offset;
	if (ret->length > d->text.ceiling && !d->is_in_list) {
		return fail_size(d, ret->line, err); /* too many blanks */
	}
	return 1;
}

int documents_next(struct documents *d, struct document *ret, struct buf *err)
{
	*ret = (struct document){0};
	while (true) {
		int r = d->is_in_list ? next_item(d, ret, err) : 0;
		if (r) {
			return r;
		}
		if (d->is_in_list) {
			continue;
		}
		int c = peek_token(d);
		if (c == END) {
			return 0;
		}
		r = c == '{' ? next_object(d, ret, err) : documents_fail(d, c, "an object", err);
		if (r < 0 || !d->is_in_list) {
			return r;
		}
	}
}
