/* Between the files of the schema of the core group, here and in api/cluster: api/pod/pod_schema.h is what others see. */
#ifndef API_POD_POD_SCHEMA_PARTS_H
#define API_POD_POD_SCHEMA_PARTS_H

#include "api/pod/pod_schema.h"

/* The names of a type of the core group, and what it is. */
#define CORE_OBJECT(name, text) \
	.kind = TYPE_OBJECT, .definition = "io.k8s.api.core.v1." name, .go_type = "v1." name, .doc = text
#define LIST_OF(type)                            \
	{                                        \
		.kind = TYPE_LIST, .elem = &type \
	}
#define SET_OF(type)                                                    \
	{                                                               \
		.kind = TYPE_LIST, .elem = &type, .list_type = LIST_SET \
	}
#define KEYED_LIST_OF(type, ...)                                                                            \
	{                                                                                                   \
		.kind = TYPE_LIST, .elem = &type, .list_type = LIST_MAP, .list_keys = (const char *const[]) \
		{                                                                                           \
			__VA_ARGS__, NULL                                                                   \
		}                                                                                           \
	}

extern const struct type type_object_field_selector, type_resource_field_selector;
extern const struct type type_node_selector, type_taint_effect;
extern const struct type type_host_path_source, type_nfs_source;
extern const struct type type_gce_persistent_disk_source, type_aws_elastic_block_store_source, type_iscsi_source,
	type_glusterfs_source, type_rbd_source, type_flex_source, type_cinder_source, type_ceph_fs_source, type_flocker_source,
	type_fc_source, type_azure_file_source, type_vsphere_virtual_disk_source, type_quobyte_source, type_azure_disk_source,
	type_photon_persistent_disk_source, type_portworx_source, type_scale_io_source, type_storage_os_source;
extern const struct type type_volume, type_container, type_container_port, type_ephemeral_container, type_probe, type_lifecycle,
	type_security_context, type_pod_security_context, type_affinity, type_toleration, type_topology_spread_constraint;

#endif
