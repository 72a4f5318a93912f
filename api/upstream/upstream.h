/* Kubernetes' types, as tables. Nothing is written by hand here but the names below: tools/compile-schemas.py makes the tables when
 * annals is built, of facts (*.facts, which `make upstream` takes from upstream's Go types) and of words (*.words, which are ours: what
 * `kubectl explain` says, what decoding fills in). docs/development/upstream.md explains both, and how to move to the next version.
 *
 * Kinds and rules in api/ use them from any thread: they are constant. A type is called by its Go name, with its group before it unless that
 * is core or meta: `type_pod_spec`, `type_apps_stateful_set`. To use another one, name it here. A type that is an object of its own, within
 * another object, has `embedded` before its name: nobody but the writer owns fields of it. */
#ifndef API_UPSTREAM_UPSTREAM_H
#define API_UPSTREAM_UPSTREAM_H

#include "api/model/schema.h"

/* core/v1 */
extern const struct type type_binding, type_config_map, type_container, type_container_port, type_endpoints,
	type_embedded_persistent_volume_claim, type_ephemeral_container, type_event, type_event_source,
	type_load_balancer_ingress, type_namespace, type_node, type_node_spec, type_node_status, type_persistent_volume,
	type_persistent_volume_claim, type_persistent_volume_claim_spec, type_persistent_volume_status, type_pod, type_pod_spec,
	type_pod_status, type_pod_template, type_pod_template_spec, type_replication_controller,
	type_replication_controller_spec, type_replication_controller_status, type_resource_list, type_resource_requirements,
	type_secret, type_service, type_service_account, type_service_port, type_service_spec, type_service_status, type_volume;
/* meta/v1 */
extern const struct type type_condition, type_label_selector;
/* apps/v1 */
extern const struct type type_apps_controller_revision, type_apps_daemon_set, type_apps_daemon_set_spec,
	type_apps_daemon_set_status, type_apps_daemon_set_update_strategy, type_apps_deployment, type_apps_deployment_spec,
	type_apps_deployment_status, type_apps_deployment_strategy, type_apps_replica_set, type_apps_replica_set_spec,
	type_apps_replica_set_status, type_apps_rolling_update_daemon_set, type_apps_rolling_update_deployment,
	type_apps_rolling_update_stateful_set_strategy, type_apps_stateful_set,
	type_apps_stateful_set_persistent_volume_claim_retention_policy, type_apps_stateful_set_update_strategy, type_set,
	type_set_spec, type_set_status, type_set_status_beta;
/* authentication/v1 */
extern const struct type type_authentication_self_subject_review, type_authentication_token_review,
	type_authentication_token_review_status, type_authentication_user_info;
/* authorization/v1 */
extern const struct type type_authorization_local_subject_access_review, type_authorization_non_resource_attributes,
	type_authorization_resource_attributes, type_authorization_self_subject_access_review,
	type_authorization_self_subject_rules_review, type_authorization_subject_access_review,
	type_authorization_subject_access_review_status;
/* autoscaling/v1 */
extern const struct type type_autoscaling_scale, type_autoscaling_scale_spec, type_autoscaling_scale_status;
/* batch/v1 */
extern const struct type type_batch_cron_job, type_batch_cron_job_spec, type_batch_cron_job_status, type_batch_job,
	type_batch_job_spec, type_batch_job_status, type_batch_job_template_spec;
/* coordination/v1 */
extern const struct type type_coordination_lease;
/* events/v1 */
extern const struct type type_events_event, type_events_event_series;
/* networking/v1 */
extern const struct type type_networking_ingress, type_networking_ingress_status;
/* storage/v1 */
extern const struct type type_storage_storage_class;

#endif
