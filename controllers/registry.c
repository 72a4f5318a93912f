/* A new controller needs one row here. Names, aliases and the rules of --controllers are
 * kube-controller-manager's. The first item that names a controller decides. "*" stands for all
 * others, except those that must be requested. An empty value names none. */
#include "controllers/gc/gc.h"
#include "controllers/kit/controller.h"

const struct controller *const all_controllers[] = {
	&garbage_collector,
	&namespace_controller,
	&default_objects_controller,
	&kubernetes_service_controller,
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

bool controller_is_chosen(const struct controller *c, char *const *choice, size_t n, bool is_within_up)
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
	return has_star && (is_within_up || !c->is_for_up) && !c->is_on_request;
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
		bool is_none = n == 1 && !choice[i][0];
		if (!is_none && strcmp(choice[i], "*") != 0 && !is_known(name)) {
			buf_printf(err, "--controllers: \"%s\" is not in the list of known controllers:", name);
			for (const struct controller *const *c = all_controllers; *c; c++) {
				buf_printf(err, "%s %s", c == all_controllers ? "" : ",", (*c)->name);
			}
			return false;
		}
	}
	return true;
}
