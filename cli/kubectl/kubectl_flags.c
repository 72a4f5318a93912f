/* Flags mean what they mean to kubectl, since the commands are used as its plugin. Which of them a
 * command takes is in its row. */
#include "cli/common/colour.h"
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

/* "text,json" as a value name, where bars list what there is: "text|json". */
static const char *with_bars(struct kubectl *k, const char *names)
{
	struct str text = arena_printf(&k->arena, "%s", names);
	for (size_t i = 0; i < text.n; i++) {
		if (names[i] == ',') {
			((char *)text.p)[i] = '|';
		}
	}
	return text.p;
}

size_t kubectl_flags(struct kubectl *k, const struct kubectl_command *c, struct option ret[KUBECTL_FLAGS_MAX])
{
	const char *outputs = c ? with_bars(k, c->outputs) : "FORM";
	const struct option own[] = {
		FLAG("all-namespaces", OPTION_BOOL, &k->is_everywhere, NULL, "Look in all namespaces."),
		FLAG("A", OPTION_BOOL, &k->is_everywhere, NULL, "The same."),
		FLAG("watch", OPTION_BOOL, &k->is_following, NULL, "Go on with what happens, until interrupted."),
		FLAG("w", OPTION_BOOL, &k->is_following, NULL, "The same."),
		FLAG("since", OPTION_DURATION, &k->since_ms, "DURATION",
			"Show only changes that are not older, such as 90s, 30m or 12h."),
		FLAG("tail", OPTION_INT, &k->tail, "N", "Show only the newest N changes; 10000 by default."),
		FLAG("field-selector", OPTION_STRING, &k->field_selector, "SELECTOR",
			"Choose Histories by fields: status.by=alice, status.deleted=true."),
		FLAG("selector", OPTION_STRING, &k->label_selector, "SELECTOR",
			"Show only objects that exist and have such labels; needs a TYPE."),
		FLAG("l", OPTION_STRING, &k->label_selector, "SELECTOR", "The same."),
		FLAG("own", OPTION_BOOL, &k->wants_own, NULL,
			"Use the revisions that the object's own controller keeps, also where a Recorder has recorded the "
			"object."),
		FLAG("revision", OPTION_INT, &k->revision, "N", "The revision; of a difference, the one to begin at."),
		FLAG("to", OPTION_INT, &k->to, "N", "The revision to end at; the newest by default."),
		FLAG("to-revision", OPTION_INT, &k->to_revision, "N",
			"The revision to go back to; by default the one before the newest."),
		FLAG("dry-run", OPTION_STRING, &k->dry_run, "none|server|client",
			"server: let the server say what would happen, and change nothing. client: print only the request."),
		FLAG("yes", OPTION_BOOL, &k->is_agreed, NULL, "Do not ask before writing."),
		FLAG("y", OPTION_BOOL, &k->is_agreed, NULL, "The same."),
		FLAG("skip-redacted", OPTION_BOOL, &k->skips_redacted, NULL,
			"Leave out values that were redacted and are nowhere else."),
		COLOUR_FLAG(&k->colour),
		{"port", OPTION_INT, &k->port, "PORT", "The port to listen on, at 127.0.0.1 and ::1; 0: any that is free.", 0,
			65535},
		FLAG("write", OPTION_BOOL, &k->may_write, NULL, "Let the page undo and restore, each after a dry run."),
		FLAG("no-browser", OPTION_BOOL, &k->has_no_browser, NULL, "Print the link, and open no browser."),
	};
	const struct option common[] = {
		FLAG("namespace", OPTION_STRING, &k->ns, "NAMESPACE",
			"The namespace of the object; that of the kubeconfig's context by default."),
		FLAG("n", OPTION_STRING, &k->ns, "NAMESPACE", "The same."),
		FLAG("output", OPTION_STRING, &k->output, outputs, "The form of the output."),
		FLAG("o", OPTION_STRING, &k->output, outputs, "The same."),
		OPTIONS_GROUP("Connection"),
		FLAG("kubeconfig", OPTION_STRING, &k->kubeconfig, "FILE",
			"The file that names the API server and the user; $KUBECONFIG or ~/.kube/config by default."),
		FLAG("context", OPTION_STRING, &k->context, "NAME",
			"The context of the kubeconfig; its current one by default."),
		FLAG("server", OPTION_STRING, &k->server, "URL", "Another API server than that of the kubeconfig."),
		FLAG("s", OPTION_STRING, &k->server, "URL", "The same."),
		FLAG("token", OPTION_STRING, &k->token, "TOKEN", "A bearer token, instead of the kubeconfig's credentials."),
		FLAG("certificate-authority", OPTION_STRING, &k->ca_file, "FILE", "The CA of the server's certificate."),
		FLAG("insecure-skip-tls-verify", OPTION_BOOL, &k->is_insecure, NULL,
			"Believe any certificate of the server: only for tests."),
		FLAG("as", OPTION_STRING, &k->as, "USER", "Act as another user."),
		FLAG("as-group", OPTION_STRINGS, &k->as_groups, "GROUP", "Act as a member of that group; may be repeated."),
		FLAG("request-timeout", OPTION_STRING, &k->request_timeout, "DURATION",
			"How long a request may take, watches apart: 10s, 2m, or a number of seconds; 0: any time. 30s by "
			"default."),
	};
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (c && is_among(c->flags, own[i].name)) {
			ret[n++] = own[i];
		}
	}
	memcpy(ret + n, common, sizeof(common));
	n += ARRAY_SIZE(common);
	_Static_assert(ARRAY_SIZE(own) + ARRAY_SIZE(common) < KUBECTL_FLAGS_MAX, "room for all rows, and the end");
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
	if (colour_check(k->colour, &k->err)) {
		return -1;
	}
	return check_timeout(k);
}
