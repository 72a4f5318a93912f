// Code generated from the declarations in api/kinds by make docs. DO NOT EDIT.

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ControllerRevision: One state of a controller's object, kept for history: the state (data) and
// the order in which it came (revision). The data cannot be changed once it is written. To roll
// back, write the data into the object again.
type ControllerRevision struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The state: any JSON object. It cannot be changed.
	// +optional
	Data runtime.RawExtension `json:"data"`

	// The number of the state: the highest number is the newest state. It is 0 or more, and can
	// be changed.
	Revision int64 `json:"revision"`
}

// ControllerRevisionList is a list of controllerrevisions.
type ControllerRevisionList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ControllerRevision `json:"items"`
}

// Dependent: Needs the objects that it names: none of them is removed before the Dependent is.
type Dependent struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The objects that it needs. It cannot be changed.
	// +optional
	Spec DependentSpec `json:"spec"`

	// The observed state. The controller writes it.
	// +optional
	Status DependentStatus `json:"status"`
}

// DependentList is a list of dependents.
type DependentList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Dependent `json:"items"`
}

// History: The history of one object: its last changes, and the revision that holds its state. The
// History is the controller of its revisions. It stays when the object is deleted.
type History struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The object whose history this is. It cannot be changed.
	Spec HistorySpec `json:"spec"`

	// What was recorded. Only Snapshots change it.
	// +optional
	Status HistoryStatus `json:"status"`
}

// HistoryList is a list of histories.
type HistoryList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []History `json:"items"`
}

// Provider: An object that Dependents need. It stays as long as a Dependent refers to it: a
// deletion begins, and ends when the last of these Dependents is gone.
type Provider struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The data that is provided.
	// +optional
	Spec ProviderSpec `json:"spec"`

	// The observed state.
	// +optional
	Status ProviderStatus `json:"status"`
}

// ProviderList is a list of providers.
type ProviderList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Provider `json:"items"`
}

// Recorder: Names resources whose objects are recorded: each object gets a History, and each of its
// states a revision.
type Recorder struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The objects that have a history, and the part of them that is kept.
	Spec RecorderSpec `json:"spec"`

	// The state of the recording.
	// +optional
	Status RecorderStatus `json:"status"`
}

// RecorderList is a list of recorders.
type RecorderList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Recorder `json:"items"`
}

// Recording: Asks the server to record what was seen of objects, each in its History. A Recording
// is answered, and not stored. The answer leaves out the sightings.
type Recording struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The objects that were seen.
	Spec RecordingSpec `json:"spec"`

	// The answer of the server.
	// +optional
	Status RecordingStatus `json:"status"`
}

// Snapshot: Asks the server to keep a state of an object: to find or make its revision, and to
// delete old ones. A Snapshot is answered, and not stored.
type Snapshot struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The state that is to be kept.
	Spec SnapshotSpec `json:"spec"`

	// The answer of the server.
	// +optional
	Status SnapshotStatus `json:"status"`
}

// StorageMigration: Rewrites all objects of a resource in the version that all replicas of the
// server store.
type StorageMigration struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The objects that are to be migrated.
	Spec StorageMigrationSpec `json:"spec"`

	// The progress. The server writes it.
	// +optional
	Status StorageMigrationStatus `json:"status"`
}

// StorageMigrationList is a list of storagemigrations.
type StorageMigrationList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []StorageMigration `json:"items"`
}

// StorageVersion: The version in which each replica of the server stores the objects of a resource,
// and the versions of the stored objects. Its name is RESOURCE.GROUP. Only the server writes it.
type StorageVersion struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The observed state.
	// +optional
	Status StorageVersionStatus `json:"status"`
}

// StorageVersionList is a list of storageversions.
type StorageVersionList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []StorageVersion `json:"items"`
}

// DependentImplementation: The object that was made for a Dependent.
type DependentImplementation struct {
	// Its kind.
	Kind string `json:"kind"`

	// The name of the object.
	Name string `json:"name"`
}

// DependentReference: An object of the same namespace.
type DependentReference struct {
	// The kind of the object: Provider or ControllerRevision.
	// +optional
	Kind string `json:"kind,omitempty"`

	// The name of the object.
	Name string `json:"name"`
}

// DependentSpec: The objects that a Dependent needs. It cannot be changed.
type DependentSpec struct {
	// The objects that must stay as long as this Dependent: 1 to 32, in its namespace. A
	// ControllerRevision must have the label annals.dev/protect=true from its creation on.
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	Providers []DependentReference `json:"providers"`

	// Decides about the creation of a Dependent while an object that it names is absent or
	// being deleted. Wait: the Dependent is created, and waits for the object. Refuse: the
	// server refuses it with 409 Conflict.
	// +optional
	WhenMissing string `json:"whenMissing,omitempty"`
}

// DependentStatus: The observed state of a Dependent.
type DependentStatus struct {
	// Pending: it waits for objects. Implemented: it has its implementation. Broken: it can
	// never have one.
	// +optional
	Phase string `json:"phase,omitempty"`

	// The object that was made for the Dependent, from the data of its Providers.
	// +optional
	Implementation *DependentImplementation `json:"implementation,omitempty"`

	// The metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The conditions Ready and Broken.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// HistoryChange: A change of the object.
type HistoryChange struct {
	// Created, Changed or Deleted. Released: no Recorder selects the object any more, so its
	// states are not recorded. Adopted: a Recorder selects it again. Rerecorded: nobody changed
	// the object, but its state is recorded by other rules or in another API version.
	Type string `json:"type"`

	// When the change was noticed.
	Time metav1.Time `json:"time"`

	// The field managers that own the changed fields: at most 8.
	// +listType=atomic
	// +optional
	Managers []string `json:"managers,omitempty"`

	// The annotation kubernetes.io/change-cause of the object: at most 1024 bytes.
	// +optional
	Cause string `json:"cause,omitempty"`

	// JSON pointers to the changed values: at most 32.
	// +listType=atomic
	// +optional
	Paths []string `json:"paths,omitempty"`

	// The number of changed values beyond these paths.
	// +optional
	MorePaths int64 `json:"morePaths,omitempty"`

	// The resourceVersion of the object after the change.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`

	// The metadata.generation of the object after the change, if it has one.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// True: states between the change before and this one may be missing. The recorder did not
	// see them.
	// +optional
	Skipped bool `json:"skipped,omitempty"`

	// What is known of the missing states, if skipped is true.
	// +optional
	Gap *HistoryGap `json:"gap,omitempty"`

	// The name of the revision that holds the state after the change.
	// +optional
	Revision string `json:"revision,omitempty"`

	// The number that this revision had then.
	// +optional
	Number int64 `json:"number,omitempty"`

	// The user who made the change. Absent: nobody knows for certain.
	// +optional
	User string `json:"user,omitempty"`

	// The digest of the state after the change. Absent: annals 0.1 recorded the change, or the
	// object was deleted.
	// +optional
	Digest string `json:"digest,omitempty"`

	// The SHA-256 of the item before this one, in hexadecimal digits, over its canonical text.
	// Absent: there was none, or annals 0.1 recorded the change.
	// +optional
	Previous string `json:"previous,omitempty"`
}

// HistoryGap: The states between two changes that the recorder did not see.
type HistoryGap struct {
	// The resourceVersion of the object after the last change that was recorded.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`

	// The time of the last change that was recorded.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// At least so many states are missing. Absent: nobody knows how many.
	// +optional
	States int64 `json:"states,omitempty"`

	// Users who certainly wrote in the gap, besides the user of the change: at most 16.
	// +listType=atomic
	// +optional
	Authors []HistoryGapAuthor `json:"authors,omitempty"`

	// True: others may have written in the gap, too. Nobody knows for certain who.
	// +optional
	MoreAuthors bool `json:"moreAuthors,omitempty"`
}

// HistoryGapAuthor: A user who wrote the object in a gap.
type HistoryGapAuthor struct {
	// The name of the user.
	User string `json:"user"`

	// When the user last wrote in the gap.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// HistoryRevision: A ControllerRevision, which holds a state of the object.
type HistoryRevision struct {
	// Its name.
	Name string `json:"name"`

	// The number of the revision.
	Revision int64 `json:"revision"`
}

// HistorySpec: The object whose history this is. It cannot be changed.
type HistorySpec struct {
	// The object whose history this is. It cannot be changed.
	Subject HistorySubject `json:"subject"`
}

// HistoryStatus: What was recorded. Snapshots write it, in one transaction with the revisions.
type HistoryStatus struct {
	// The uid that the object had when it was last seen.
	// +optional
	UID string `json:"uid,omitempty"`

	// The API version in which the object was last read.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// When the deletion of the object was noticed. Absent: the object exists.
	// +optional
	DeletionTime *metav1.Time `json:"deletionTime,omitempty"`

	// The digest of the state that was recorded last.
	// +optional
	Digest string `json:"digest,omitempty"`

	// The revision that holds the state that was recorded last.
	// +optional
	Revision *HistoryRevision `json:"revision,omitempty"`

	// The number of revisions after the last change.
	// +optional
	Revisions int64 `json:"revisions"`

	// The numbers of these revisions, as ranges such as 1,17-60. Absent: the oldest went first.
	// +optional
	Kept string `json:"kept,omitempty"`

	// The bytes of these revisions: of the last one as compact JSON, of the others as they are
	// stored.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`

	// JSON pointers to the values that were left out of the state that was recorded last.
	// +listType=atomic
	// +optional
	Ignore []string `json:"ignore,omitempty"`

	// The number of all changes that were ever recorded.
	// +optional
	TotalChanges int64 `json:"totalChanges"`

	// The last changes, the newest last: at most 50.
	// +listType=atomic
	// +optional
	Changes []HistoryChange `json:"changes,omitempty"`
}

// HistorySubject: The object that a History is about. Its version and its uid may change.
type HistorySubject struct {
	// The API group of the object. Empty: the core group.
	// +optional
	Group string `json:"group"`

	// The kind of the object: at most 63 letters and digits.
	Kind string `json:"kind"`

	// The namespace of the object, which is that of the History. Empty: the object has none.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Its name.
	Name string `json:"name"`
}

// Keep: How long the states of an object are kept. The current state always is.
type Keep struct {
	// The time for which a state is kept after another one has replaced it, such as 2160h.
	// Absent: no limit.
	// +optional
	For *metav1.Duration `json:"for,omitempty"`

	// The number of states besides the current one that are kept however old they are: 0 to
	// 1000. Absent: 3, or atMost if that is less.
	// +optional
	AtLeast *int32 `json:"atLeast,omitempty"`

	// The number of states that are kept besides the current one: 0 to 1000. Of the user who
	// has the most, the oldest go first; the first state, and the last one of each user, go
	// last. Absent: 1000.
	// +optional
	AtMost *int32 `json:"atMost,omitempty"`

	// Of states that were replaced longer ago than that, such as 168h, only the last one of
	// each day (UTC) is kept, and also the first state and the last one of each user. Absent:
	// all are.
	// +optional
	ThinAfter *metav1.Duration `json:"thinAfter,omitempty"`

	// The bytes of the states of an object, as they are stored: at least 1024. Beyond it states
	// go as beyond atMost. The current state counts as compact JSON, and always stays. Absent:
	// no limit.
	// +optional
	Bytes *int64 `json:"bytes,omitempty"`
}

// MigratedObjects: How many objects a migration has to do with.
type MigratedObjects struct {
	// The number of all objects of the resource.
	// +optional
	Total int64 `json:"total"`

	// The number of objects that this migration has rewritten. If a server dies, those of its
	// last second are not counted.
	// +optional
	Migrated int64 `json:"migrated"`

	// The number of objects that are stored in another version.
	// +optional
	Remaining int64 `json:"remaining"`

	// The number of times that an object was changed or deleted by others just before it was to
	// be rewritten.
	// +optional
	Conflicts int64 `json:"conflicts"`
}

// ProviderSpec: The data that is provided.
type ProviderSpec struct {
	// The data that Dependents get: any JSON object.
	// +optional
	Data runtime.RawExtension `json:"data"`
}

// ProviderStatus: The observed state of a Provider.
type ProviderStatus struct {
	// The metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions, one for each type. annals sets none.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RecordedResourceStatus: The state of the recording of a resource.
type RecordedResourceStatus struct {
	// The API group of the resource. Empty: the core group.
	Group string `json:"group"`

	// The version in which its objects are read.
	// +optional
	Version string `json:"version,omitempty"`

	// The name of the resource, in the plural.
	Resource string `json:"resource"`

	// The number of its objects that are recorded.
	// +optional
	Objects int64 `json:"objects"`

	// The number of revisions that were made of them.
	// +optional
	Revisions int64 `json:"revisions"`

	// The bytes of these revisions, as their Histories count them.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`

	// The number of times that the server refused to keep a state.
	// +optional
	Refused int64 `json:"refused"`

	// The last error, in words.
	// +optional
	LastError string `json:"lastError,omitempty"`

	// All changes up to this resourceVersion are recorded. A recorder that starts begins its
	// watch here.
	// +optional
	RecordedResourceVersion string `json:"recordedResourceVersion,omitempty"`
}

// RecordedResources: Resources: each of the names in each of the groups.
type RecordedResources struct {
	// API groups: at least one. "" is the core group, "*" is any group.
	// +listType=atomic
	Groups []string `json:"groups"`

	// Names of resources in the plural, without subresources: at least one. "*" is any
	// resource.
	// +listType=atomic
	Resources []string `json:"resources"`

	// How long the states of these resources are kept. A field that is absent here has its
	// value of spec.keep. The first item that names a resource counts.
	// +optional
	Keep *Keep `json:"keep,omitempty"`
}

// RecorderSpec: The objects that have a history, and the part of them that is kept.
type RecorderSpec struct {
	// The resources that are recorded: 1 to 64 items. Groups times names, of all items
	// together, are at most 128.
	// +listType=atomic
	Resources []RecordedResources `json:"resources"`

	// Selects namespaces by their labels: their objects are recorded. Absent: all namespaces.
	// At most 64 requirements.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// Selects objects by their labels. Absent: all objects. At most 64 requirements.
	// +optional
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty"`

	// JSON pointers to values that do not belong to the state: they are not kept, and a change
	// of them is not recorded. The segment * stands for any member or item. At most 64.
	// +listType=atomic
	// +optional
	Ignore []string `json:"ignore,omitempty"`

	// JSON pointers to values that are not kept: a salted digest takes their place. The segment
	// * stands for any member or item. At most 64.
	// +listType=atomic
	// +optional
	Redact []string `json:"redact,omitempty"`

	// Redact: salted digests take the place of the data of Secrets. Record: the data is kept;
	// whoever writes this needs the verb unredact on recorders.
	// +optional
	SecretData string `json:"secretData,omitempty"`

	// The number of revisions of an object that are kept besides the current one: 0 to 1000.
	// With keep, keep.atMost counts in its place.
	// +optional
	HistoryLimit *int32 `json:"historyLimit,omitempty"`

	// How long the states of an object are kept. Absent: historyLimit alone counts.
	// +optional
	Keep *Keep `json:"keep,omitempty"`

	// The size of the largest state that is kept, as compact JSON: 1024 to 1048576 bytes. Of a
	// larger state only the digest is kept.
	// +optional
	MaxObjectBytes *int64 `json:"maxObjectBytes,omitempty"`

	// The time for which a History stays after its object was deleted, such as 720h0m0s or 30m.
	// +optional
	KeepDeleted *metav1.Duration `json:"keepDeleted,omitempty"`

	// The namespace for the Histories of objects that have no namespace. It cannot be changed.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// The key of the digests of redacted values: 16 to 64 bytes. Absent: the server derives one
	// from the name, the resources, and a secret of its own. It cannot be changed.
	// +optional
	Salt []byte `json:"salt,omitempty"`
}

// RecorderStatus: The state of the recording.
type RecorderStatus struct {
	// The metadata.generation of the spec that is in effect.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The resources that are followed.
	// +listType=map
	// +listMapKey=group
	// +listMapKey=resource
	// +optional
	Resources []RecordedResourceStatus `json:"resources,omitempty"`

	// The condition Recording: all resources that the Recorder names are followed.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RecordingHistory: The History of the object.
type RecordingHistory struct {
	// The namespace: that of the sighting, or an archive of it, if that namespace is deleted.
	// +optional
	Namespace string `json:"namespace"`

	// The name.
	// +optional
	Name string `json:"name"`

	// The resourceVersion that it has now.
	// +optional
	ResourceVersion string `json:"resourceVersion"`

	// The number of its revisions.
	// +optional
	Revisions int64 `json:"revisions"`

	// The bytes of its revisions, as in its status.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
}

// RecordingResult: The answer of the server to one sighting.
type RecordingResult struct {
	// Recorded: a change was added to the History. Equal: the History lists it already, or
	// there is nothing to record. Trimmed: states have gone as `keep` says. Overtaken: the
	// History has something newer, so only a look at the object itself can decide. Refused: see
	// error.
	// +optional
	Result string `json:"result"`

	// The type of the change that was recorded.
	// +optional
	Type string `json:"type,omitempty"`

	// True: the change says that states before it may be missing.
	// +optional
	Skipped bool `json:"skipped,omitempty"`

	// The number of states that are missing at least, if that is known.
	// +optional
	SkippedStates int64 `json:"skippedStates,omitempty"`

	// The revision that holds the state.
	// +optional
	Revision *SnapshotRevision `json:"revision,omitempty"`

	// The History of the object.
	// +optional
	History *RecordingHistory `json:"history,omitempty"`

	// The number of states that have gone.
	// +optional
	Trimmed int64 `json:"trimmed,omitempty"`

	// True: more states are to go. Send the sighting again.
	// +optional
	More bool `json:"more,omitempty"`

	// A Status, as the answer to a request for this sighting alone would be.
	// +optional
	Error *runtime.RawExtension `json:"error,omitempty"`
}

// RecordingSpec: The objects that were seen.
type RecordingSpec struct {
	// The objects that were seen: at most 64. They are recorded in this order.
	// +listType=atomic
	Sightings []Sighting `json:"sightings,omitempty"`
}

// RecordingStatus: The answer of the server.
type RecordingStatus struct {
	// A result for each sighting, in the same order.
	// +listType=atomic
	// +optional
	Results []RecordingResult `json:"results,omitempty"`
}

// ServerStorageVersion: What one replica stores and understands.
type ServerStorageVersion struct {
	// The name of the replica.
	APIServerID string `json:"apiServerID"`

	// The address of the replica, for people.
	// +optional
	Address string `json:"address,omitempty"`

	// The version in which the replica stores objects. Absent: it stores none, since there is
	// no version that all replicas can decode.
	// +optional
	EncodingVersion string `json:"encodingVersion,omitempty"`

	// The version in which the replica would store objects if all replicas could decode it.
	// Absent: it is encodingVersion.
	// +optional
	WantedVersion string `json:"wantedVersion,omitempty"`

	// The versions that the replica can decode.
	// +listType=set
	// +optional
	DecodableVersions []string `json:"decodableVersions,omitempty"`

	// The versions that the replica serves.
	// +listType=set
	// +optional
	ServedVersions []string `json:"servedVersions,omitempty"`
}

// Sighting: One look at an object that is recorded.
type Sighting struct {
	// The namespace of the History: that of the object, if it has one. If the object is absent,
	// it may be an archive of that.
	Namespace string `json:"namespace"`

	// The object. Its History is made, if there is none.
	Subject HistorySubject `json:"subject"`

	// The number of revisions that are kept besides the current one: 0 or more. With keep,
	// keep.atMost counts in its place.
	// +optional
	HistoryLimit *int32 `json:"historyLimit,omitempty"`

	// How long the states of the object are kept.
	// +optional
	Keep *Keep `json:"keep,omitempty"`

	// Present, Absent, or Unselected: it exists, but no Recorder selects it, so its state is
	// not recorded. Unseen: nobody looked, and states of its History go as `keep` says.
	Found string `json:"found"`

	// When it was seen.
	Time metav1.Time `json:"time"`

	// True: the object itself was read for this sighting. It is recorded even if the History
	// lists a newer version.
	// +optional
	Live bool `json:"live,omitempty"`

	// True: nobody saw the change itself, so its time is that of the field managers, if they
	// are known.
	// +optional
	Late bool `json:"late,omitempty"`

	// True: states before this one may not have been seen.
	// +optional
	AfterGap bool `json:"afterGap,omitempty"`

	// The number of states that were seen before, and dropped.
	// +optional
	SkippedStates int64 `json:"skippedStates,omitempty"`

	// With afterGap: up to this resourceVersion all objects of the kind were recorded. A
	// History that begins with a newer version of its object says that states before may be
	// missing.
	// +optional
	GapResourceVersion string `json:"gapResourceVersion,omitempty"`

	// The resourceVersion of the object. Absent: not known.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`

	// The resourceVersion of the object that the last write replaced. Absent: not known, and
	// then the user is not, unless the object was created.
	// +optional
	AfterResourceVersion string `json:"afterResourceVersion,omitempty"`

	// Up to this resourceVersion all was recorded before, though perhaps by other rules.
	// +optional
	SettledResourceVersion string `json:"settledResourceVersion,omitempty"`

	// The uid of the object. Required, unless it is absent.
	// +optional
	UID string `json:"uid,omitempty"`

	// The API version in which the object was read. Required, unless it is absent.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// The annotation kubernetes.io/change-cause of the object: at most 1024 bytes.
	// +optional
	Cause string `json:"cause,omitempty"`

	// The metadata.creationTimestamp of the object.
	// +optional
	CreationTimestamp *metav1.Time `json:"creationTimestamp,omitempty"`

	// The metadata.generation of the object, if it has one.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// The digest of the data. If the data has another one, it is refused.
	// +optional
	Digest string `json:"digest,omitempty"`

	// The digest of the whole object. The server finds the user of the change by it.
	// +optional
	WriteDigest string `json:"writeDigest,omitempty"`

	// JSON pointers to the values that were left out of the data: at most 64.
	// +listType=atomic
	// +optional
	Ignore []string `json:"ignore,omitempty"`

	// The metadata.managedFields of the object. The server finds the managers of the changed
	// fields in it.
	// +optional
	ManagedFields *runtime.RawExtension `json:"managedFields,omitempty"`

	// The state: any JSON object. Required if the object is present.
	// +optional
	Data *runtime.RawExtension `json:"data,omitempty"`
}

// SnapshotChange: The change that led to the state, which is added to the History.
type SnapshotChange struct {
	// Created, Changed or Deleted. Released: no Recorder selects the object any more, so its
	// states are not recorded. Adopted: a Recorder selects it again. Rerecorded: nobody changed
	// the object, but its state is recorded by other rules or in another API version.
	Type string `json:"type"`

	// When the change was noticed.
	Time metav1.Time `json:"time"`

	// The field managers that own the changed fields: at most 8.
	// +listType=atomic
	// +optional
	Managers []string `json:"managers,omitempty"`

	// The annotation kubernetes.io/change-cause of the object: at most 1024 bytes.
	// +optional
	Cause string `json:"cause,omitempty"`

	// JSON pointers to the changed values: at most 32.
	// +listType=atomic
	// +optional
	Paths []string `json:"paths,omitempty"`

	// The number of changed values beyond these paths.
	// +optional
	MorePaths int64 `json:"morePaths,omitempty"`

	// The resourceVersion of the object after the change.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`

	// The metadata.generation of the object after the change, if it has one.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// True: states between the change before and this one may be missing. The recorder did not
	// see them.
	// +optional
	Skipped bool `json:"skipped,omitempty"`

	// What is known of the missing states, if skipped is true.
	// +optional
	Gap *SnapshotGap `json:"gap,omitempty"`

	// The uid of the object. Required, unless the object was deleted.
	// +optional
	UID string `json:"uid,omitempty"`

	// The API version in which the object was read. Required, unless the object was deleted.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// JSON pointers to the values that were left out of the state: at most 64.
	// +listType=atomic
	// +optional
	Ignore []string `json:"ignore,omitempty"`

	// The resourceVersion of the History that the client has read. If the History has another
	// one now, the answer is 409 Conflict.
	HistoryResourceVersion string `json:"historyResourceVersion"`

	// The digest of the whole object. The server finds the user of the change by it.
	// +optional
	WriteDigest string `json:"writeDigest,omitempty"`

	// The resourceVersion of the object that the write replaced. Absent: not known, and then
	// the user is not, unless the object was created.
	// +optional
	AfterResourceVersion string `json:"afterResourceVersion,omitempty"`
}

// SnapshotGap: The states before a change that the recorder did not see. The server adds who wrote
// them.
type SnapshotGap struct {
	// The resourceVersion of the object after the last change that was recorded.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`

	// The time of the last change that was recorded.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// At least so many states are missing. Absent: nobody knows how many.
	// +optional
	States int64 `json:"states,omitempty"`
}

// SnapshotHistory: The History to which the change was added.
type SnapshotHistory struct {
	// The name.
	// +optional
	Name string `json:"name"`

	// The resourceVersion that it has now.
	// +optional
	ResourceVersion string `json:"resourceVersion"`
}

// SnapshotRevision: A ControllerRevision.
type SnapshotRevision struct {
	// The name.
	// +optional
	Name string `json:"name"`

	// The number of the revision.
	// +optional
	Revision int64 `json:"revision"`
}

// SnapshotSpec: The state that is to be kept.
type SnapshotSpec struct {
	// The object whose state this is. It becomes the controller of the revision, so controller
	// must be true.
	Owner metav1.OwnerReference `json:"owner"`

	// Labels of the revision, if one is made.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// The state: any JSON object. Required, unless the change is a deletion.
	// +optional
	Data runtime.RawExtension `json:"data"`

	// The start of the name of a new revision: at most 243 characters. The digest of the data
	// follows. Absent: the name of the owner and a dash.
	// +optional
	NamePrefix string `json:"namePrefix,omitempty"`

	// The number of revisions that are kept besides the current one and those in use: 0 or
	// more. Older ones are deleted in the same transaction. With keep, keep.atMost counts in
	// its place.
	// +optional
	HistoryLimit *int32 `json:"historyLimit,omitempty"`

	// How long the states of a History are kept. Forbidden for other owners.
	// +optional
	Keep *Keep `json:"keep,omitempty"`

	// The names of the revisions that are in use, by pods for example: they are kept, and not
	// counted. An empty list says that none is. Where annals serves the pods it also knows of
	// these by itself. Elsewhere nothing is deleted if the list is absent, unless the owner is
	// a History.
	// +listType=atomic
	// +optional
	Live []string `json:"live,omitzero"`

	// The change that led to the state. Required if the owner is a History, and forbidden
	// otherwise. The History is written in the same transaction.
	// +optional
	Change *SnapshotChange `json:"change,omitempty"`
}

// SnapshotStatus: The answer of the server.
type SnapshotStatus struct {
	// Created: a revision was made. Unchanged: the newest revision has this state already.
	// RolledBack: an older revision has it, and is the newest now. Deleted: the History has the
	// deletion, and no revision was made.
	// +optional
	Result string `json:"result,omitempty"`

	// The revision that holds the state.
	// +optional
	Revision *SnapshotRevision `json:"revision,omitempty"`

	// The names of the revisions that were deleted, the oldest first.
	// +listType=atomic
	// +optional
	Trimmed []string `json:"trimmed,omitempty"`

	// The History, if there was a change.
	// +optional
	History *SnapshotHistory `json:"history,omitempty"`
}

// StorageMigrationSpec: What is to be migrated. It cannot be changed.
type StorageMigrationSpec struct {
	// The resource whose objects are to be migrated. It cannot be changed.
	Resource metav1.GroupResource `json:"resource"`
}

// StorageMigrationStatus: How far a migration is.
type StorageMigrationStatus struct {
	// The conditions Running, Succeeded and Failed. While Running is False, the migration
	// waits, or has ended.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The version to which objects are rewritten.
	// +optional
	StorageVersion string `json:"storageVersion,omitempty"`

	// Numbers of objects.
	// +optional
	Objects MigratedObjects `json:"objects"`

	// NAMESPACE/NAME, or NAME, of the last object that was looked at. If another server takes
	// over, it continues behind this object.
	// +optional
	ProgressKey string `json:"progressKey,omitempty"`

	// When the migration began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// When the migration succeeded or failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// StorageVersionStatus: In which versions a kind is stored.
type StorageVersionStatus struct {
	// The versions that each live replica stores, decodes and serves.
	// +listType=map
	// +listMapKey=apiServerID
	// +optional
	StorageVersions []ServerStorageVersion `json:"storageVersions,omitempty"`

	// The version in which all replicas store objects. Absent: the replicas do not agree.
	// +optional
	CommonEncodingVersion string `json:"commonEncodingVersion,omitempty"`

	// The storageVersionHash in discovery: base64 of a hash of the group, version and kind of
	// commonEncodingVersion.
	// +optional
	StorageVersionHash string `json:"storageVersionHash,omitempty"`

	// The number of objects that are stored in each version, as counted a short time ago.
	// +listType=map
	// +listMapKey=version
	// +optional
	StoredObjects []StoredObjects `json:"storedObjects,omitempty"`

	// The condition AllEncodingVersionsEqual: all replicas store the same version.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StoredObjects: How many objects are stored in a version.
type StoredObjects struct {
	// The version.
	Version string `json:"version"`

	// The number of objects.
	Count int64 `json:"count"`
}
