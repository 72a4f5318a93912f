/* Volumes that belong to the cluster, member by member in the order Go writes them. */
#include "api/cluster/volume_schema.h"

#include "api/model/object_reference.h"
#include "api/pod/pod_schema_parts.h"

static const struct type type_access_mode = {.kind = TYPE_STRING, .go_type = "v1.PersistentVolumeAccessMode"};
static const struct type list_access_modes = LIST_OF(type_access_mode);
static const struct type type_volume_mode = {.kind = TYPE_STRING, .go_type = "v1.PersistentVolumeMode"};
static const struct type type_volume_phase = {.kind = TYPE_STRING, .go_type = "v1.PersistentVolumePhase"};
const struct type type_reclaim_policy = {.kind = TYPE_STRING, .go_type = "v1.PersistentVolumeReclaimPolicy"};

static const struct type type_secret_reference = {
	CORE_OBJECT("SecretReference", "Names a Secret in any namespace."),
	.is_atomic = true,
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER(1), "Name of the Secret.", NULL, NULL},
			{"namespace", &type_string, FIELD_NUMBER(2), "Namespace of the Secret.", NULL, NULL},
			{0},
		},
};

static const struct type type_glusterfs_volume = {
	CORE_OBJECT("GlusterfsPersistentVolumeSource", "A volume of Glusterfs."),
	.fields =
		(const struct field[]){
			{"endpoints", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Endpoints of the servers.", NULL, NULL},
			{"path", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The volume's path.", NULL,
				NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(3), "Mount it read-only.", NULL, NULL},
			{"endpointsNamespace", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
				"Namespace of the Endpoints; that of the claim where absent.", NULL, NULL},
			{0},
		},
};

static const struct type type_rbd_volume = {
	CORE_OBJECT("RBDPersistentVolumeSource", "A block device of Ceph."),
	.fields =
		(const struct field[]){
			{"monitors", &type_string_list, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "The monitors.", NULL,
				NULL},
			{"image", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Name of the image.", NULL,
				NULL},
			{"fsType", &type_string, FIELD_NUMBER(3), "Type of the file system.", NULL, NULL},
			{"pool", &type_string, FIELD_NUMBER(4), "Name of the pool.", NULL, "\"rbd\""},
			{"user", &type_string, FIELD_NUMBER(5), "Name of the user.", NULL, "\"admin\""},
			{"keyring", &type_string, FIELD_NUMBER(6), "Path of the user's keyring.", NULL,
				"\"/etc/ceph/keyring\""},
			{"secretRef", &type_secret_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(7),
				"Secret of the user, instead of the keyring.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(8), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

static const struct type type_iscsi_volume = {
	CORE_OBJECT("ISCSIPersistentVolumeSource", "A disk reached by iSCSI."),
	.fields =
		(const struct field[]){
			{"targetPortal", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Address of the target.", NULL, NULL},
			{"iqn", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Name of the target.", NULL,
				NULL},
			{"lun", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "Number of the unit.", NULL,
				NULL},
			{"iscsiInterface", &type_string, FIELD_NUMBER(4), "Transport by which it is reached.", NULL,
				"\"default\""},
			{"fsType", &type_string, FIELD_NUMBER(5), "Type of the file system.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(6), "Mount it read-only.", NULL, NULL},
			{"portals", &type_string_list, FIELD_NUMBER(7), "Further addresses of the target.", NULL, NULL},
			{"chapAuthDiscovery", &type_bool, FIELD_NUMBER(8), "Whether discovery is authenticated.", NULL, NULL},
			{"chapAuthSession", &type_bool, FIELD_NUMBER(11), "Whether sessions are authenticated.", NULL, NULL},
			{"secretRef", &type_secret_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(10),
				"Secret for the authentication.", NULL, NULL},
			{"initiatorName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(12), "Name of the initiator.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_cinder_volume = {
	CORE_OBJECT("CinderPersistentVolumeSource", "A volume of Cinder."),
	.fields =
		(const struct field[]){
			{"volumeID", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Which volume.", NULL,
				NULL},
			{"fsType", &type_string, FIELD_NUMBER(2), "Type of the file system.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(3), "Mount it read-only.", NULL, NULL},
			{"secretRef", &type_secret_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
				"Secret with what is needed to reach it.", NULL, NULL},
			{0},
		},
};

static const struct type type_ceph_fs_volume = {
	CORE_OBJECT("CephFSPersistentVolumeSource", "A folder of CephFS."),
	.fields =
		(const struct field[]){
			{"monitors", &type_string_list, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "The monitors.", NULL,
				NULL},
			{"path", &type_string, FIELD_NUMBER(2), "The folder; / where empty.", NULL, NULL},
			{"user", &type_string, FIELD_NUMBER(3), "Name of the user.", NULL, NULL},
			{"secretFile", &type_string, FIELD_NUMBER(4), "Path of the user's keyring.", NULL, NULL},
			{"secretRef", &type_secret_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"Secret of the user, instead of the keyring.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(6), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

static const struct type type_flex_volume = {
	CORE_OBJECT("FlexPersistentVolumeSource", "A volume of a driver that is an executable."),
	.fields =
		(const struct field[]){
			{"driver", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the driver.", NULL,
				NULL},
			{"fsType", &type_string, FIELD_NUMBER(2), "Type of the file system.", NULL, NULL},
			{"secretRef", &type_secret_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Secret for the driver.",
				NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(4), "Mount it read-only.", NULL, NULL},
			{"options", &type_string_map, FIELD_NUMBER(5), "Options of the driver.", NULL, NULL},
			{0},
		},
};

static const struct type type_azure_file_volume = {
	CORE_OBJECT("AzureFilePersistentVolumeSource", "A share of Azure's file service."),
	.fields =
		(const struct field[]){
			{"secretName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Secret with the account.", NULL, NULL},
			{"shareName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Name of the share.",
				NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(3), "Mount it read-only.", NULL, NULL},
			{"secretNamespace", &type_string, FIELD_ALWAYS | FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
				"Namespace of the Secret; that of the claim where absent.", NULL, NULL},
			{0},
		},
};

static const struct type type_scale_io_volume = {
	CORE_OBJECT("ScaleIOPersistentVolumeSource", "A volume of ScaleIO."),
	.fields =
		(const struct field[]){
			{"gateway", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Address of the gateway.",
				NULL, NULL},
			{"system", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Name of the system.", NULL,
				NULL},
			{"secretRef", &type_secret_reference,
				FIELD_ALWAYS | FIELD_MANDATORY | FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Secret of the user.",
				NULL, NULL},
			{"sslEnabled", &type_bool, FIELD_NUMBER(4), "Whether the gateway is reached by TLS.", NULL, NULL},
			{"protectionDomain", &type_string, FIELD_NUMBER(5), "Name of the protection domain.", NULL, NULL},
			{"storagePool", &type_string, FIELD_NUMBER(6), "Name of the storage pool.", NULL, NULL},
			{"storageMode", &type_string, FIELD_NUMBER(7), "ThickProvisioned or ThinProvisioned.", NULL,
				"\"ThinProvisioned\""},
			{"volumeName", &type_string, FIELD_NUMBER(8), "Which volume.", NULL, NULL},
			{"fsType", &type_string, FIELD_NUMBER(9), "Type of the file system.", NULL, "\"xfs\""},
			{"readOnly", &type_bool, FIELD_NUMBER(10), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

static const struct type type_local_volume = {
	CORE_OBJECT("LocalVolumeSource", "A folder or disk of one node."),
	.fields =
		(const struct field[]){
			{"path", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Where it is on the node.",
				NULL, NULL},
			{"fsType", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
				"Type of the file system, where it is a disk.", NULL, NULL},
			{0},
		},
};

static const struct type type_storage_os_volume = {
	CORE_OBJECT("StorageOSPersistentVolumeSource", "A volume of StorageOS."),
	.fields =
		(const struct field[]){
			{"volumeName", &type_string, FIELD_NUMBER(1), "Which volume.", NULL, NULL},
			{"volumeNamespace", &type_string, FIELD_NUMBER(2), "Namespace of the volume there.", NULL, NULL},
			{"fsType", &type_string, FIELD_NUMBER(3), "Type of the file system.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(4), "Mount it read-only.", NULL, NULL},
			{"secretRef", &type_object_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"Secret with what is needed to reach it.", NULL, NULL},
			{0},
		},
};

static const struct type type_csi_volume = {
	CORE_OBJECT("CSIPersistentVolumeSource", "A volume of a CSI driver."),
	.fields =
		(const struct field[]){
			{"driver", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the driver.", NULL,
				NULL},
			{"volumeHandle", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"What the driver calls the volume.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(3), "Mount it read-only.", NULL, NULL},
			{"fsType", &type_string, FIELD_NUMBER(4), "Type of the file system.", NULL, NULL},
			{"volumeAttributes", &type_string_map, FIELD_NUMBER(5),
				"What the driver was told when it made the volume.", NULL, NULL},
			{"controllerPublishSecretRef", &type_secret_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(6),
				"Secret to attach it.", NULL, NULL},
			{"nodeStageSecretRef", &type_secret_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(7),
				"Secret to stage it on a node.", NULL, NULL},
			{"nodePublishSecretRef", &type_secret_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(8),
				"Secret to mount it.", NULL, NULL},
			{"controllerExpandSecretRef", &type_secret_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(9),
				"Secret to make it larger.", NULL, NULL},
			{"nodeExpandSecretRef", &type_secret_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(10),
				"Secret to make it larger on a node.", NULL, NULL},
			{0},
		},
};

static const struct type type_volume_node_affinity = {
	CORE_OBJECT("VolumeNodeAffinity", "From where a volume can be reached."),
	.fields =
		(const struct field[]){
			{"required", &type_node_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "The nodes.", NULL, NULL},
			{0},
		},
};

const struct type type_volume_spec = {
	CORE_OBJECT("PersistentVolumeSpec", "Which storage a volume is, and how it may be used."),
	.embedded = "PersistentVolumeSource",
	.fields =
		(const struct field[]){
			{"capacity", &type_resource_list, FIELD_NUMBER(1), "How large it is.", NULL, NULL},
			{"gcePersistentDisk", &type_gce_persistent_disk_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 1),
				"A disk of Google Compute Engine.", NULL, NULL},
			{"awsElasticBlockStore", &type_aws_elastic_block_store_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 2),
				"A disk of AWS.", NULL, NULL},
			{"hostPath", &type_host_path_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 3),
				"A file or folder of the node.", NULL, NULL},
			{"glusterfs", &type_glusterfs_volume, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 4),
				"A volume of Glusterfs.", NULL, NULL},
			{"nfs", &type_nfs_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 5), "A folder of an NFS server.", NULL,
				NULL},
			{"rbd", &type_rbd_volume, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 6), "A block device of Ceph.", NULL,
				NULL},
			{"iscsi", &type_iscsi_volume, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 7), "A disk reached by iSCSI.",
				NULL, NULL},
			{"cinder", &type_cinder_volume, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 8), "A volume of Cinder.", NULL,
				NULL},
			{"cephfs", &type_ceph_fs_volume, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 9), "A folder of CephFS.", NULL,
				NULL},
			{"fc", &type_fc_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 10), "A disk reached by Fibre Channel.",
				NULL, NULL},
			{"flocker", &type_flocker_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 11), "A dataset of Flocker.",
				NULL, NULL},
			{"flexVolume", &type_flex_volume, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 12),
				"A volume of a driver that is an executable.", NULL, NULL},
			{"azureFile", &type_azure_file_volume, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 13),
				"A share of Azure's file service.", NULL, NULL},
			{"vsphereVolume", &type_vsphere_virtual_disk_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 14),
				"A disk of vSphere.", NULL, NULL},
			{"quobyte", &type_quobyte_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 15), "A volume of Quobyte.",
				NULL, NULL},
			{"azureDisk", &type_azure_disk_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 16), "A disk of Azure.",
				NULL, NULL},
			{"photonPersistentDisk", &type_photon_persistent_disk_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 17),
				"A disk of Photon.", NULL, NULL},
			{"portworxVolume", &type_portworx_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 18),
				"A volume of Portworx.", NULL, NULL},
			{"scaleIO", &type_scale_io_volume, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 19), "A volume of ScaleIO.",
				NULL, NULL},
			{"local", &type_local_volume, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 20),
				"A folder or disk of one node.", NULL, NULL},
			{"storageos", &type_storage_os_volume, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 21),
				"A volume of StorageOS.", NULL, NULL},
			{"csi", &type_csi_volume, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 22), "A volume of a CSI driver.", NULL,
				NULL},
			{"accessModes", &list_access_modes, FIELD_NUMBER(3), "How it can be mounted.", NULL, NULL},
			{"claimRef", &type_granular_object_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
				"The claim to which it is bound, or is to be.", NULL, NULL},
			{"persistentVolumeReclaimPolicy", &type_reclaim_policy, FIELD_SILENT_DEFAULT | FIELD_NUMBER(5),
				"What becomes of it when its claim goes: Retain, Delete or Recycle.", NULL, "\"Retain\""},
			{"storageClassName", &type_string, FIELD_NUMBER(6), "Its StorageClass.", NULL, NULL},
			{"mountOptions", &type_string_list, FIELD_NUMBER(7), "Options with which it is mounted.", NULL, NULL},
			{"volumeMode", &type_volume_mode, FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(8),
				"Filesystem or Block.", NULL, "\"Filesystem\""},
			{"nodeAffinity", &type_volume_node_affinity, FIELD_KEEP_EMPTY | FIELD_NUMBER(9),
				"From where it can be reached.", NULL, NULL},
			{"volumeAttributesClassName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(10),
				"Its VolumeAttributesClass.", NULL, NULL},
			{0},
		},
};

const struct type type_volume_status = {
	CORE_OBJECT("PersistentVolumeStatus", "What became of a volume."),
	.fields =
		(const struct field[]){
			{"phase", &type_volume_phase, FIELD_SILENT_DEFAULT | FIELD_NUMBER(1),
				"Pending, Available, Bound, Released or Failed.", NULL, "\"Pending\""},
			{"message", &type_string, FIELD_NUMBER(2), "Why, as a sentence for people.", NULL, NULL},
			{"reason", &type_string, FIELD_NUMBER(3), "Why, as one word for programs.", NULL, NULL},
			{"lastPhaseTransitionTime", &type_time, FIELD_NUMBER(4), "When the phase last changed.", NULL, NULL},
			{0},
		},
};
