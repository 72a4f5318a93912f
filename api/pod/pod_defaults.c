/* SetDefaults_PodSpec and its kin of k8s.io/kubernetes/pkg/apis/core/v1, as far as schemas
 * cannot say it. Ownership of fields sees what is set here, so it happens while decoding. */
#include "api/pod/pod_defaults.h"

#include "api/pod/image.h"
#include "api/pod/pod_schema_parts.h"

static struct json *pull_policy(const char *image, const struct json *of, struct arena *a)
{
	bool is_latest = image_is_latest(json_text(json_gets(of, image)));
	return json_string(a, is_latest ? STR("Always") : STR("IfNotPresent"));
}

static void default_containers(const struct json *spec, const char *list, const struct type *type, struct arena *a)
{
	const struct json *containers = json_gets(spec, list);
	for (uint32_t i = 0; json_is(containers, JSON_ARRAY) && i < containers->n; i++) {
		const struct json *c = containers->items[i];
		if (!json_gets(c, "imagePullPolicy")) {
			containers->items[i] = schema_with(type, c, "imagePullPolicy", pull_policy("image", c, a), a);
		}
	}
}

/* A volume that says nothing but its name is an empty folder. */
static struct json *default_volume(struct json *volume, struct arena *a)
{
	struct json *image = json_gets(volume, "image");
	if (volume->n == 1) {
		return schema_with(&type_volume, volume, "emptyDir", json_object(a), a);
	}
	if (image && !json_gets(image, "pullPolicy")) {
		json_add(a, image, STR("pullPolicy"), pull_policy("reference", image, a));
	}
	return volume;
}

/* serviceAccount is the older name of serviceAccountName, which is right where they differ. */
static struct json *mirror_service_account(struct json *spec, struct arena *a)
{
	struct json *name = json_gets(spec, "serviceAccountName"), *older = json_gets(spec, "serviceAccount");
	name = name ? name : older;
	if (!name) {
		return spec;
	}
	spec = schema_with(&type_pod_spec, spec, "serviceAccountName", name, a);
	return schema_with(&type_pod_spec, spec, "serviceAccount", name, a);
}

struct json *pod_spec_defaults(struct json *spec, struct arena *a)
{
	struct json *volumes = json_gets(spec, "volumes");
	for (uint32_t i = 0; volumes && i < volumes->n; i++) {
		volumes->items[i] = default_volume(volumes->items[i], a);
	}
	default_containers(spec, "initContainers", &type_container, a);
	default_containers(spec, "containers", &type_container, a);
	default_containers(spec, "ephemeralContainers", &type_ephemeral_container, a);
	return mirror_service_account(spec, a);
}

struct json *pod_template_defaults(const struct json *template, struct arena *a)
{
	struct json *spec = json_gets(template, "spec");
	return spec ? schema_with(&type_pod_template_spec, template, "spec", pod_spec_defaults(spec, a), a) : json_copy(a, template);
}
