/* Completes command lines of the plugin. kubectl runs kubectl_complete-annals with the words behind "kubectl annals", of
 * which the last is unfinished. */
#include "api/model/members.h"
#include "cli/common/command.h"
#include "cli/kubectl/complete_plan.h"
#include "cli/kubectl/kubectl.h"

/* Names that a shell can show; further ones are not offered. */
enum { NAMES_MAX = 1000, OFFERS_MAX = 256 * 1024 };

struct completing {
	struct kubectl k;
	const struct kubectl_command *command;
	struct option flags[KUBECTL_FLAGS_MAX]; /* the command's */
	struct complete_plan plan;
	struct offers offers;
};

static void offer(struct completing *c, struct str text, struct str meaning)
{
	offers_add(&c->offers, c->plan.prefix, text, meaning);
}

static int offer_commands(struct completing *c)
{
	for (size_t i = 0; kubectl_commands[i]; i++) {
		offer(c, str_of(kubectl_commands[i]->name), str_of(kubectl_commands[i]->summary));
	}
	return 0;
}

static int offer_flags(struct completing *c)
{
	offers_add_flags(&c->offers, c->plan.prefix, c->flags);
	return 0;
}

/* ---- types ---- */

/* Does the plural without a group name this type? */
static bool is_first(const struct discovery *d, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		const struct api_resource *r = &d->resources[i];
		if ((r->verbs & API_GET) && r->is_preferred && str_eq(r->resource.plural, d->resources[at].resource.plural)) {
			return false;
		}
	}
	return true;
}

static bool is_taken(const struct api_resource *r)
{
	return (r->verbs & API_GET) && r->is_preferred;
}

/* "TYPE,TYPE," of a word that names several types; or nothing. */
static struct str types_before(struct str word)
{
	while (word.n > 0 && word.p[word.n - 1] != ',') {
		word.n--;
	}
	return word;
}

/* A single type gets a slash, so that its names can follow at once; but behind a comma only words can follow. */
static int offer_types(struct completing *c)
{
	const struct discovery *d = &c->k.discovery;
	struct str only = {NULL, 0}, before = types_before(c->plan.prefix);
	size_t n = 0;
	if (before.n && c->command->words != WORDS_OBJECTS) {
		return 0;
	}
	if (kubectl_connect(&c->k)) {
		return -1;
	}
	for (size_t i = 0; i < d->n; i++) {
		const struct resource *r = &d->resources[i].resource;
		struct str name = arena_printf(&c->k.arena, STR_FMT STR_FMT "%s" STR_FMT, STR_ARG(before), STR_ARG(r->plural),
			is_first(d, i) ? "" : ".", is_first(d, i) ? 0 : (int)r->group.n, r->group.p);
		if (is_taken(&d->resources[i])) {
			offer(c, name, STR(""));
			only = str_starts(name, c->plan.prefix) && n++ == 0 ? name : only;
		}
	}
	if (n == 1 && !before.n) {
		buf_clear(&c->offers.out);
		offer(c, arena_printf(&c->k.arena, STR_FMT "/", STR_ARG(only)), STR(""));
		c->offers.directive |= DIRECTIVE_NO_SPACE;
	}
	return 0;
}

/* ---- names ---- */

struct names {
	struct completing *c;
	struct str v[NAMES_MAX];
	size_t n;
	bool is_of_history;
};

static bool note_name(void *ctx, const struct json *object)
{
	struct names *names = ctx;
	const struct json *subject = json_gets(json_gets(object, "spec"), "subject");
	struct str name = member_text(names->is_of_history ? subject : json_gets(object, "metadata"), "name");
	if (names->n < NAMES_MAX && str_starts(name, names->c->plan.prefix)) {
		names->v[names->n++] = arena_dup(&names->c->k.arena, name);
	}
	return names->n < NAMES_MAX;
}

static void add_existing(struct names *names, const struct resource *resource, struct str namespace)
{
	struct answer answer;
	const struct target all = {resource, namespace, STR(""), NULL};
	answer_init(&answer);
	rest_each(names->c->k.client, &all, true, note_name, names, &answer);
	answer_done(&answer);
}

/* Reads one page of deleted objects, which is enough to choose from. */
static void add_deleted(struct names *names)
{
	struct kubectl *k = &names->c->k;
	const struct target all = {&histories, k->type->is_namespaced ? str_of(k->ns) : STR(""), STR(""), NULL};
	struct list_options options = {.limit = LIST_PAGE};
	struct answer answer;
	if (!discovery_find_resource(&k->discovery, &histories)) {
		return;
	}
	answer_init(&answer);
	k->target.name = STR(""); /* all of that type */
	options.field_selector = arena_printf(&k->arena, STR_FMT ",status.deleted=true", STR_ARG(histories_selector(k)));
	names->is_of_history = true;
	if (rest_list(k->client, &all, &options, &answer) == 0) {
		const struct json *item;
		for (uint32_t i = 0; (item = list_item(json_gets(answer.body, "items"), i)); i++) {
			note_name(names, item);
		}
	}
	answer_done(&answer);
}

static void offer_sorted(struct names *names)
{
	struct completing *c = names->c;
	struct str type = c->plan.type;
	str_sort(names->v, names->n);
	for (size_t i = 0; i < names->n; i++) {
		bool is_double = i > 0 && str_eq(names->v[i - 1], names->v[i]);
		if (!is_double) {
			buf_printf(&c->offers.out, STR_FMT "%s" STR_FMT "\n", c->plan.is_joined ? (int)type.n : 0, type.p,
				c->plan.is_joined ? "/" : "", STR_ARG(names->v[i]));
		}
	}
}

static bool looks_at_deleted(const struct kubectl_command *c)
{
	return c != &kubectl_undo && c != &kubectl_who_uses;
}

static int add_names_of(struct names *names, struct str type)
{
	struct kubectl *k = &names->c->k;
	if (kubectl_find(k, arena_printf(&k->arena, STR_FMT "/x", STR_ARG(type)), WORDS_OBJECT)) {
		return -1;
	}
	names->is_of_history = false;
	if (names->c->command != &kubectl_restore) {
		add_existing(names, k->target.resource, k->target.namespace);
	}
	if (looks_at_deleted(names->c->command)) {
		add_deleted(names);
	}
	return 0;
}

/* Behind TYPE,TYPE: the names of all these types. */
static int offer_names(struct completing *c)
{
	struct str rest = c->plan.type, type;
	if (kubectl_connect(&c->k)) {
		return -1;
	}
	struct names *names = mem_new(struct names);
	int r = 0;
	names->c = c;
	while (rest.n > 0 && !r) {
		str_cut(rest, ',', &type, &rest);
		r = add_names_of(names, type);
	}
	if (!r) {
		offer_sorted(names);
	}
	mem_free(names);
	return r;
}

/* ---- values of flags ---- */

static int offer_namespaces(struct completing *c)
{
	static const struct resource namespaces = {{"", 0}, {"v1", 2}, {"namespaces", 10}};
	if (kubectl_connect(&c->k)) {
		return -1;
	}
	struct names *names = mem_new(struct names);
	names->c = c;
	add_existing(names, &namespaces, STR(""));
	c->plan.is_joined = false;
	offer_sorted(names);
	mem_free(names);
	return 0;
}

static int offer_revisions(struct completing *c)
{
	struct kubectl *k = &c->k;
	struct str name = arena_printf(&k->arena, STR_FMT "/" STR_FMT, STR_ARG(c->plan.type), STR_ARG(c->plan.name));
	struct revisions all;
	if (kubectl_connect(k) || kubectl_find(k, name, WORDS_OBJECT)) {
		return -1;
	}
	int r = revisions_list(k, &all);
	for (size_t i = 0; !r && i < all.n; i++) {
		offer(c, arena_printf(&k->arena, "%lld", (long long)all.v[i].number), all.v[i].name);
	}
	revisions_done(&all);
	return r;
}

static const struct {
	const char *flag;
	int (*offer)(struct completing *c);
} values[] = {
	{"namespace", offer_namespaces},
	{"n", offer_namespaces},
	{"revision", offer_revisions},
	{"to", offer_revisions},
	{"to-revision", offer_revisions},
};

static int offer_values(struct completing *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (strcmp(values[i].flag, c->plan.flag->name) == 0) {
			return values[i].offer(c);
		}
	}
	offers_add_values(&c->offers, c->plan.prefix, c->plan.flag);
	return 0;
}

/* ---- the command line ---- */

static int offer_nothing(struct completing *c _unused_)
{
	return 0;
}

static int (*const offers[])(struct completing *c) = {
	[COMPLETE_NOTHING] = offer_nothing,
	[COMPLETE_COMMANDS] = offer_commands,
	[COMPLETE_FLAGS] = offer_flags,
	[COMPLETE_VALUES] = offer_values,
	[COMPLETE_TYPES] = offer_types,
	[COMPLETE_NAMES] = offer_names,
};

/* Flags before the last word may name the server and the namespace. Wrong flags are ignored: the command will refuse them. */
static void read_flags(struct completing *c, int n, char **words)
{
	int n_words;
	_cleanup_(mem_freep) char **copy = mem_array((size_t)n + 1, sizeof(*copy));
	for (int i = 0; i < n; i++) {
		copy[i] = strcmp(words[i], "--help") == 0 ? words[0] : words[i]; /* --help would be printed */
	}
	options_parse(c->flags, n, copy, &n_words, &c->k.err);
	buf_clear(&c->k.err);
}

static void plan(struct completing *c, int n, char **words)
{
	c->command = kubectl_find_command(str_of(words[0]));
	if (n > 1 && !c->command) {
		return;
	}
	kubectl_flags(&c->k, c->command, c->flags);
	complete_plan_make(&c->plan, c->flags, words, (size_t)n);
	if (c->command && c->command->words == WORDS_NONE &&
		(c->plan.what == COMPLETE_TYPES || c->plan.what == COMPLETE_NAMES)) {
		c->plan.what = COMPLETE_NOTHING;
	}
	read_flags(c, n - 1, words);
}

static int run(const struct command *command _unused_, int argc, char **argv)
{
	struct completing c = {0};
	kubectl_init(&c.k);
	offers_init(&c.offers);
	if (argc > 1) {
		plan(&c, argc - 1, argv + 1);
	}
	if (offers[c.plan.what](&c)) {
		buf_clear(&c.offers.out);
		c.offers.directive = DIRECTIVE_ERROR;
	}
	offers_print(&c.offers);
	kubectl_done(&c.k);
	return EXIT_OK;
}

const struct command command_kubectl_complete = {
	.name = "kubectl_complete",
	.usage = "WORD...",
	.summary = "how a command line of the kubectl plugin may go on",
	.description = "",
	.run = run,
};

/* ---- the plan: the kind of thing to complete ----
 *
 * It reads words as options_parse() does, except the last one, which is unfinished. */

/* A flag's name, with its value behind "="; empty if it is no flag. */
static struct str flag_of(const char *word)
{
	if (word[0] != '-' || !word[1]) {
		return STR("");
	}
	return str_of(word + (word[1] == '-' ? 2 : 1));
}

/* TYPE/NAME, or TYPE and NAME. */
static void note_word(struct complete_plan *p, struct str word, size_t at)
{
	if (at == 0) {
		p->is_joined = str_cut(word, '/', &p->type, &p->name);
	} else if (at == 1 && !p->is_joined) {
		p->name = word;
	}
}

/* Reads the words between the command and the last one. Returns how many are no flags. *ret_open is the flag whose value
 * is the last word, or NULL. */
static size_t read_words(
	struct complete_plan *p, const struct option *flags, char *const *words, size_t n, const struct option **ret_open)
{
	size_t n_words = 0;
	*ret_open = NULL;
	for (size_t i = 1; i + 1 < n; i++) {
		struct str name, value, flag = flag_of(words[i]);
		if (!flag.n) {
			note_word(p, str_of(words[i]), n_words++);
			continue;
		}
		bool has_value = str_cut(flag, '=', &name, &value);
		const struct option *o = options_find(flags, name);
		if (o && !has_value && o->type != OPTION_BOOL) {
			i++; /* its value */
			*ret_open = i + 1 == n ? o : NULL;
		}
	}
	return n_words;
}

static void plan_flag(struct complete_plan *p, const struct option *flags, struct str word)
{
	struct str name, value;
	p->what = COMPLETE_FLAGS;
	p->prefix = word;
	if (str_cut(word, '=', &name, &value)) {
		struct str flag = flag_of(word.p), rest;
		str_cut(flag, '=', &name, &rest);
		p->flag = options_find(flags, name);
		p->what = p->flag ? COMPLETE_VALUES : COMPLETE_NOTHING;
		p->prefix = value;
	}
}

static void plan_object(struct complete_plan *p, size_t n_words, struct str word)
{
	struct str type, name;
	if (n_words == 0 && str_cut(word, '/', &type, &name)) {
		*p = (struct complete_plan){.what = COMPLETE_NAMES, .type = type, .prefix = name, .is_joined = true};
	} else if (n_words == 0) {
		*p = (struct complete_plan){.what = COMPLETE_TYPES, .prefix = word};
	} else if (n_words == 1 && !p->is_joined) {
		p->what = COMPLETE_NAMES;
		p->prefix = word;
	}
}

void complete_plan_make(struct complete_plan *ret, const struct option *flags, char *const *words, size_t n)
{
	struct str word = str_of(words[n - 1]);
	const struct option *open;
	*ret = (struct complete_plan){0};
	if (n == 1) {
		ret->what = COMPLETE_COMMANDS;
		ret->prefix = word;
		return;
	}
	size_t n_words = read_words(ret, flags, words, n, &open);
	if (open) {
		ret->what = COMPLETE_VALUES;
		ret->flag = open;
		ret->prefix = word;
	} else if (word.n && word.p[0] == '-') {
		plan_flag(ret, flags, word);
	} else {
		plan_object(ret, n_words, word);
	}
}

/* ---- offers ---- */

void offers_init(struct offers *o)
{
	o->directive = DIRECTIVE_NO_FILES;
	buf_init(&o->out, OFFERS_MAX);
}

void offers_add(struct offers *o, struct str prefix, struct str text, struct str meaning)
{
	if (str_starts(text, prefix)) {
		buf_printf(&o->out, STR_FMT "%s" STR_FMT "\n", STR_ARG(text), meaning.n ? "\t" : "", STR_ARG(meaning));
	}
}

/* A shell's menu has one line for each flag. */
static void add_flag(struct offers *o, struct str prefix, const char *dashes, const char *name, const char *help)
{
	_cleanup_(mem_freep) char *whole = mem_printf("%s%s", dashes, name);
	const char *stop = strstr(help, ". ");
	offers_add(o, prefix, str_of(whole), stop ? (struct str){help, (size_t)(stop - help) + 1} : str_of(help));
}

void offers_add_flags(struct offers *o, struct str prefix, const struct option *table)
{
	struct option_entry e = {0};
	while (options_next(table, &e)) {
		add_flag(o, prefix, "--", e.option->name, e.option->help);
		if (e.short_name) {
			add_flag(o, prefix, "-", e.short_name, e.option->help);
		}
	}
	add_flag(o, prefix, "--", "help", "Explain the command.");
}

void offers_add_values(struct offers *o, struct str prefix, const struct option *flag)
{
	struct str name, rest = str_of(flag->type == OPTION_BOOL ? "true|false" : flag->value_name);
	if (str_is(rest, "FILE") || str_is(rest, "PATH")) {
		o->directive = DIRECTIVE_FILES;
	} else if (str_is(rest, "DIR")) {
		o->directive = DIRECTIVE_DIRECTORIES;
	} else if (str_contains(rest, STR("|"))) {
		while (rest.n > 0) {
			str_cut(rest, '|', &name, &rest);
			offers_add(o, prefix, name, STR(""));
		}
	}
}

void offers_print(struct offers *o)
{
	command_print(stdout, buf_str(&o->out));
	printf(":%d\n", o->directive);
	buf_done(&o->out);
}
