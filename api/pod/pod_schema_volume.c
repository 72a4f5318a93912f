/* The volumes of a pod. */
#include "api/pod/pod_schema_parts.h"

static const struct type type_host_path_type = {.kind = TYPE_STRING, .go_type = "v1.HostPathType"};

const struct type type_host_path_source = {
	CORE_OBJECT("HostPathVolumeSource", "A file or folder of the node."),
	.fields =
		(const struct field[]){
			{"path", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Where it is on the node.",
				NULL, NULL},
			{"type", &type_host_path_type, FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(2),
				"What must be there, or may be made: Directory, File, Socket and so on.", NULL, "\"\""},
			{0},
		},
};

static const struct type type_storage_medium = {.kind = TYPE_STRING, .go_type = "v1.StorageMedium"};

static const struct type type_empty_dir_source = {
	CORE_OBJECT("EmptyDirVolumeSource", "An empty folder that lives as long as the pod."),
	.fields =
		(const struct field[]){
			{"medium", &type_storage_medium, FIELD_NUMBER(1), "Where it is kept: the node's default, or Memory.",
				NULL, NULL},
			{"sizeLimit", &type_quantity, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "How much may be put into it.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_git_repo_source = {
	CORE_OBJECT("GitRepoVolumeSource", "A git repository, cloned into an empty folder."),
	.fields =
		(const struct field[]){
			{"repository", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "URL of the repository.",
				NULL, NULL},
			{"revision", &type_string, FIELD_NUMBER(2), "Commit to check out.", NULL, NULL},
			{"directory", &type_string, FIELD_NUMBER(3), "Folder to clone into.", NULL, NULL},
			{0},
		},
};

static const struct type type_key_to_path = {
	CORE_OBJECT("KeyToPath", "One key that becomes a file."),
	.fields =
		(const struct field[]){
			{"key", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "The key.", NULL, NULL},
			{"path", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"The file, below the volume's folder.", NULL, NULL},
			{"mode", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Permissions of the file.", NULL, NULL},
			{0},
		},
};

static const struct type list_key_to_paths = LIST_OF(type_key_to_path);

static const struct type type_secret_source = {
	CORE_OBJECT("SecretVolumeSource", "The values of a Secret, as files."),
	.fields =
		(const struct field[]){
			{"secretName", &type_string, FIELD_NUMBER(1), "Name of the Secret.", NULL, NULL},
			{"items", &list_key_to_paths, FIELD_NUMBER(2), "Which keys become which files; all where empty.", NULL,
				NULL},
			{"defaultMode", &type_int32, FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(3),
				"Permissions of files that name none.", NULL, "420"},
			{"optional", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "Whether the pod starts without it.", NULL,
				NULL},
			{0},
		},
};

const struct type type_nfs_source = {
	CORE_OBJECT("NFSVolumeSource", "A folder of an NFS server."),
	.fields =
		(const struct field[]){
			{"server", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Host name or address of the server.", NULL, NULL},
			{"path", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Folder that the server exports.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(3), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

static const struct type type_claim_source = {
	CORE_OBJECT("PersistentVolumeClaimVolumeSource", "The volume bound to a claim."),
	.fields =
		(const struct field[]){
			{"claimName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Name of the claim in the pod's namespace.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(2), "Mount it read-only.", NULL, NULL},
			{0},
		},
};

static const struct type type_downward_api_volume_file = {
	CORE_OBJECT("DownwardAPIVolumeFile", "One field that becomes a file."),
	.fields =
		(const struct field[]){
			{"path", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"The file, below the volume's folder.", NULL, NULL},
			{"fieldRef", &type_object_field_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "A field of the pod.",
				NULL, NULL},
			{"resourceFieldRef", &type_resource_field_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(3),
				"A resource of a container.", NULL, NULL},
			{"mode", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "Permissions of the file.", NULL, NULL},
			{0},
		},
};

static const struct type list_downward_api_volume_files = LIST_OF(type_downward_api_volume_file);

static const struct type type_downward_api_source = {
	CORE_OBJECT("DownwardAPIVolumeSource", "What is known about the pod, as files."),
	.fields =
		(const struct field[]){
			{"items", &list_downward_api_volume_files, FIELD_NUMBER(1), "Which fields become which files.", NULL,
				NULL},
			{"defaultMode", &type_int32, FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(2),
				"Permissions of files that name none.", NULL, "420"},
			{0},
		},
};

static const struct type type_config_map_source = {
	CORE_OBJECT("ConfigMapVolumeSource", "The values of a ConfigMap, as files."),
	.embedded = "LocalObjectReference",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER_IN(1, 1), "Name of the ConfigMap.", NULL, "\"\""},
			{"items", &list_key_to_paths, FIELD_NUMBER(2), "Which keys become which files; all where empty.", NULL,
				NULL},
			{"defaultMode", &type_int32, FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(3),
				"Permissions of files that name none.", NULL, "420"},
			{"optional", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "Whether the pod starts without it.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_secret_projection = {
	CORE_OBJECT("SecretProjection", "Values of a Secret within a projected volume."),
	.embedded = "LocalObjectReference",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER_IN(1, 1), "Name of the Secret.", NULL, "\"\""},
			{"items", &list_key_to_paths, FIELD_NUMBER(2), "Which keys become which files; all where empty.", NULL,
				NULL},
			{"optional", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "Whether the pod starts without it.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_downward_api_projection = {
	CORE_OBJECT("DownwardAPIProjection", "What is known about the pod, within a projected volume."),
	.fields =
		(const struct field[]){
			{"items", &list_downward_api_volume_files, FIELD_NUMBER(1), "Which fields become which files.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_config_map_projection = {
	CORE_OBJECT("ConfigMapProjection", "Values of a ConfigMap within a projected volume."),
	.embedded = "LocalObjectReference",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER_IN(1, 1), "Name of the ConfigMap.", NULL, "\"\""},
			{"items", &list_key_to_paths, FIELD_NUMBER(2), "Which keys become which files; all where empty.", NULL,
				NULL},
			{"optional", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "Whether the pod starts without it.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_service_account_token_projection = {
	CORE_OBJECT("ServiceAccountTokenProjection", "A token of the pod's service account within a projected volume."),
	.fields =
		(const struct field[]){
			{"audience", &type_string, FIELD_NUMBER(1), "For whom the token is.", NULL, NULL},
			{"expirationSeconds", &type_int64, FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(2),
				"How long a token lasts before it is replaced.", NULL, "3600"},
			{"path", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3),
				"The file, below the volume's folder.", NULL, NULL},
			{0},
		},
};

static const struct type type_cluster_trust_bundle_projection = {
	CORE_OBJECT("ClusterTrustBundleProjection", "Trust anchors within a projected volume."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "Name of one bundle.", NULL, NULL},
			{"signerName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Signer whose bundles are taken.",
				NULL, NULL},
			{"labelSelector", &type_label_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(3),
				"Which bundles of the signer.", NULL, NULL},
			{"optional", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(5), "Whether the pod starts without it.", NULL,
				NULL},
			{"path", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(4),
				"The file, below the volume's folder.", NULL, NULL},
			{0},
		},
};

static const struct type type_pod_certificate_projection = {
	CORE_OBJECT("PodCertificateProjection", "A key and a certificate within a projected volume."),
	.fields =
		(const struct field[]){
			{"signerName", &type_string, FIELD_MANDATORY | FIELD_NUMBER(1), "Who signs the certificate.", NULL,
				NULL},
			{"keyType", &type_string, FIELD_MANDATORY | FIELD_NUMBER(2), "Kind of key to make.", NULL, NULL},
			{"maxExpirationSeconds", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(3),
				"How long the certificate may last.", NULL, NULL},
			{"credentialBundlePath", &type_string, FIELD_NUMBER(4), "File for key and certificates together.", NULL,
				NULL},
			{"keyPath", &type_string, FIELD_NUMBER(5), "File for the key.", NULL, NULL},
			{"certificateChainPath", &type_string, FIELD_NUMBER(6), "File for the certificates.", NULL, NULL},
			{"userAnnotations", &type_string_map, FIELD_NUMBER(7), "Further statements handed to the signer.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_volume_projection = {
	CORE_OBJECT("VolumeProjection", "One source of a projected volume; exactly one member may be set."),
	.fields =
		(const struct field[]){
			{"secret", &type_secret_projection, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "Values of a Secret.", NULL,
				NULL},
			{"downwardAPI", &type_downward_api_projection, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
				"What is known about the pod.", NULL, NULL},
			{"configMap", &type_config_map_projection, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Values of a ConfigMap.",
				NULL, NULL},
			{"serviceAccountToken", &type_service_account_token_projection, FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
				"A token of the pod's service account.", NULL, NULL},
			{"clusterTrustBundle", &type_cluster_trust_bundle_projection, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"Trust anchors of the cluster.", NULL, NULL},
			{"podCertificate", &type_pod_certificate_projection, FIELD_KEEP_EMPTY | FIELD_NUMBER(6),
				"A key and a certificate made for the pod.", NULL, NULL},
			{0},
		},
};

static const struct type list_volume_projections = LIST_OF(type_volume_projection);

static const struct type type_projected_source = {
	CORE_OBJECT("ProjectedVolumeSource", "Several sources in one folder."),
	.fields =
		(const struct field[]){
			{"sources", &list_volume_projections, FIELD_ALWAYS | FIELD_NUMBER(1), "The sources.", NULL, NULL},
			{"defaultMode", &type_int32, FIELD_KEEP_EMPTY | FIELD_SILENT_DEFAULT | FIELD_NUMBER(2),
				"Permissions of files that name none.", NULL, "420"},
			{0},
		},
};

static const struct type type_csi_source = {
	CORE_OBJECT("CSIVolumeSource", "A volume that a CSI driver makes for this pod."),
	.fields =
		(const struct field[]){
			{"driver", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the driver.", NULL,
				NULL},
			{"readOnly", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Mount it read-only.", NULL, NULL},
			{"fsType", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "File system of the volume.", NULL, NULL},
			{"volumeAttributes", &type_string_map, FIELD_NUMBER(4), "What is handed to the driver.", NULL, NULL},
			{"nodePublishSecretRef", &type_local_object_reference, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"Secret handed to the driver when it mounts.", NULL, NULL},
			{0},
		},
};

static const struct type type_ephemeral_source = {
	CORE_OBJECT("EphemeralVolumeSource", "A volume claimed for this pod and released with it."),
	.fields =
		(const struct field[]){
			{"volumeClaimTemplate", &type_claim_template, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"The claim that is made.", NULL, NULL},
			{0},
		},
};

static const struct type type_pull_policy = {.kind = TYPE_STRING, .go_type = "v1.PullPolicy"};

static const struct type type_image_source = {
	CORE_OBJECT("ImageVolumeSource", "An OCI image or artifact, read-only."),
	.fields =
		(const struct field[]){
			{"reference", &type_string, FIELD_NUMBER(1), "The image, as containers name theirs.", NULL, NULL},
			{"pullPolicy", &type_pull_policy, FIELD_NUMBER(2), "When it is fetched: Always, Never or IfNotPresent.",
				NULL, NULL},
			{0},
		},
};

const struct type type_volume = {
	CORE_OBJECT("Volume", "Storage with a name, by which containers mount it."),
	.embedded = "VolumeSource",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Name of the volume, unique in the pod.", NULL, NULL},
			{"hostPath", &type_host_path_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 1),
				"A file or folder of the node.", NULL, NULL},
			{"emptyDir", &type_empty_dir_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 2),
				"An empty folder that lives as long as the pod.", NULL, NULL},
			{"gcePersistentDisk", &type_gce_persistent_disk_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 3),
				"A disk of Google Compute Engine.", NULL, NULL},
			{"awsElasticBlockStore", &type_aws_elastic_block_store_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 4),
				"A disk of Amazon Elastic Block Store.", NULL, NULL},
			{"gitRepo", &type_git_repo_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 5),
				"A git repository. No longer supported by kubelets.", NULL, NULL},
			{"secret", &type_secret_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 6),
				"The values of a Secret, as files.", NULL, NULL},
			{"nfs", &type_nfs_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 7), "A folder of an NFS server.", NULL,
				NULL},
			{"iscsi", &type_iscsi_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 8), "A disk of an iSCSI target.",
				NULL, NULL},
			{"glusterfs", &type_glusterfs_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 9), "A Glusterfs volume.",
				NULL, NULL},
			{"persistentVolumeClaim", &type_claim_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 10),
				"The volume bound to a claim in the same namespace.", NULL, NULL},
			{"rbd", &type_rbd_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 11), "A Ceph block device.", NULL,
				NULL},
			{"flexVolume", &type_flex_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 12),
				"A volume of a FlexVolume driver.", NULL, NULL},
			{"cinder", &type_cinder_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 13),
				"An OpenStack Cinder volume.", NULL, NULL},
			{"cephfs", &type_ceph_fs_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 14), "A Ceph file system.", NULL,
				NULL},
			{"flocker", &type_flocker_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 15), "A Flocker dataset.", NULL,
				NULL},
			{"downwardAPI", &type_downward_api_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 16),
				"What is known about the pod, as files.", NULL, NULL},
			{"fc", &type_fc_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 17), "A Fibre Channel disk.", NULL, NULL},
			{"azureFile", &type_azure_file_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 18),
				"An Azure file share.", NULL, NULL},
			{"configMap", &type_config_map_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 19),
				"The values of a ConfigMap, as files.", NULL, NULL},
			{"vsphereVolume", &type_vsphere_virtual_disk_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 20),
				"A vSphere disk.", NULL, NULL},
			{"quobyte", &type_quobyte_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 21), "A Quobyte volume.", NULL,
				NULL},
			{"azureDisk", &type_azure_disk_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 22), "An Azure data disk.",
				NULL, NULL},
			{"photonPersistentDisk", &type_photon_persistent_disk_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 23),
				"A Photon disk.", NULL, NULL},
			{"projected", &type_projected_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 26),
				"Several sources in one folder.", NULL, NULL},
			{"portworxVolume", &type_portworx_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 24),
				"A Portworx volume.", NULL, NULL},
			{"scaleIO", &type_scale_io_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 25), "A ScaleIO volume.", NULL,
				NULL},
			{"storageos", &type_storage_os_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 27), "A StorageOS volume.",
				NULL, NULL},
			{"csi", &type_csi_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 28),
				"A volume that a CSI driver makes for this pod.", NULL, NULL},
			{"ephemeral", &type_ephemeral_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 29),
				"A volume claimed for this pod and released with it.", NULL, NULL},
			{"image", &type_image_source, FIELD_KEEP_EMPTY | FIELD_NUMBER_IN(2, 30),
				"An OCI image or artifact, read-only.", NULL, NULL},
			{0},
		},
};
