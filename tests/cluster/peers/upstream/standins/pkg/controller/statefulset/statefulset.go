// Package statefulset stands in for upstream's controller: the one that is tested runs elsewhere, as a client of the same server.
package statefulset

import (
	"context"

	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	clientset "k8s.io/client-go/kubernetes"
)

type StatefulSetController struct{}

func NewStatefulSetController(context.Context, coreinformers.PodInformer, appsinformers.StatefulSetInformer, coreinformers.PersistentVolumeClaimInformer,
	appsinformers.ControllerRevisionInformer, clientset.Interface) *StatefulSetController {
	return &StatefulSetController{}
}

func (*StatefulSetController) Run(ctx context.Context, _ int) { <-ctx.Done() }
