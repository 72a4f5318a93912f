package main

import (
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	annalsv1 "annals.dev/clients/go/api/annals/v1"
)

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, annalsv1.AddToScheme(scheme)
}

// newManager has the controller, and everything it needs.
func newManager(config *rest.Config, options ctrl.Options) (ctrl.Manager, error) {
	var err error
	if options.Scheme, err = newScheme(); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, err
	}
	r := &Reconciler{Client: mgr.GetClient()}
	return mgr, r.SetupWithManager(mgr)
}

func main() {
	ctrl.SetLogger(zap.New())
	mgr, err := newManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err == nil {
		err = mgr.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		ctrl.Log.Error(err, "the operator ends")
		os.Exit(1)
	}
}
