/* Migrations of stored objects (docs/explanation/storage-versions.md): how far each is, and how long it will take. The
 * rate is that since its beginning, which its status says: a look at one moment is enough. */
#include "api/model/members.h"
#include "base/clock.h"
#include "cli/common/command.h"
#include "cli/kubectl/kubectl_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	ROWS_MAX = 10000, /* kinds that are shown; further ones are left out */
	NAME_BYTES = 254, /* a DNS subdomain */
	TEXT_BYTES = 160,
	SCREEN_LINES = 24, /* where the terminal does not say */
	TABLE_BYTES = 4 << 20,
};

static const struct resource migrations = {
	{"annals.dev", sizeof("annals.dev") - 1}, {"v1", 2}, {"storagemigrations", sizeof("storagemigrations") - 1}};

struct row {
	char name[NAME_BYTES], resource[TEXT_BYTES], version[TEXT_BYTES], created[TIME_RFC3339_SIZE], why[TEXT_BYTES];
	const char *state;
	int64_t migrated, remaining, total;
	int64_t began_us, ended_us; /* 0: not yet */
};

struct printer {
	struct kubectl *k;
	struct row *rows; /* the oldest first */
	size_t n, cap;
	struct arena arena; /* of a table */
	struct buf text;
	bool is_listed, is_live; /* is_live: the table is drawn over the one before */
	size_t n_drawn;          /* lines of that */
};

/* ---- a migration ---- */

static const struct json *condition(const struct json *status, const char *type)
{
	const struct json *item;
	for (uint32_t i = 0; (item = list_item(json_gets(status, "conditions"), i)); i++) {
		if (str_is(member_text(item, "type"), type)) {
			return item;
		}
	}
	return NULL;
}

/* As the column of `kubectl get storagemigrations`. */
static const char *state_of(const struct json *status, struct str *ret_why)
{
	static const char *const states[] = {"Succeeded", "Failed", "Running"};
	const struct json *running = condition(status, "Running");
	*ret_why = member_text(running, "message");
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		const struct json *c = condition(status, states[i]);
		if (str_is(member_text(c, "status"), "True")) {
			*ret_why = str_is(str_of(states[i]), "Failed") ? member_text(c, "message") : STR("");
			return states[i];
		}
	}
	return running ? "Waiting" : "Pending";
}

static void set_text(char *ret, size_t size, struct str text)
{
	snprintf(ret, size, STR_FMT, (int)MIN(text.n, size - 1), text.n ? text.p : "");
}

static int64_t time_of(const struct json *status, const char *name)
{
	int64_t us;
	return time_parse_rfc3339(member_text(status, name), &us) ? us : 0;
}

static void read_row(struct row *r, const struct json *object)
{
	const struct json *meta = json_gets(object, "metadata"), *status = json_gets(object, "status"),
			  *counts = json_gets(status, "objects"), *what = json_gets(json_gets(object, "spec"), "resource");
	struct str why, group = member_text(what, "group"), resource = member_text(what, "resource");
	*r = (struct row){.state = state_of(status, &why)};
	set_text(r->name, sizeof(r->name), member_text(meta, "name"));
	set_text(r->created, sizeof(r->created), member_text(meta, "creationTimestamp"));
	set_text(r->version, sizeof(r->version), member_text(status, "storageVersion"));
	set_text(r->why, sizeof(r->why), why);
	snprintf(r->resource, sizeof(r->resource), STR_FMT "%s" STR_FMT, (int)MIN(resource.n, (size_t)TEXT_BYTES / 2),
		resource.n ? resource.p : "", group.n ? "." : "", STR_ARG(group));
	r->migrated = member_int(counts, "migrated");
	r->remaining = member_int(counts, "remaining");
	r->total = member_int(counts, "total");
	r->began_us = time_of(status, "startTime");
	r->ended_us = time_of(status, "completionTime");
}

/* ---- the table ---- */

static struct str number(struct arena *a, int64_t n)
{
	return arena_printf(a, "%" PRId64, n);
}

/* The share of the migration's objects that are stored in the right version. */
static struct str share(struct arena *a, const struct row *r)
{
	int64_t done = r->total - r->remaining;
	return r->total > 0 && done >= 0 ? arena_printf(a, "%" PRId64 "%%", done * 100 / r->total) : STR("-");
}

static int64_t rate_of(const struct row *r)
{
	int64_t until_us = r->ended_us ? r->ended_us : clock_wall_s() * 1000000;
	int64_t took_s = r->began_us ? (until_us - r->began_us) / 1000000 : 0;
	return r->migrated > 0 && took_s > 0 ? MAX(r->migrated / took_s, (int64_t)1) : 0;
}

static struct str time_left(struct arena *a, const struct row *r)
{
	char text[32];
	int64_t rate = rate_of(r);
	if (strcmp(r->state, "Running") != 0 || rate == 0) {
		return STR("-");
	}
	duration_format_human(text, (r->remaining + rate - 1) / rate);
	return arena_dup(a, str_of(text));
}

static void write_table(struct printer *p, size_t from)
{
	static const char *const titles[] = {"NAME", "RESOURCE", "STATUS", "MIGRATED", "REMAINING", "DONE", "RATE", "LEFT"};
	struct arena *a = &p->arena;
	struct text_table t = {.n_columns = ARRAY_SIZE(titles)};
	arena_clear(a);
	buf_clear(&p->text);
	struct str *cells = text_table_row(&t);
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
		cells[i] = str_of(titles[i]);
	}
	for (size_t i = from; i < p->n; i++) {
		const struct row *r = &p->rows[i];
		int64_t rate = rate_of(r);
		cells = text_table_row(&t);
		cells[0] = str_of(r->name);
		cells[1] = r->version[0] ? arena_printf(a, "%s to %s", r->resource, r->version) : str_of(r->resource);
		cells[2] = str_of(r->state);
		cells[3] = number(a, r->migrated);
		cells[4] = number(a, r->remaining);
		cells[5] = share(a, r);
		cells[6] = rate ? arena_printf(a, "%" PRId64 "/s", rate) : STR("-");
		cells[7] = time_left(a, r);
	}
	text_table_write(&t, a, &p->text);
	text_table_done(&t);
	for (size_t i = from; i < p->n; i++) {
		if (p->rows[i].why[0]) {
			buf_printf(&p->text, "%s: %s\n", p->rows[i].name, p->rows[i].why);
		}
	}
}

/* ---- following ---- */

static size_t screen_lines(void)
{
	struct winsize size;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 4 ? size.ws_row : (size_t)SCREEN_LINES;
}

static size_t count_lines(struct str text)
{
	size_t n = 0;
	for (size_t i = 0; i < text.n; i++) {
		n += text.p[i] == '\n';
	}
	return n;
}

/* Draws over the previous table. A row may have a line about why it waits. If the screen is too
 * small, the oldest rows are left out. */
static void draw(struct printer *p)
{
	size_t fitting = (screen_lines() - 2) / 2;
	write_table(p, p->n > fitting ? p->n - fitting : 0);
	if (p->n_drawn) {
		printf("\r\033[%zuA\033[J", p->n_drawn);
	}
	command_print(stdout, buf_str(&p->text));
	fflush(stdout);
	p->n_drawn = count_lines(buf_str(&p->text));
}

/* Where there is no terminal: a line for each change. */
static void tell(const struct row *r)
{
	_cleanup_(mem_freep) char *line = mem_printf("%s %s %s migrated=%" PRId64 " remaining=%" PRId64 "%s%s\n", r->name,
		r->resource, r->state, r->migrated, r->remaining, r->why[0] ? " " : "", r->why);
	command_print(stdout, str_of(line));
	fflush(stdout);
}

static int row_cmp(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int by_age = strcmp(x->created, y->created);
	return by_age ? by_age : strcmp(x->name, y->name);
}

static struct row *find_row(struct printer *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->rows[i].name, name) == 0) {
			return &p->rows[i];
		}
	}
	return NULL;
}

static struct row *add_row(struct printer *p)
{
	if (p->n == ROWS_MAX) {
		return NULL;
	}
	if (p->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 16;
		p->rows = mem_realloc_array(p->rows, p->cap, sizeof(*p->rows));
	}
	return &p->rows[p->n++];
}

static bool take(void *ctx, const struct json *object)
{
	struct printer *p = ctx;
	struct row now;
	read_row(&now, object);
	struct row *r = find_row(p, now.name);
	r = r ? r : add_row(p);
	if (!r) {
		return true;
	}
	*r = now;
	if (p->is_listed) {
		if (p->is_live) {
			draw(p);
		} else {
			tell(&now);
		}
	}
	return !ferror(stdout);
}

static void forget(void *ctx, const struct json *object)
{
	struct printer *p = ctx;
	struct row gone;
	read_row(&gone, object);
	struct row *r = find_row(p, gone.name);
	if (r) {
		size_t at = (size_t)(r - p->rows);
		memmove(r, r + 1, (p->n - at - 1) * sizeof(*r));
		p->n--;
	}
	if (p->is_live) {
		draw(p);
	}
}

static void on_listing(void *ctx)
{
	struct printer *p = ctx;
	p->is_listed = false;
	p->n = 0;
}

static bool on_listed(void *ctx)
{
	struct printer *p = ctx;
	p->is_listed = true;
	if (p->n) {
		qsort(p->rows, p->n, sizeof(*p->rows), row_cmp);
	}
	if (p->is_live) {
		draw(p);
	} else {
		for (size_t i = 0; i < p->n; i++) {
			tell(&p->rows[i]);
		}
	}
	return !ferror(stdout);
}

/* ---- the command ---- */

static int look(struct printer *p)
{
	struct kubectl *k = p->k;
	struct str version;
	const struct kubectl_watch w = {.target = {&migrations, STR(""), STR(""), NULL},
		.on_object = take,
		.on_gone = forget,
		.on_listing = on_listing,
		.on_listed = on_listed,
		.ctx = p};
	if (k->is_following) {
		p->is_live = isatty(STDOUT_FILENO);
		return kubectl_follow(k, &w);
	}
	if (kubectl_list(k, &w, &version)) {
		return -1;
	}
	if (p->n == 0) {
		kubectl_note(k, "No migrations found.");
		return 0;
	}
	qsort(p->rows, p->n, sizeof(*p->rows), row_cmp);
	write_table(p, 0);
	buf_add_str(&k->out, buf_str(&p->text));
	return 0;
}

static int run(struct kubectl *k)
{
	struct printer p = {.k = k};
	arena_init(&p.arena, TABLE_BYTES);
	buf_init(&p.text, TABLE_BYTES);
	int r = look(&p);
	buf_done(&p.text);
	arena_done(&p.arena);
	mem_free(p.rows);
	return r;
}

const struct kubectl_command kubectl_migrations = {
	.name = "migrations",
	.usage = "[-w] [flags]",
	.summary = "Shows how far migrations of stored objects are",
	.description = "Shows the StorageMigrations: how many objects each has rewritten, how many remain, how many a second,\n"
		       "and how long the rest will take. -w goes on: on a terminal the table is drawn anew when something\n"
		       "changes, elsewhere each change is a line.",
	.examples = "  # until interrupted\n"
		    "  kubectl annals migrations -w\n",
	.flags = "watch,w",
	.outputs = "text",
	.words = WORDS_NONE,
	.run = run,
};
