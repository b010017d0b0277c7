package infra

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Release determines which secrets of an inventory are deleted with the cluster's data.
type Release struct {
	// Secret is the kind of secrets. Log is the kind of logs, which need no secret to be read.
	Secret, Log string
	// OpensData is the Retain reason of secrets that are needed for the cluster's own data.
	OpensData string
	// Why replaces that reason if no data is retained. If it is empty, the secret is deleted.
	Why string
}

// ReleaseSecrets sets the Retain reason of secrets for the cluster's own data to Why if the
// inventory retains no data. Secrets for data of the user are not changed.
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
