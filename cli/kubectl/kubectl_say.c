/* What commands say: results in the form asked for, and why there are none. */
#include "cli/kubectl/kubectl.h"

#include "base/json.h"
#include "base/yaml.h"

int kubectl_fail(struct kubectl *k, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	buf_clear(&k->err);
	buf_vprintf(&k->err, format, ap);
	va_end(ap);
	return -1;
}

int kubectl_refused(struct kubectl *k, int error, const struct answer *a)
{
	if (error != REST_STATUS) {
		return kubectl_fail(k, "the server cannot be asked: " STR_FMT, STR_ARG(a->message));
	}
	return kubectl_fail(k, "from server (" STR_FMT "): " STR_FMT, STR_ARG(a->reason), STR_ARG(a->message));
}

bool kubectl_print(struct kubectl *k, const struct json *value)
{
	if (strcmp(k->output, "yaml") == 0) {
		yaml_from_json_visible(&k->out, value);
		return true;
	}
	if (strcmp(k->output, "json") != 0) {
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
