// Code generated from the declarations in api/kinds by make docs. DO NOT EDIT.

package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
func (in *StatefulSet) DeepCopyInto(out *StatefulSet) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StatefulSet) DeepCopy() *StatefulSet {
	if in == nil {
		return nil
	}
	out := new(StatefulSet)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *StatefulSet) DeepCopyObject() runtime.Object {
	if c := in.DeepCopy(); c != nil {
		return c
	}
	return nil
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *StatefulSetList) DeepCopyInto(out *StatefulSetList) {
	*out = *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		in, out := &in.Items, &out.Items
		*out = make([]StatefulSet, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StatefulSetList) DeepCopy() *StatefulSetList {
	if in == nil {
		return nil
	}
	out := new(StatefulSetList)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is DeepCopy, as runtime.Object wants it.
func (in *StatefulSetList) DeepCopyObject() runtime.Object {
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
func (in *DependentSpec) DeepCopyInto(out *DependentSpec) {
	*out = *in
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
func (in *StatefulSetSpec) DeepCopyInto(out *StatefulSetSpec) {
	*out = *in
	if in.Replicas != nil {
		in, out := &in.Replicas, &out.Replicas
		*out = new(int32)
		**out = **in
	}
	if in.Selector != nil {
		in, out := &in.Selector, &out.Selector
		*out = new(metav1.LabelSelector)
		(*in).DeepCopyInto(*out)
	}
	in.Template.DeepCopyInto(&out.Template)
	if in.VolumeClaimTemplates != nil {
		in, out := &in.VolumeClaimTemplates, &out.VolumeClaimTemplates
		*out = make([]corev1.PersistentVolumeClaim, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
	if in.TemplateGeneration != nil {
		in, out := &in.TemplateGeneration, &out.TemplateGeneration
		*out = new(int64)
		**out = **in
	}
	if in.GenerationPartition != nil {
		in, out := &in.GenerationPartition, &out.GenerationPartition
		*out = new(int32)
		**out = **in
	}
	if in.RevisionHistoryLimit != nil {
		in, out := &in.RevisionHistoryLimit, &out.RevisionHistoryLimit
		*out = new(int32)
		**out = **in
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StatefulSetSpec) DeepCopy() *StatefulSetSpec {
	if in == nil {
		return nil
	}
	out := new(StatefulSetSpec)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy, which shares nothing with the receiver, into out.
func (in *StatefulSetStatus) DeepCopyInto(out *StatefulSetStatus) {
	*out = *in
	if in.CollisionCount != nil {
		in, out := &in.CollisionCount, &out.CollisionCount
		*out = new(int32)
		**out = **in
	}
	if in.Conditions != nil {
		in, out := &in.Conditions, &out.Conditions
		*out = make([]appsv1.StatefulSetCondition, len(*in))
		for i := range *in {
			(*in)[i].DeepCopyInto(&(*out)[i])
		}
	}
	if in.TemplateGeneration != nil {
		in, out := &in.TemplateGeneration, &out.TemplateGeneration
		*out = new(int64)
		**out = **in
	}
	if in.TargetTemplateGeneration != nil {
		in, out := &in.TargetTemplateGeneration, &out.TargetTemplateGeneration
		*out = new(int64)
		**out = **in
	}
}

// DeepCopy returns a copy that shares nothing with the receiver.
func (in *StatefulSetStatus) DeepCopy() *StatefulSetStatus {
	if in == nil {
		return nil
	}
	out := new(StatefulSetStatus)
	in.DeepCopyInto(out)
	return out
}
