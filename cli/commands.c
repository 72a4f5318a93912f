/* The list of all commands, which the overview, help, completion and manuals follow; and their tables as JSON, from which
 * manuals and the reference are made. Each command makes its table of flags when it parses, and is asked for it there, so
 * no second list of tables can be forgotten. */
#include "cli/commands.h"

#include "base/json.h"
#include "cli/kubectl/kubectl.h"

const struct command *const commands[] = {&command_up, &command_serve, &command_controllers, &command_certs, &command_doctor,
	&command_fsck, &command_export, &command_import, &command_kubectl, &command_completion, &command_version, NULL};

const struct command *commands_find(struct str name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (str_is(name, commands[i]->name)) {
			return commands[i];
		}
	}
	return NULL;
}

/* ---- as JSON ---- */

/* Lines "NUMBER\ttext\n" as objects. */
static struct json *rows_json(struct arena *a, const char *rows, const char *first, const char *second)
{
	struct json *list = json_array(a);
	struct str line, rest = str_of(rows);
	while (rest.n > 0) {
		struct str head, tail;
		struct json *row = json_object(a);
		str_cut(rest, '\n', &line, &rest);
		str_cut(line, '\t', &head, &tail);
		json_add(a, row, str_of(first), json_string(a, head));
		json_add(a, row, str_of(second), json_string(a, tail));
		json_append(a, list, row);
	}
	return list;
}

static void add_text(struct arena *a, struct json *object, const char *name, const char *text)
{
	json_add_text(a, object, str_of(name), arena_dup(a, str_of(text))); /* a copy: some texts are freed with their table */
}

static struct json *flag_json(struct arena *a, const struct option_entry *e)
{
	static const char *const types[] = {
		[OPTION_STRING] = "string",
		[OPTION_STRINGS] = "strings",
		[OPTION_BOOL] = "bool",
		[OPTION_INT] = "int",
		[OPTION_DURATION] = "duration",
	};
	_cleanup_(buf_done) struct buf value;
	struct json *flag = json_object(a);
	buf_init(&value, 4096);
	option_add_default(e->option, &value);
	add_text(a, flag, "name", e->option->name);
	add_text(a, flag, "short", e->short_name);
	add_text(a, flag, "type", types[e->option->type]);
	add_text(a, flag, "value", e->option->value_name);
	add_text(a, flag, "help", e->option->help);
	json_add_text(a, flag, STR("default"), arena_dup(a, buf_str(&value)));
	return flag;
}

static struct json *groups_json(struct arena *a, const struct option *options)
{
	struct json *groups = json_array(a), *flags = NULL;
	struct option_entry e = {0};
	const char *title = NULL;
	while (options_next(options, &e)) {
		if (!flags || e.group != title) {
			struct json *group = json_object(a);
			flags = json_array(a);
			title = e.group;
			add_text(a, group, "title", title);
			json_add(a, group, STR("flags"), flags);
			json_append(a, groups, group);
		}
		json_append(a, flags, flag_json(a, &e));
	}
	return groups;
}

struct describing {
	struct arena arena;
	struct json *list;
};

static void add(struct describing *d, const char *program, const struct command *c, const struct option *options)
{
	struct arena *a = &d->arena;
	struct json *j = json_object(a);
	add_text(a, j, "program", program);
	add_text(a, j, "name", c->name);
	json_add(a, j, STR("section"), json_int(a, c->section ? c->section : 1));
	add_text(a, j, "usage", c->usage);
	add_text(a, j, "summary", c->summary);
	add_text(a, j, "description", c->description);
	add_text(a, j, "examples", c->examples);
	json_add(a, j, STR("groups"), groups_json(a, options));
	json_add(a, j, STR("files"), rows_json(a, c->files, "path", "text"));
	json_add(a, j, STR("exitStatus"), rows_json(a, c->exit_status ? c->exit_status : EXIT_STATUS_HELP, "status", "text"));
	json_append(a, d->list, j);
}

static void add_command(void *ctx, const struct command *c, const struct option *options)
{
	add(ctx, "annals", c, options);
}

static void add_plugin_command(struct describing *d, const struct kubectl_command *c)
{
	struct kubectl k;
	struct option options[KUBECTL_FLAGS_MAX];
	const struct command command = {.name = c->name,
		.usage = c->usage,
		.summary = c->summary,
		.description = c->description,
		.examples = c->examples};
	kubectl_init(&k);
	kubectl_flags(&k, c, options);
	add(d, "kubectl annals", &command, options);
	kubectl_done(&k);
}

void commands_describe(struct buf *out)
{
	struct describing d;
	arena_init(&d.arena, COMMANDS_DESCRIPTION_MAX);
	d.list = json_array(&d.arena);
	for (size_t i = 0; commands[i]; i++) {
		if (commands[i] != &command_kubectl) {
			command_table(commands[i], add_command, &d);
		}
	}
	for (size_t i = 0; kubectl_commands[i]; i++) {
		add_plugin_command(&d, kubectl_commands[i]);
	}
	struct json *root = json_object(&d.arena);
	json_add(&d.arena, root, STR("commands"), d.list);
	json_encode(out, root);
	buf_addc(out, '\n');
	arena_done(&d.arena);
}
