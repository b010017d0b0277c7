package infra

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Release says which secrets of an inventory live as long as the cluster's own data.
type Release struct {
	// Secret is the kind of secrets, and Log that of logs, which no secret opens.
	Secret, Log string
	// OpensData is why such a secret is retained.
	OpensData string
	// Why is why it stays without data; empty lets it go.
	Why string
}

// ReleaseSecrets lets go of secrets that open nothing any more: they live as long as the
// data of the cluster's own. Those that open data of the user's stay.
func (r Release) ReleaseSecrets(fs []resource.Found) []resource.Found {
	holdsData := func(f resource.Found) bool { return f.Retain != "" && f.Kind != r.Secret && f.Kind != r.Log }
	if slices.ContainsFunc(fs, holdsData) {
		return fs
	}
	for i, f := range fs {
		if f.Kind == r.Secret && f.Retain == r.OpensData {
			fs[i].Retain = r.Why
		}
	}
	return fs
}
