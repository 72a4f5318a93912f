#include "base/yaml.h"
#include "cli/kubectl.h"
#include "cli/line_diff.h"

enum { DATA_MAX = 64 << 20 };

static void write_diff(struct kubectl *k, const struct revision *from, const struct revision *to)
{
	struct str owner = kubectl_name(k);
	struct str names[2];
	struct buf texts[2];
	const struct revision *both[] = {from, to};
	for (size_t i = 0; i < 2; i++) {
		names[i] = arena_printf(&k->arena, STR_FMT " revision %lld (" STR_FMT ")", STR_ARG(owner),
			(long long)both[i]->number, STR_ARG(both[i]->name));
		buf_init(&texts[i], DATA_MAX);
		yaml_from_json(&texts[i], json_gets(both[i]->object, "data"));
	}
	line_diff(&k->out, buf_str(&texts[0]), buf_str(&texts[1]), names[0].p, names[1].p);
	buf_done(&texts[0]);
	buf_done(&texts[1]);
}

/* What leads from the one to the other, as the server sees it. */
static int print_patch(
	struct kubectl *k, const struct revisions *revisions, const struct revision *from, const struct revision *to)
{
	struct answer answer;
	_cleanup_(buf_done) struct buf path;
	const struct target t = {&revisions->type->resource, str_of(k->ns), to->name, "diff"};
	buf_init(&path, 64 * 1024);
	target_path(&path, &t);
	query_add(&path, "from", from->name);
	buf_addc(&path, '\0');
	answer_init(&answer);
	int error = rest_do(k->client, &(struct rest_call){.method = "GET", .path = path.p, .accept = PATCH_JSON}, &answer);
	int r = 0;
	if (error) {
		r = kubectl_refused(k, error, &answer);
	} else {
		kubectl_print(k, answer.body);
	}
	answer_done(&answer);
	return r;
}

static int diff(struct kubectl *k, const struct revisions *revisions)
{
	if (revisions->n == 0) {
		return kubectl_fail(k, STR_FMT " has no revisions", STR_ARG(kubectl_name(k)));
	}
	const struct revision *from = revisions_find(k, revisions, k->revision);
	const struct revision *to = k->to >= 0 ? revisions_find(k, revisions, k->to) : &revisions->v[revisions->n - 1];
	if (!from || !to) {
		return -1;
	}
	if (strcmp(k->output, "text") != 0) {
		return print_patch(k, revisions, from, to);
	}
	write_diff(k, from, to);
	return 0;
}

static int run(struct kubectl *k)
{
	struct revisions revisions;
	if (k->revision < 0) {
		return kubectl_fail(k, "give the revision to begin at: --revision=N");
	}
	if (kubectl_get(k)) {
		return -1;
	}
	int r = revisions_list(k, &revisions);
	r = r ? r : diff(k, &revisions);
	revisions_done(&revisions);
	return r;
}

const struct kubectl_command kubectl_diff = {
	.name = "diff",
	.usage = "TYPE/NAME --revision=N [--to=N] [flags]",
	.summary = "the difference of two revisions",
	.description =
		"Shows how the data of one revision of an object differs from that of another, as YAML, line by line. -o "
		"json,\n"
		"-o yaml: the JSON Patch (RFC 6902) that leads from the one to the other; only of annals.dev's revisions.",
	.flags = "revision,to",
	.run = run,
};
