/* Flags mean what they mean to kubectl, since the commands are used as its plugin. Which of them a
 * command takes is in its row. */
#include "cli/common/command.h"
#include "cli/kubectl/kubectl.h"

static bool is_among(const char *names, const char *name)
{
	struct str rest = str_of(names), each;
	while (rest.n > 0) {
		str_cut(rest, ',', &each, &rest);
		if (str_is(each, name)) {
			return true;
		}
	}
	return false;
}

size_t kubectl_flags(struct kubectl *k, const struct kubectl_command *c, struct option ret[KUBECTL_FLAGS_MAX])
{
	const struct option all[] = {
		FLAG("namespace", OPTION_STRING, &k->ns, "NAME", "Where the object is."),
		FLAG("n", OPTION_STRING, &k->ns, "NAME", "The same."),
		FLAG("output", OPTION_STRING, &k->output, "FORM", c ? c->outputs : ""),
		FLAG("o", OPTION_STRING, &k->output, "FORM", "The same."),
		FLAG("kubeconfig", OPTION_STRING, &k->kubeconfig, "FILE",
			"Where the API server is, and who we are there; $KUBECONFIG or ~/.kube/config by default."),
		FLAG("context", OPTION_STRING, &k->context, "NAME", "Which one of the kubeconfig."),
		FLAG("server", OPTION_STRING, &k->server, "URL", "Another API server than that of the kubeconfig."),
		FLAG("s", OPTION_STRING, &k->server, "URL", "The same."),
		FLAG("token", OPTION_STRING, &k->token, "TOKEN", "A bearer token, instead of what the kubeconfig has."),
		FLAG("certificate-authority", OPTION_STRING, &k->ca_file, "FILE", "Who has signed the server's certificate."),
		FLAG("insecure-skip-tls-verify", OPTION_BOOL, &k->is_insecure, NULL,
			"Believes any certificate of the server: for tests alone."),
		FLAG("as", OPTION_STRING, &k->as, "USER", "Acts as another user."),
		FLAG("as-group", OPTION_STRINGS, &k->as_groups, "GROUP", "Acts as of that group; may be repeated."),
		FLAG("request-timeout", OPTION_STRING, &k->request_timeout, "DURATION",
			"How long a request may take, but for a watch: 10s, 2m or seconds alone, 0 for any time; 30s by "
			"default."),
		/* of some commands */
		FLAG("all-namespaces", OPTION_BOOL, &k->is_everywhere, NULL, "In all namespaces."),
		FLAG("A", OPTION_BOOL, &k->is_everywhere, NULL, "The same."),
		FLAG("watch", OPTION_BOOL, &k->is_following, NULL, "Goes on with what happens, until it is interrupted."),
		FLAG("w", OPTION_BOOL, &k->is_following, NULL, "The same."),
		FLAG("since", OPTION_DURATION, &k->since_ms, "DURATION", "Only what is not older, such as 90s, 30m or 12h."),
		FLAG("tail", OPTION_INT, &k->tail, "N", "Only the newest N; 10000 by default."),
		FLAG("field-selector", OPTION_STRING, &k->field_selector, "SELECTOR",
			"Of Histories: status.by=alice, status.deleted=true."),
		FLAG("selector", OPTION_STRING, &k->label_selector, "SELECTOR",
			"Only objects that exist and have such labels; needs a TYPE."),
		FLAG("l", OPTION_STRING, &k->label_selector, "SELECTOR", "The same."),
		FLAG("own", OPTION_BOOL, &k->wants_own, NULL,
			"The revisions that the object's own controller keeps, also where a Recorder has recorded it."),
		FLAG("revision", OPTION_INT, &k->revision, "N", "The revision; of a difference, the one to begin at."),
		FLAG("to", OPTION_INT, &k->to, "N", "The one to end at; the newest by default."),
		FLAG("to-revision", OPTION_INT, &k->to_revision, "N",
			"The one to go back to; by default the one before the newest."),
		FLAG("dry-run", OPTION_STRING, &k->dry_run, "none|server|client",
			"server: have the server say what would be; client: say what would be asked of it."),
		FLAG("yes", OPTION_BOOL, &k->is_agreed, NULL, "Does not ask."),
		FLAG("y", OPTION_BOOL, &k->is_agreed, NULL, "The same."),
		FLAG("skip-redacted", OPTION_BOOL, &k->skips_redacted, NULL,
			"Leaves out values that were redacted and are nowhere else."),
		{"port", OPTION_INT, &k->port, "PORT", "Where to listen on 127.0.0.1 and ::1; 0: any that is free.", 0, 65535},
		FLAG("write", OPTION_BOOL, &k->may_write, NULL, "Lets the page undo and restore, each after a dry run."),
		FLAG("no-browser", OPTION_BOOL, &k->has_no_browser, NULL, "Prints the link, and opens nothing."),
	};
	static const char first_of_some[] = "all-namespaces";
	bool is_common = true;
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		is_common = is_common && strcmp(all[i].name, first_of_some) != 0;
		if (is_common || (c && is_among(c->flags, all[i].name))) {
			ret[n++] = all[i];
		}
	}
	ret[n] = (struct option){0};
	return n;
}

/* As kubectl reads it: a number alone is seconds. */
static bool read_timeout(const char *text, int64_t *ret_ms)
{
	int64_t n;
	if (str_to_int64(str_of(text), &n)) {
		*ret_ms = n > INT32_MAX ? -1 : n * 1000;
	} else if (!duration_parse_ms(str_of(text), ret_ms)) {
		return false;
	}
	return *ret_ms >= 0 && *ret_ms <= INT32_MAX;
}

static int check_timeout(struct kubectl *k)
{
	int64_t ms;
	if (!k->request_timeout) {
		return 0;
	}
	if (!read_timeout(k->request_timeout, &ms)) {
		return kubectl_fail(k, "--request-timeout must be a duration such as 10s or 2m, or a number of seconds");
	}
	k->request_timeout_ms = ms ? ms : CLIENT_NO_TIMEOUT;
	return 0;
}

int kubectl_check_flags(struct kubectl *k, const struct kubectl_command *c)
{
	if (!is_among(c->outputs, k->output)) {
		return kubectl_fail(k, "--output must be one of %s", c->outputs);
	}
	if (!is_among("none,server,client", k->dry_run)) {
		return kubectl_fail(k, "--dry-run must be none, server or client");
	}
	if (k->as_groups.n && !k->as) {
		return kubectl_fail(k, "--as-group needs --as");
	}
	return check_timeout(k);
}
