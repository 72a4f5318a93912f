/* Revisions of any API server are compared, also of apps/v1. So the difference is computed here
 * and not asked for, with the differ that the server's /diff uses too. */
#include "api/patch/diff.h"
#include "base/yaml.h"
#include "cli/kubectl/kubectl.h"
#include "cli/kubectl/line_diff.h"

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
		yaml_from_json_visible(&texts[i], both[i]->data);
	}
	line_diff(&k->out, buf_str(&texts[0]), buf_str(&texts[1]), names[0].p, names[1].p);
	buf_done(&texts[0]);
	buf_done(&texts[1]);
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
	if (!from->data || !to->data) {
		return kubectl_fail(k, "revision %lld has no data", (long long)(from->data ? to : from)->number);
	}
	/* As the server makes it (GET .../diff?from=), but of any server's revisions: what is needed is here already. */
	const struct json *patch = diff_json(from->data, to->data, &k->arena);
	if (!kubectl_print(k, patch)) {
		write_diff(k, from, to);
	}
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
	.description = "Shows how the data of one revision of an object differs from that of another, as YAML, line by line.\n"
		       "-o json, -o yaml: the JSON Patch (RFC 6902) that leads from the one to the other.",
	.flags = "revision,to",
	.run = run,
};
