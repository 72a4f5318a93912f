// Code generated from the declarations in api/kinds by make docs. DO NOT EDIT.

// Package v1 has the Go types of annals.dev/v1. It is the version to use.
//
// docs/reference/api describes the kinds, with their columns, field selectors and subresources.
//
// +groupName=annals.dev
package v1
