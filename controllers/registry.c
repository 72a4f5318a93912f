/* A new controller is one row here. Names, aliases and the rules of --controllers are
 * kube-controller-manager's: the first item that names a controller decides, "*" stands for all
 * others, but for those that must be asked for. */
#include "controllers/gc/gc.h"
#include "controllers/kit/controller.h"

const struct controller *const all_controllers[] = {
	&garbage_collector,
	&namespace_controller,
	&claim_protection_controller,
	&provider_finalization_controller,
	&dependent_controller,
	&fake_kubelet,
	&stateful_set_controller,
	&recorder_controller,
	NULL,
};

static bool is_named(const struct controller *c, const char *name)
{
	return strcmp(name, c->name) == 0 || strcmp(name, c->alias) == 0;
}

bool controller_is_chosen(const struct controller *c, char *const *choice, size_t n)
{
	bool has_star = n == 0;
	for (size_t i = 0; i < n; i++) {
		if (is_named(c, choice[i])) {
			return true;
		}
		if (choice[i][0] == '-' && is_named(c, choice[i] + 1)) {
			return false;
		}
		has_star = has_star || strcmp(choice[i], "*") == 0;
	}
	return has_star && !c->is_on_request;
}

static bool is_known(const char *name)
{
	for (const struct controller *const *c = all_controllers; *c; c++) {
		if (is_named(*c, name)) {
			return true;
		}
	}
	return false;
}

bool controllers_check(char *const *choice, size_t n, struct buf *err)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = choice[i][0] == '-' ? choice[i] + 1 : choice[i];
		if (strcmp(choice[i], "*") != 0 && !is_known(name)) {
			buf_printf(err, "--controllers: \"%s\" is not in the list of known controllers:", name);
			for (const struct controller *const *c = all_controllers; *c; c++) {
				buf_printf(err, "%s %s", c == all_controllers ? "" : ",", (*c)->name);
			}
			return false;
		}
	}
	return true;
}
