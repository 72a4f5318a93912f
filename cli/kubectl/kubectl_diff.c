/* Revisions of any API server are compared, also of apps/v1. So the difference is computed here
 * and not asked for, with the differ that the server's /diff uses too. */
#include "api/hunks/line_diff.h"
#include "api/patch/diff.h"
#include "base/yaml.h"
#include "cli/kubectl/kubectl.h"

enum { DATA_MAX = 64 << 20 };

void kubectl_write_yaml_diff(const struct json *const values[2], const struct str names[2], struct buf *out)
{
	struct buf texts[2];
	for (size_t i = 0; i < 2; i++) {
		buf_init(&texts[i], DATA_MAX);
		if (values[i]) {
			yaml_from_json_visible(&texts[i], values[i]);
		}
	}
	line_diff(out, buf_str(&texts[0]), buf_str(&texts[1]), names[0].p, names[1].p);
	buf_done(&texts[0]);
	buf_done(&texts[1]);
}

struct str revision_title(struct kubectl *k, const struct revision *r)
{
	return arena_printf(&k->arena, STR_FMT " revision %lld (" STR_FMT ")", STR_ARG(kubectl_name(k)), (long long)r->number,
		STR_ARG(r->name));
}

void revisions_write_diff(struct kubectl *k, const struct revision *from, const struct revision *to, struct buf *out)
{
	const struct json *const values[] = {from->data, to->data};
	const struct str names[] = {revision_title(k, from), revision_title(k, to)};
	kubectl_write_yaml_diff(values, names, out);
}

static void print_json(struct kubectl *k, const struct json *value)
{
	k->output = "json";
	kubectl_print(k, value);
}

/* Made here and not asked for (GET .../diff?from=): it works for any server's revisions, and what is needed is here already. */
static int write(struct kubectl *k, const struct revision *from, const struct revision *to)
{
	if (kubectl_wants(k, "patch")) {
		const struct json *patch = diff_merge(from->data, to->data, &k->arena);
		if (!patch) {
			return kubectl_fail(k, "a merge patch cannot say what became null; -o json gives a JSON patch");
		}
		print_json(k, patch);
	} else if (!kubectl_print(k, diff_json(from->data, to->data, &k->arena))) {
		revisions_write_diff(k, from, to, &k->out);
		k->is_diff = true;
	}
	return 0;
}

static int diff(struct kubectl *k, const struct revisions *all)
{
	if (all->n == 0) {
		return kubectl_fail(k, STR_FMT " has no revisions", STR_ARG(kubectl_name(k)));
	}
	struct revision *newest = all->history ? revisions_today(k, all) : &all->v[all->n - 1];
	struct revision *from = k->revision >= 0 ? revisions_find(k, all, k->revision) : revisions_before(k, all);
	struct revision *to = k->to >= 0 ? revisions_find(k, all, k->to) : newest;
	if (!from && k->revision < 0) {
		return kubectl_fail(k, STR_FMT " has one revision alone", STR_ARG(kubectl_name(k)));
	}
	if (!from || !to || revision_load(k, all, from) || revision_load(k, all, to)) {
		return -1;
	}
	return write(k, from, to);
}

static int run(struct kubectl *k)
{
	struct revisions revisions;
	int r = revisions_list(k, &revisions);
	r = r ? r : diff(k, &revisions);
	revisions_done(&revisions);
	return r;
}

const struct kubectl_command kubectl_diff = {
	.name = "diff",
	.usage = "TYPE/NAME [--revision=N] [--to=N] [flags]",
	.summary = "the difference of two revisions",
	.description = "Shows line by line, as YAML, how one revision of an object differs from another. By default these\n"
		       "are the newest revision and the one before.\n\n"
		       "-o json and -o yaml print the JSON Patch (RFC 6902) that leads from one to the other. -o patch\n"
		       "prints the merge patch (RFC 7396).",
	.examples = "  # the newest revision and the one before\n"
		    "  kubectl annals diff configmap/shop\n"
		    "  # two others, as a merge patch\n"
		    "  kubectl annals diff configmap/shop --revision=1 --to=3 -o patch\n",
	.flags = "revision,to,own,color",
	.outputs = "text,json,yaml,patch",
	.run = run,
};
