// Code generated from the declarations in api/kinds by make docs. DO NOT EDIT.

// Package v1beta1 has the Go types of annals.dev/v1beta1. Its Providers, Dependents and
// ControllerRevisions are deprecated: use v1.
//
// docs/reference/api describes the kinds, with their columns, field selectors and subresources.
//
// +groupName=annals.dev
package v1beta1
