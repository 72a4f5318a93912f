// Package controlplane stands in for upstream's server, of which the tests name the configuration.
package controlplane

import "k8s.io/apiserver/pkg/admission"

type Config struct {
	ControlPlane struct {
		Generic struct{ AdmissionControl admission.Interface }
	}
}
