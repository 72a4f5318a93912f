/* One revision as it was recorded: to be read, compared, or applied. */
#include "cli/kubectl/kubectl.h"

static int show(struct kubectl *k, const struct revisions *all)
{
	if (all->n == 0) {
		return kubectl_fail(k, STR_FMT " has no revisions", STR_ARG(kubectl_name(k)));
	}
	struct revision *r = k->revision >= 0 ? revisions_find(k, all, k->revision) : revisions_today(k, all);
	if (!r || revision_load(k, all, r)) {
		return -1;
	}
	k->output = kubectl_wants(k, "json") ? "json" : "yaml";
	kubectl_print(k, r->data);
	return 0;
}

static int run(struct kubectl *k)
{
	struct revisions revisions;
	int r = revisions_list(k, &revisions);
	r = r ? r : show(k, &revisions);
	revisions_done(&revisions);
	return r;
}

const struct kubectl_command kubectl_show = {
	.name = "show",
	.usage = "TYPE/NAME [--revision=N] [flags]",
	.summary = "the state that a revision holds",
	.description =
		"Shows an object as YAML, as it was in one of its revisions; by default in the newest.\n\n"
		"A recorded revision has the object's state, without status and without the parts that the Recorder\n"
		"ignores. Redacted values show as digests. A revision of the object's own controller has a part of the\n"
		"object, such as the template of its pods. It is shown with --own, or where nothing was recorded.",
	.examples = "  # the newest revision\n"
		    "  kubectl annals show configmap/shop\n"
		    "  # another one, as JSON\n"
		    "  kubectl annals show configmap/shop --revision=2 -o json\n",
	.flags = "revision,own",
	.outputs = "text,yaml,json",
	.run = run,
};
