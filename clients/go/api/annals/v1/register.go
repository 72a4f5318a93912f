// Code generated from the declarations in api/kinds by make docs. DO NOT EDIT.

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of annals.
const GroupName = "annals.dev"

// GroupVersion is the group and version of all kinds in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

// SchemeGroupVersion is GroupVersion, by the name that generated clients use.
var SchemeGroupVersion = GroupVersion

// SchemeBuilder collects what adds the kinds to a scheme.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme adds the kinds of this package to a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

// Kind returns a kind of this group with its group.
func Kind(kind string) schema.GroupKind {
	return GroupVersion.WithKind(kind).GroupKind()
}

// Resource returns a resource of this group with its group.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ControllerRevision{},
		&ControllerRevisionList{},
		&Dependent{},
		&DependentList{},
		&History{},
		&HistoryList{},
		&Provider{},
		&ProviderList{},
		&Recorder{},
		&RecorderList{},
		&Recording{},
		&Snapshot{},
		&StorageMigration{},
		&StorageMigrationList{},
		&StorageVersion{},
		&StorageVersionList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
