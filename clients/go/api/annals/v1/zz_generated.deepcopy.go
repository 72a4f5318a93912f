// Code generated from the declarations in api/kinds by make docs. DO NOT EDIT.

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *ControllerRevision) DeepCopyInto(out *ControllerRevision) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Data.DeepCopyInto(&out.Data)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *ControllerRevision) DeepCopy() *ControllerRevision {
	if in == nil {
		return nil
	}
	out := new(ControllerRevision)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *ControllerRevision) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *ControllerRevisionList) DeepCopyInto(out *ControllerRevisionList) {
	*out = *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		in, out := &in.Items, &out.Items
		*out = make([]ControllerRevision, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *ControllerRevisionList) DeepCopy() *ControllerRevisionList {
	if in == nil {
		return nil
	}
	out := new(ControllerRevisionList)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *ControllerRevisionList) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *Dependent) DeepCopyInto(out *Dependent) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *Dependent) DeepCopy() *Dependent {
	if in == nil {
		return nil
	}
	out := new(Dependent)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *Dependent) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *DependentList) DeepCopyInto(out *DependentList) {
	*out = *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		in, out := &in.Items, &out.Items
		*out = make([]Dependent, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *DependentList) DeepCopy() *DependentList {
	if in == nil {
		return nil
	}
	out := new(DependentList)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *DependentList) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *History) DeepCopyInto(out *History) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *History) DeepCopy() *History {
	if in == nil {
		return nil
	}
	out := new(History)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *History) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *HistoryList) DeepCopyInto(out *HistoryList) {
	*out = *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		in, out := &in.Items, &out.Items
		*out = make([]History, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *HistoryList) DeepCopy() *HistoryList {
	if in == nil {
		return nil
	}
	out := new(HistoryList)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *HistoryList) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *Provider) DeepCopyInto(out *Provider) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *Provider) DeepCopy() *Provider {
	if in == nil {
		return nil
	}
	out := new(Provider)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *Provider) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *ProviderList) DeepCopyInto(out *ProviderList) {
	*out = *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		in, out := &in.Items, &out.Items
		*out = make([]Provider, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *ProviderList) DeepCopy() *ProviderList {
	if in == nil {
		return nil
	}
	out := new(ProviderList)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *ProviderList) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *Recorder) DeepCopyInto(out *Recorder) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *Recorder) DeepCopy() *Recorder {
	if in == nil {
		return nil
	}
	out := new(Recorder)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *Recorder) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *RecorderList) DeepCopyInto(out *RecorderList) {
	*out = *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		in, out := &in.Items, &out.Items
		*out = make([]Recorder, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *RecorderList) DeepCopy() *RecorderList {
	if in == nil {
		return nil
	}
	out := new(RecorderList)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *RecorderList) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *Recording) DeepCopyInto(out *Recording) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *Recording) DeepCopy() *Recording {
	if in == nil {
		return nil
	}
	out := new(Recording)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *Recording) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *Snapshot) DeepCopyInto(out *Snapshot) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *Snapshot) DeepCopy() *Snapshot {
	if in == nil {
		return nil
	}
	out := new(Snapshot)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *Snapshot) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *StorageMigration) DeepCopyInto(out *StorageMigration) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StorageMigration) DeepCopy() *StorageMigration {
	if in == nil {
		return nil
	}
	out := new(StorageMigration)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *StorageMigration) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *StorageMigrationList) DeepCopyInto(out *StorageMigrationList) {
	*out = *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		in, out := &in.Items, &out.Items
		*out = make([]StorageMigration, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StorageMigrationList) DeepCopy() *StorageMigrationList {
	if in == nil {
		return nil
	}
	out := new(StorageMigrationList)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *StorageMigrationList) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *StorageVersion) DeepCopyInto(out *StorageVersion) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StorageVersion) DeepCopy() *StorageVersion {
	if in == nil {
		return nil
	}
	out := new(StorageVersion)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *StorageVersion) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *StorageVersionList) DeepCopyInto(out *StorageVersionList) {
	*out = *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		in, out := &in.Items, &out.Items
		*out = make([]StorageVersion, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StorageVersionList) DeepCopy() *StorageVersionList {
	if in == nil {
		return nil
	}
	out := new(StorageVersionList)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *StorageVersionList) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *DependentImplementation) DeepCopyInto(out *DependentImplementation) {
	*out = *in
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *DependentImplementation) DeepCopy() *DependentImplementation {
	if in == nil {
		return nil
	}
	out := new(DependentImplementation)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *DependentReference) DeepCopyInto(out *DependentReference) {
	*out = *in
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *DependentReference) DeepCopy() *DependentReference {
	if in == nil {
		return nil
	}
	out := new(DependentReference)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *DependentSpec) DeepCopyInto(out *DependentSpec) {
	*out = *in
	if in.Providers != nil {
		in, out := &in.Providers, &out.Providers
		*out = make([]DependentReference, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *DependentSpec) DeepCopy() *DependentSpec {
	if in == nil {
		return nil
	}
	out := new(DependentSpec)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *DependentStatus) DeepCopyInto(out *DependentStatus) {
	*out = *in
	if in.Implementation != nil {
		in, out := &in.Implementation, &out.Implementation
		*out = new(DependentImplementation)
		(*in).DeepCopyInto(*out)
	}
	if in.Conditions != nil {
		in, out := &in.Conditions, &out.Conditions
		*out = make([]metav1.Condition, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *DependentStatus) DeepCopy() *DependentStatus {
	if in == nil {
		return nil
	}
	out := new(DependentStatus)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *HistoryChange) DeepCopyInto(out *HistoryChange) {
	*out = *in
	in.Time.DeepCopyInto(&out.Time)
	if in.Managers != nil {
		in, out := &in.Managers, &out.Managers
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.Paths != nil {
		in, out := &in.Paths, &out.Paths
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.Gap != nil {
		in, out := &in.Gap, &out.Gap
		*out = new(HistoryGap)
		(*in).DeepCopyInto(*out)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *HistoryChange) DeepCopy() *HistoryChange {
	if in == nil {
		return nil
	}
	out := new(HistoryChange)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *HistoryGap) DeepCopyInto(out *HistoryGap) {
	*out = *in
	if in.Time != nil {
		in, out := &in.Time, &out.Time
		*out = new(metav1.Time)
		(*in).DeepCopyInto(*out)
	}
	if in.Authors != nil {
		in, out := &in.Authors, &out.Authors
		*out = make([]HistoryGapAuthor, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *HistoryGap) DeepCopy() *HistoryGap {
	if in == nil {
		return nil
	}
	out := new(HistoryGap)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *HistoryGapAuthor) DeepCopyInto(out *HistoryGapAuthor) {
	*out = *in
	if in.Time != nil {
		in, out := &in.Time, &out.Time
		*out = new(metav1.Time)
		(*in).DeepCopyInto(*out)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *HistoryGapAuthor) DeepCopy() *HistoryGapAuthor {
	if in == nil {
		return nil
	}
	out := new(HistoryGapAuthor)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *HistoryRevision) DeepCopyInto(out *HistoryRevision) {
	*out = *in
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *HistoryRevision) DeepCopy() *HistoryRevision {
	if in == nil {
		return nil
	}
	out := new(HistoryRevision)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *HistorySpec) DeepCopyInto(out *HistorySpec) {
	*out = *in
	in.Subject.DeepCopyInto(&out.Subject)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *HistorySpec) DeepCopy() *HistorySpec {
	if in == nil {
		return nil
	}
	out := new(HistorySpec)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *HistoryStatus) DeepCopyInto(out *HistoryStatus) {
	*out = *in
	if in.DeletionTime != nil {
		in, out := &in.DeletionTime, &out.DeletionTime
		*out = new(metav1.Time)
		(*in).DeepCopyInto(*out)
	}
	if in.Revision != nil {
		in, out := &in.Revision, &out.Revision
		*out = new(HistoryRevision)
		(*in).DeepCopyInto(*out)
	}
	if in.Ignore != nil {
		in, out := &in.Ignore, &out.Ignore
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.Changes != nil {
		in, out := &in.Changes, &out.Changes
		*out = make([]HistoryChange, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *HistoryStatus) DeepCopy() *HistoryStatus {
	if in == nil {
		return nil
	}
	out := new(HistoryStatus)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *HistorySubject) DeepCopyInto(out *HistorySubject) {
	*out = *in
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *HistorySubject) DeepCopy() *HistorySubject {
	if in == nil {
		return nil
	}
	out := new(HistorySubject)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *Keep) DeepCopyInto(out *Keep) {
	*out = *in
	if in.For != nil {
		in, out := &in.For, &out.For
		*out = new(metav1.Duration)
		**out = **in
	}
	if in.AtLeast != nil {
		in, out := &in.AtLeast, &out.AtLeast
		*out = new(int32)
		**out = **in
	}
	if in.AtMost != nil {
		in, out := &in.AtMost, &out.AtMost
		*out = new(int32)
		**out = **in
	}
	if in.ThinAfter != nil {
		in, out := &in.ThinAfter, &out.ThinAfter
		*out = new(metav1.Duration)
		**out = **in
	}
	if in.Bytes != nil {
		in, out := &in.Bytes, &out.Bytes
		*out = new(int64)
		**out = **in
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *Keep) DeepCopy() *Keep {
	if in == nil {
		return nil
	}
	out := new(Keep)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *MigratedObjects) DeepCopyInto(out *MigratedObjects) {
	*out = *in
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *MigratedObjects) DeepCopy() *MigratedObjects {
	if in == nil {
		return nil
	}
	out := new(MigratedObjects)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *ProviderSpec) DeepCopyInto(out *ProviderSpec) {
	*out = *in
	in.Data.DeepCopyInto(&out.Data)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *ProviderSpec) DeepCopy() *ProviderSpec {
	if in == nil {
		return nil
	}
	out := new(ProviderSpec)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *ProviderStatus) DeepCopyInto(out *ProviderStatus) {
	*out = *in
	if in.Conditions != nil {
		in, out := &in.Conditions, &out.Conditions
		*out = make([]metav1.Condition, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *ProviderStatus) DeepCopy() *ProviderStatus {
	if in == nil {
		return nil
	}
	out := new(ProviderStatus)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *RecordedResourceStatus) DeepCopyInto(out *RecordedResourceStatus) {
	*out = *in
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *RecordedResourceStatus) DeepCopy() *RecordedResourceStatus {
	if in == nil {
		return nil
	}
	out := new(RecordedResourceStatus)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *RecordedResources) DeepCopyInto(out *RecordedResources) {
	*out = *in
	if in.Groups != nil {
		in, out := &in.Groups, &out.Groups
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.Resources != nil {
		in, out := &in.Resources, &out.Resources
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.Keep != nil {
		in, out := &in.Keep, &out.Keep
		*out = new(Keep)
		(*in).DeepCopyInto(*out)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *RecordedResources) DeepCopy() *RecordedResources {
	if in == nil {
		return nil
	}
	out := new(RecordedResources)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *RecorderSpec) DeepCopyInto(out *RecorderSpec) {
	*out = *in
	if in.Resources != nil {
		in, out := &in.Resources, &out.Resources
		*out = make([]RecordedResources, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
	if in.NamespaceSelector != nil {
		in, out := &in.NamespaceSelector, &out.NamespaceSelector
		*out = new(metav1.LabelSelector)
		(*in).DeepCopyInto(*out)
	}
	if in.ObjectSelector != nil {
		in, out := &in.ObjectSelector, &out.ObjectSelector
		*out = new(metav1.LabelSelector)
		(*in).DeepCopyInto(*out)
	}
	if in.Ignore != nil {
		in, out := &in.Ignore, &out.Ignore
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.Redact != nil {
		in, out := &in.Redact, &out.Redact
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.HistoryLimit != nil {
		in, out := &in.HistoryLimit, &out.HistoryLimit
		*out = new(int32)
		**out = **in
	}
	if in.Keep != nil {
		in, out := &in.Keep, &out.Keep
		*out = new(Keep)
		(*in).DeepCopyInto(*out)
	}
	if in.MaxObjectBytes != nil {
		in, out := &in.MaxObjectBytes, &out.MaxObjectBytes
		*out = new(int64)
		**out = **in
	}
	if in.KeepDeleted != nil {
		in, out := &in.KeepDeleted, &out.KeepDeleted
		*out = new(metav1.Duration)
		**out = **in
	}
	if in.Salt != nil {
		in, out := &in.Salt, &out.Salt
		*out = make([]byte, len(*in))
		copy(*out, *in)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *RecorderSpec) DeepCopy() *RecorderSpec {
	if in == nil {
		return nil
	}
	out := new(RecorderSpec)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *RecorderStatus) DeepCopyInto(out *RecorderStatus) {
	*out = *in
	if in.Resources != nil {
		in, out := &in.Resources, &out.Resources
		*out = make([]RecordedResourceStatus, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
	if in.Conditions != nil {
		in, out := &in.Conditions, &out.Conditions
		*out = make([]metav1.Condition, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *RecorderStatus) DeepCopy() *RecorderStatus {
	if in == nil {
		return nil
	}
	out := new(RecorderStatus)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *RecordingHistory) DeepCopyInto(out *RecordingHistory) {
	*out = *in
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *RecordingHistory) DeepCopy() *RecordingHistory {
	if in == nil {
		return nil
	}
	out := new(RecordingHistory)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *RecordingResult) DeepCopyInto(out *RecordingResult) {
	*out = *in
	if in.Revision != nil {
		in, out := &in.Revision, &out.Revision
		*out = new(SnapshotRevision)
		(*in).DeepCopyInto(*out)
	}
	if in.History != nil {
		in, out := &in.History, &out.History
		*out = new(RecordingHistory)
		(*in).DeepCopyInto(*out)
	}
	if in.Error != nil {
		in, out := &in.Error, &out.Error
		*out = new(runtime.RawExtension)
		(*in).DeepCopyInto(*out)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *RecordingResult) DeepCopy() *RecordingResult {
	if in == nil {
		return nil
	}
	out := new(RecordingResult)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *RecordingSpec) DeepCopyInto(out *RecordingSpec) {
	*out = *in
	if in.Sightings != nil {
		in, out := &in.Sightings, &out.Sightings
		*out = make([]Sighting, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *RecordingSpec) DeepCopy() *RecordingSpec {
	if in == nil {
		return nil
	}
	out := new(RecordingSpec)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *RecordingStatus) DeepCopyInto(out *RecordingStatus) {
	*out = *in
	if in.Results != nil {
		in, out := &in.Results, &out.Results
		*out = make([]RecordingResult, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *RecordingStatus) DeepCopy() *RecordingStatus {
	if in == nil {
		return nil
	}
	out := new(RecordingStatus)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *ServerStorageVersion) DeepCopyInto(out *ServerStorageVersion) {
	*out = *in
	if in.DecodableVersions != nil {
		in, out := &in.DecodableVersions, &out.DecodableVersions
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.ServedVersions != nil {
		in, out := &in.ServedVersions, &out.ServedVersions
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *ServerStorageVersion) DeepCopy() *ServerStorageVersion {
	if in == nil {
		return nil
	}
	out := new(ServerStorageVersion)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *Sighting) DeepCopyInto(out *Sighting) {
	*out = *in
	in.Subject.DeepCopyInto(&out.Subject)
	if in.HistoryLimit != nil {
		in, out := &in.HistoryLimit, &out.HistoryLimit
		*out = new(int32)
		**out = **in
	}
	if in.Keep != nil {
		in, out := &in.Keep, &out.Keep
		*out = new(Keep)
		(*in).DeepCopyInto(*out)
	}
	in.Time.DeepCopyInto(&out.Time)
	if in.CreationTimestamp != nil {
		in, out := &in.CreationTimestamp, &out.CreationTimestamp
		*out = new(metav1.Time)
		(*in).DeepCopyInto(*out)
	}
	if in.Ignore != nil {
		in, out := &in.Ignore, &out.Ignore
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.ManagedFields != nil {
		in, out := &in.ManagedFields, &out.ManagedFields
		*out = new(runtime.RawExtension)
		(*in).DeepCopyInto(*out)
	}
	if in.Data != nil {
		in, out := &in.Data, &out.Data
		*out = new(runtime.RawExtension)
		(*in).DeepCopyInto(*out)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *Sighting) DeepCopy() *Sighting {
	if in == nil {
		return nil
	}
	out := new(Sighting)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *SnapshotChange) DeepCopyInto(out *SnapshotChange) {
	*out = *in
	in.Time.DeepCopyInto(&out.Time)
	if in.Managers != nil {
		in, out := &in.Managers, &out.Managers
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.Paths != nil {
		in, out := &in.Paths, &out.Paths
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.Gap != nil {
		in, out := &in.Gap, &out.Gap
		*out = new(SnapshotGap)
		(*in).DeepCopyInto(*out)
	}
	if in.Ignore != nil {
		in, out := &in.Ignore, &out.Ignore
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *SnapshotChange) DeepCopy() *SnapshotChange {
	if in == nil {
		return nil
	}
	out := new(SnapshotChange)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *SnapshotGap) DeepCopyInto(out *SnapshotGap) {
	*out = *in
	if in.Time != nil {
		in, out := &in.Time, &out.Time
		*out = new(metav1.Time)
		(*in).DeepCopyInto(*out)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *SnapshotGap) DeepCopy() *SnapshotGap {
	if in == nil {
		return nil
	}
	out := new(SnapshotGap)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *SnapshotHistory) DeepCopyInto(out *SnapshotHistory) {
	*out = *in
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *SnapshotHistory) DeepCopy() *SnapshotHistory {
	if in == nil {
		return nil
	}
	out := new(SnapshotHistory)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *SnapshotRevision) DeepCopyInto(out *SnapshotRevision) {
	*out = *in
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *SnapshotRevision) DeepCopy() *SnapshotRevision {
	if in == nil {
		return nil
	}
	out := new(SnapshotRevision)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *SnapshotSpec) DeepCopyInto(out *SnapshotSpec) {
	*out = *in
	in.Owner.DeepCopyInto(&out.Owner)
	if in.Labels != nil {
		in, out := &in.Labels, &out.Labels
		*out = make(map[string]string, len(*in))
		for key, value := range *in {
			(*out)[key] = value
		}
	}
	in.Data.DeepCopyInto(&out.Data)
	if in.HistoryLimit != nil {
		in, out := &in.HistoryLimit, &out.HistoryLimit
		*out = new(int32)
		**out = **in
	}
	if in.Keep != nil {
		in, out := &in.Keep, &out.Keep
		*out = new(Keep)
		(*in).DeepCopyInto(*out)
	}
	if in.Live != nil {
		in, out := &in.Live, &out.Live
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.Change != nil {
		in, out := &in.Change, &out.Change
		*out = new(SnapshotChange)
		(*in).DeepCopyInto(*out)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *SnapshotSpec) DeepCopy() *SnapshotSpec {
	if in == nil {
		return nil
	}
	out := new(SnapshotSpec)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *SnapshotStatus) DeepCopyInto(out *SnapshotStatus) {
	*out = *in
	if in.Revision != nil {
		in, out := &in.Revision, &out.Revision
		*out = new(SnapshotRevision)
		(*in).DeepCopyInto(*out)
	}
	if in.Trimmed != nil {
		in, out := &in.Trimmed, &out.Trimmed
		*out = make([]string, len(*in))
		copy(*out, *in)
	}
	if in.History != nil {
		in, out := &in.History, &out.History
		*out = new(SnapshotHistory)
		(*in).DeepCopyInto(*out)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *SnapshotStatus) DeepCopy() *SnapshotStatus {
	if in == nil {
		return nil
	}
	out := new(SnapshotStatus)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *StorageMigrationSpec) DeepCopyInto(out *StorageMigrationSpec) {
	*out = *in
	in.Resource.DeepCopyInto(&out.Resource)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StorageMigrationSpec) DeepCopy() *StorageMigrationSpec {
	if in == nil {
		return nil
	}
	out := new(StorageMigrationSpec)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *StorageMigrationStatus) DeepCopyInto(out *StorageMigrationStatus) {
	*out = *in
	if in.Conditions != nil {
		in, out := &in.Conditions, &out.Conditions
		*out = make([]metav1.Condition, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
	in.Objects.DeepCopyInto(&out.Objects)
	if in.StartTime != nil {
		in, out := &in.StartTime, &out.StartTime
		*out = new(metav1.Time)
		(*in).DeepCopyInto(*out)
	}
	if in.CompletionTime != nil {
		in, out := &in.CompletionTime, &out.CompletionTime
		*out = new(metav1.Time)
		(*in).DeepCopyInto(*out)
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StorageMigrationStatus) DeepCopy() *StorageMigrationStatus {
	if in == nil {
		return nil
	}
	out := new(StorageMigrationStatus)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *StorageVersionStatus) DeepCopyInto(out *StorageVersionStatus) {
	*out = *in
	if in.StorageVersions != nil {
		in, out := &in.StorageVersions, &out.StorageVersions
		*out = make([]ServerStorageVersion, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
	if in.StoredObjects != nil {
		in, out := &in.StoredObjects, &out.StoredObjects
		*out = make([]StoredObjects, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
	if in.Conditions != nil {
		in, out := &in.Conditions, &out.Conditions
		*out = make([]metav1.Condition, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StorageVersionStatus) DeepCopy() *StorageVersionStatus {
	if in == nil {
		return nil
	}
	out := new(StorageVersionStatus)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *StoredObjects) DeepCopyInto(out *StoredObjects) {
	*out = *in
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StoredObjects) DeepCopy() *StoredObjects {
	if in == nil {
		return nil
	}
	out := new(StoredObjects)
	in.DeepCopyInto(out)
	return out
}
