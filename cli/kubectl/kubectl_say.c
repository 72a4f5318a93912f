/* What commands say: results in the form asked for, and why there are none. */
#include "cli/kubectl/kubectl.h"

#include "base/json.h"
#include "base/yaml.h"
#include "cli/common/colour.h"
#include "cli/common/command.h"

#include <stdlib.h>
#include <unistd.h>

int kubectl_fail(struct kubectl *k, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	buf_clear(&k->err);
	buf_vprintf(&k->err, format, ap);
	va_end(ap);
	k->refused_code = 0;
	return -1;
}

enum { NO_ANSWER = 502 };

int kubectl_refused(struct kubectl *k, int error, const struct answer *a)
{
	if (error != REST_STATUS) {
		kubectl_fail(k, "the server cannot be asked: " STR_FMT, STR_ARG(a->message));
		k->refused_code = NO_ANSWER;
		return -1;
	}
	kubectl_fail(k, "from server (" STR_FMT "): " STR_FMT, STR_ARG(a->reason), STR_ARG(a->message));
	k->refused_code = a->code;
	return -1;
}

void kubectl_note(struct kubectl *k, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	buf_vprintf(&k->notes, format, ap);
	va_end(ap);
	buf_addc(&k->notes, '\n');
}

bool kubectl_wants(const struct kubectl *k, const char *output)
{
	return strcmp(k->output, output) == 0;
}

bool kubectl_may_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static const char *colour_of(struct str line)
{
	static const struct {
		const char *begin, *colour;
	} colours[] = {{"---", COLOUR_BOLD}, {"+++", COLOUR_BOLD}, {"-", COLOUR_RED}, {"+", COLOUR_GREEN}, {"@@", COLOUR_CYAN}};
	for (size_t i = 0; i < ARRAY_SIZE(colours); i++) {
		if (str_starts(line, str_of(colours[i].begin))) {
			return colours[i].colour;
		}
	}
	return "";
}

bool kubectl_write_diff(const struct kubectl *k, FILE *out, struct str lines)
{
	struct str line;
	bool is_written = true;
	if (!colour_is_wanted(k->colour, out)) {
		return command_print(out, lines);
	}
	while (lines.n > 0 && is_written) {
		str_cut(lines, '\n', &line, &lines);
		const char *colour = colour_of(line);
		fputs(colour, out);
		is_written = command_print(out, line);
		fputs(*colour ? COLOUR_END "\n" : "\n", out);
	}
	return is_written;
}

bool kubectl_print(struct kubectl *k, const struct json *value)
{
	if (kubectl_wants(k, "yaml")) {
		yaml_from_json_visible(&k->out, value);
		return true;
	}
	if (!kubectl_wants(k, "json")) {
		return false;
	}
	struct buf text;
	buf_init(&text, OUTPUT_MAX);
	json_encode(&text, value);
	json_indent(&k->out, buf_str(&text), 4);
	buf_addc(&k->out, '\n');
	buf_done(&text);
	return true;
}
