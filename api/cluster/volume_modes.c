/* Access modes by their short names, which claims and volumes show alike. */
#include "api/cluster/volume_modes.h"

#include "api/model/members.h"

static bool has_mode(const struct json *modes, const char *mode)
{
	const struct json *m;
	for (uint32_t i = 0; (m = list_item(modes, i)); i++) {
		if (str_is(json_text(m), mode)) {
			return true;
		}
	}
	return false;
}

void volume_modes_write(const struct json *modes, struct buf *out)
{
	static const char *const names[][2] = {
		{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
	const char *comma = "";
	buf_addc(out, '"');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (has_mode(modes, names[i][0])) {
			buf_adds(out, comma);
			buf_adds(out, names[i][1]);
			comma = ",";
		}
	}
	buf_addc(out, '"');
}
