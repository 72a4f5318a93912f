// Code generated from the declarations in api/kinds by make docs. DO NOT EDIT.

package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ControllerRevision: One state of a controller's object, kept for history: the state (data) and
// the order in which it came (revision). The data cannot be changed once it is written. To roll
// back, write the data into the object again.
//
// Deprecated: use annals.dev/v1 ControllerRevision.
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

// Dependent: Needs the Provider that it names: the Provider is not removed before the Dependent is.
//
// Deprecated: use annals.dev/v1 Dependent.
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

// Provider: An object that Dependents need. It stays as long as a Dependent refers to it: a
// deletion begins, and ends when the last of these Dependents is gone.
//
// Deprecated: use annals.dev/v1 Provider.
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

// StatefulSet: Pods that differ in their ordinals alone, each with a name and storage that it
// keeps.
type StatefulSet struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the set is to be.
	// +optional
	Spec StatefulSetSpec `json:"spec"`

	// What became of it.
	// +optional
	Status StatefulSetStatus `json:"status"`
}

// StatefulSetList is a list of statefulsets.
type StatefulSetList struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []StatefulSet `json:"items"`
}

// DependentImplementation: The object that was made for a Dependent.
type DependentImplementation struct {
	// Its kind.
	Kind string `json:"kind"`

	// The name of the object.
	Name string `json:"name"`
}

// DependentSpec: The objects that a Dependent needs. It cannot be changed.
type DependentSpec struct {
	// The name of the Provider that must stay as long as this Dependent.
	ProviderName string `json:"providerName"`

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

// StatefulSetSpec: What a StatefulSet is to be.
type StatefulSetSpec struct {
	// How many pods there shall be; 1 if absent.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Which pods are the set's; at creation, if absent, those with the template's labels.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// What the pods are to be.
	Template corev1.PodTemplateSpec `json:"template"`

	// Claims of storage that each pod gets, and finds again.
	// +listType=atomic
	// +optional
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`

	// The service under which the pods have names.
	// +optional
	ServiceName string `json:"serviceName"`

	// Counts the changes of the template. The server's: what clients send is not looked at.
	// +optional
	TemplateGeneration *int64 `json:"templateGeneration,omitempty"`

	// Pods with lower ordinals stay of the current generation; absent is 0.
	// +optional
	GenerationPartition *int32 `json:"generationPartition,omitempty"`

	// How many revisions are kept, at least 2; 10 if absent.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// StatefulSetStatus: What became of a StatefulSet. Shows no updatedReplicas once an update is
// complete.
type StatefulSetStatus struct {
	// metadata.generation of what was looked at.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// How many pods there are.
	Replicas int32 `json:"replicas"`

	// How many of them are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// How many of them are of the current revision.
	// +optional
	CurrentReplicas int32 `json:"currentReplicas,omitempty"`

	// How many of them are of the revision that is rolled out.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`

	// Name of the current revision.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// Name of the revision that is rolled out.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// How often the name of a new revision was taken.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// What was observed, one for each type.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []appsv1.StatefulSetCondition `json:"conditions,omitempty"`

	// How many pods have been ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// The current generation of the template.
	// +optional
	TemplateGeneration *int64 `json:"templateGeneration,omitempty"`

	// The generation of the template that is rolled out.
	// +optional
	TargetTemplateGeneration *int64 `json:"targetTemplateGeneration,omitempty"`
}
