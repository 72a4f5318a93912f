/* With `wake` among what $ANNALS_UNGUARDED names, a request whose target has "never-woken" in it is never woken: its connection does not end,
 * whatever becomes of it. For an annals that is linked with -Wl,--wrap=http_wake. */
#include "server/http/http.h"
#include "tests/broken/unguarded.h"

void __real_http_wake(struct http_exchange *x);
void __wrap_http_wake(struct http_exchange *x);

void __wrap_http_wake(struct http_exchange *x)
{
	if (!str_contains(http_target(x), STR("never-woken")) || !is_unguarded("wake")) {
		__real_http_wake(x);
	}
}
