/* Volumes of particular storage systems: only their drivers know what the fields mean. */
#include "api/pod/pod_schema_parts.h"

const struct type type_gce_persistent_disk_source = {
	CORE_OBJECT("GCEPersistentDiskVolumeSource", "A disk of Google Compute Engine."),
	.fields =
		(const struct field[]){
			{"pdName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the disk.", NULL,
				NULL},
			{"fsType", &type_string, FIELD_NUMBER(2), "File system of the volume.", NULL, NULL},
			{"partition", &type_int32, FIELD_NUMBER(3), "Which partition; 0 is the disk itself.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(4), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

const struct type type_aws_elastic_block_store_source = {
	CORE_OBJECT("AWSElasticBlockStoreVolumeSource", "A disk of Amazon Elastic Block Store."),
	.fields =
		(const struct field[]){
			{"volumeID", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Id of the disk.", NULL,
				NULL},
			{"fsType", &type_string, FIELD_NUMBER(2), "File system of the volume.", NULL, NULL},
			{"partition", &type_int32, FIELD_NUMBER(3), "Which partition; 0 is the disk itself.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(4), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

const struct type type_iscsi_source = {
	CORE_OBJECT("ISCSIVolumeSource", "A disk of an iSCSI target."),
	.fields =
		(const struct field[]){
			{"targetPortal", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Address and port of the target.", NULL, NULL},
			{"iqn", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Name of the target.", NULL,
				NULL},
			{"lun", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "Number of the unit.", NULL,
				NULL},
			{"iscsiInterface", &type_string, FIELD_NUMBER(4), "Interface that does the transport.", NULL,
				"\"default\""},
			{"fsType", &type_string, FIELD_NUMBER(5), "File system of the volume.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(6), "Mount it read-only.", NULL, NULL},
			{"portals", &type_string_list, FIELD_NUMBER(7), "Further portals of the target.", NULL, NULL},
			{"chapAuthDiscovery", &type_bool, FIELD_NUMBER(8), "Authenticate discovery by CHAP.", NULL, NULL},
			{"chapAuthSession", &type_bool, FIELD_NUMBER(11), "Authenticate sessions by CHAP.", NULL, NULL},
			{"secretRef", &type_local_object_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(10),
				"Secret with the CHAP credentials.", NULL, NULL},
			{"initiatorName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(12), "Name of the initiator.", NULL,
				NULL},
			{0},
		},
};

const struct type type_glusterfs_source = {
	CORE_OBJECT("GlusterfsVolumeSource", "A Glusterfs volume."),
	.fields =
		(const struct field[]){
			{"endpoints", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Endpoints object that lists the servers.", NULL, NULL},
			{"path", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Path of the volume.", NULL,
				NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(3), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

const struct type type_rbd_source = {
	CORE_OBJECT("RBDVolumeSource", "A Ceph block device."),
	.fields =
		(const struct field[]){
			{"monitors", &type_string_list, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Addresses of the monitors.", NULL, NULL},
			{"image", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Name of the image.", NULL,
				NULL},
			{"fsType", &type_string, FIELD_NUMBER(3), "File system of the volume.", NULL, NULL},
			{"pool", &type_string, FIELD_NUMBER(4), "Pool the image is in.", NULL, "\"rbd\""},
			{"user", &type_string, FIELD_NUMBER(5), "User to log in as.", NULL, "\"admin\""},
			{"keyring", &type_string, FIELD_NUMBER(6), "Path of the user's key ring.", NULL,
				"\"/etc/ceph/keyring\""},
			{"secretRef", &type_local_object_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(7),
				"Secret with the user's key; goes before keyring.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(8), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

const struct type type_flex_source = {
	CORE_OBJECT("FlexVolumeSource", "A volume of a FlexVolume driver."),
	.fields =
		(const struct field[]){
			{"driver", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the driver.", NULL,
				NULL},
			{"fsType", &type_string, FIELD_NUMBER(2), "File system of the volume.", NULL, NULL},
			{"secretRef", &type_local_object_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(3),
				"Secret handed to the driver.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(4), "Mount it read-only.", NULL, NULL},
			{"options", &type_string_map, FIELD_NUMBER(5), "Options handed to the driver.", NULL, NULL},
			{0},
		},
};

const struct type type_cinder_source = {
	CORE_OBJECT("CinderVolumeSource", "An OpenStack Cinder volume."),
	.fields =
		(const struct field[]){
			{"volumeID", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Id of the volume.", NULL,
				NULL},
			{"fsType", &type_string, FIELD_NUMBER(2), "File system of the volume.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(3), "Mount it read-only.", NULL, NULL},
			{"secretRef", &type_local_object_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
				"Secret to connect with.", NULL, NULL},
			{0},
		},
};

const struct type type_ceph_fs_source = {
	CORE_OBJECT("CephFSVolumeSource", "A Ceph file system."),
	.fields =
		(const struct field[]){
			{"monitors", &type_string_list, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Addresses of the monitors.", NULL, NULL},
			{"path", &type_string, FIELD_NUMBER(2), "What to mount as the root.", NULL, NULL},
			{"user", &type_string, FIELD_NUMBER(3), "User to log in as.", NULL, NULL},
			{"secretFile", &type_string, FIELD_NUMBER(4), "Path of the user's key ring.", NULL, NULL},
			{"secretRef", &type_local_object_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"Secret with the user's key; goes before secretFile.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(6), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

const struct type type_flocker_source = {
	CORE_OBJECT("FlockerVolumeSource", "A Flocker dataset, by name or id."),
	.fields =
		(const struct field[]){
			{"datasetName", &type_string, FIELD_NUMBER(1), "Name of the dataset.", NULL, NULL},
			{"datasetUUID", &type_string, FIELD_NUMBER(2), "Id of the dataset.", NULL, NULL},
			{0},
		},
};

const struct type type_fc_source = {
	CORE_OBJECT("FCVolumeSource", "A Fibre Channel disk."),
	.fields =
		(const struct field[]){
			{"targetWWNs", &type_string_list, FIELD_NUMBER(1), "World wide names of the target.", NULL, NULL},
			{"lun", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Number of the unit.", NULL, NULL},
			{"fsType", &type_string, FIELD_NUMBER(3), "File system of the volume.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(4), "Mount it read-only.", NULL, NULL},
			{"wwids", &type_string_list, FIELD_NUMBER(5),
				"World wide ids of the volume, instead of names and unit.", NULL, NULL},
			{0},
		},
};

const struct type type_azure_file_source = {
	CORE_OBJECT("AzureFileVolumeSource", "An Azure file share."),
	.fields =
		(const struct field[]){
			{"secretName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Secret with the storage account.", NULL, NULL},
			{"shareName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Name of the share.",
				NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(3), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

const struct type type_vsphere_virtual_disk_source = {
	CORE_OBJECT("VsphereVirtualDiskVolumeSource", "A vSphere disk."),
	.fields =
		(const struct field[]){
			{"volumePath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Path of the disk.",
				NULL, NULL},
			{"fsType", &type_string, FIELD_NUMBER(2), "File system of the volume.", NULL, NULL},
			{"storagePolicyName", &type_string, FIELD_NUMBER(3), "Name of the storage policy.", NULL, NULL},
			{"storagePolicyID", &type_string, FIELD_NUMBER(4), "Id of the storage policy.", NULL, NULL},
			{0},
		},
};

const struct type type_quobyte_source = {
	CORE_OBJECT("QuobyteVolumeSource", "A Quobyte volume."),
	.fields =
		(const struct field[]){
			{"registry", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Addresses of the registries.", NULL, NULL},
			{"volume", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Name of the volume.", NULL,
				NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(3), "Mount it read-only.", NULL, NULL},
			{"user", &type_string, FIELD_NUMBER(4), "User to mount as.", NULL, NULL},
			{"group", &type_string, FIELD_NUMBER(5), "Group to mount as.", NULL, NULL},
			{"tenant", &type_string, FIELD_NUMBER(6), "Tenant that owns the volume.", NULL, NULL},
			{0},
		},
};

static const struct type type_azure_data_disk_caching_mode = {.kind = TYPE_STRING, .go_type = "v1.AzureDataDiskCachingMode"};
static const struct type type_azure_data_disk_kind = {.kind = TYPE_STRING, .go_type = "v1.AzureDataDiskKind"};

const struct type type_azure_disk_source = {
	CORE_OBJECT("AzureDiskVolumeSource", "An Azure data disk."),
	.fields =
		(const struct field[]){
			{"diskName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the disk.", NULL,
				NULL},
			{"diskURI", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Address of the disk.",
				NULL, NULL},
			{"cachingMode", &type_azure_data_disk_caching_mode, FIELD_KEEP_EMPTY | FIELD_NUMBER(3),
				"How the host caches: None, ReadOnly or ReadWrite.", NULL, "\"ReadWrite\""},
			{"fsType", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "File system of the volume.", NULL,
				"\"ext4\""},
			{"readOnly", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(5), "Mount it read-only.", NULL, "false"},
			{"kind", &type_azure_data_disk_kind, FIELD_KEEP_EMPTY | FIELD_NUMBER(6),
				"Shared, Dedicated or Managed.", NULL, "\"Shared\""},
			{0},
		},
};

const struct type type_photon_persistent_disk_source = {
	CORE_OBJECT("PhotonPersistentDiskVolumeSource", "A Photon disk."),
	.fields =
		(const struct field[]){
			{"pdID", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Id of the disk.", NULL, NULL},
			{"fsType", &type_string, FIELD_NUMBER(2), "File system of the volume.", NULL, NULL},
			{0},
		},
};

const struct type type_portworx_source = {
	CORE_OBJECT("PortworxVolumeSource", "A Portworx volume."),
	.fields =
		(const struct field[]){
			{"volumeID", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Id of the volume.", NULL,
				NULL},
			{"fsType", &type_string, FIELD_NUMBER(2), "File system of the volume.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(3), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

const struct type type_scale_io_source = {
	CORE_OBJECT("ScaleIOVolumeSource", "A ScaleIO volume."),
	.fields =
		(const struct field[]){
			{"gateway", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Address of the gateway.",
				NULL, NULL},
			{"system", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Name of the system.", NULL,
				NULL},
			{"secretRef", &type_local_object_reference,
				FIELD_ALWAYS | FIELD_MANDATORY | FIELD_KEEP_EMPTY | FIELD_NUMBER(3),
				"Secret with the credentials.", NULL, NULL},
			{"sslEnabled", &type_bool, FIELD_NUMBER(4), "Whether to speak TLS with the gateway.", NULL, NULL},
			{"protectionDomain", &type_string, FIELD_NUMBER(5), "Name of the protection domain.", NULL, NULL},
			{"storagePool", &type_string, FIELD_NUMBER(6), "Name of the storage pool.", NULL, NULL},
			{"storageMode", &type_string, FIELD_NUMBER(7), "ThickProvisioned or ThinProvisioned.", NULL,
				"\"ThinProvisioned\""},
			{"volumeName", &type_string, FIELD_NUMBER(8), "Name of the volume.", NULL, NULL},
			{"fsType", &type_string, FIELD_NUMBER(9), "File system of the volume.", NULL, "\"xfs\""},
			{"readOnly", &type_bool, FIELD_NUMBER(10), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

const struct type type_storage_os_source = {
	CORE_OBJECT("StorageOSVolumeSource", "A StorageOS volume."),
	.fields =
		(const struct field[]){
			{"volumeName", &type_string, FIELD_NUMBER(1), "Name of the volume in its namespace.", NULL, NULL},
			{"volumeNamespace", &type_string, FIELD_NUMBER(2), "Namespace within StorageOS; the pod's where empty.",
				NULL, NULL},
			{"fsType", &type_string, FIELD_NUMBER(3), "File system of the volume.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(4), "Mount it read-only.", NULL, NULL},
			{"secretRef", &type_local_object_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"Secret with the credentials.", NULL, NULL},
			{0},
		},
};
