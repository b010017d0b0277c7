// Package spec is cluster.yaml: what a cluster should be, in the words of its
// owner, with defaults and rules. A cluster is described by a file, by flags, or
// by both; what a run does not say again is remembered from the last one.
package spec

import (
	"regexp"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
)

// clusterID is what an id may look like: it becomes part of paths, and of names
// on every platform, the strictest of which (Google's) allow no more.
var clusterID = regexp.MustCompile(`^[a-z][a-z0-9-]{0,29}[a-z0-9]$|^[a-z]$`)

// ValidCluster reports whether a cluster may be called id.
func ValidCluster(id string) bool { return clusterID.MatchString(id) }

func checkCluster(e *document.Errors, path, id string) {
	e.Check(ValidCluster(id), path, "must be up to 31 lower-case letters, digits and inner dashes, a letter first (is %q)", id)
	// The control bucket of "lab-data" would have the name of the data bucket of
	// "lab".
	e.Check(!strings.HasSuffix(id, "-data"), path, "must not end in -data (is %q)", id)
}

// requireReference refuses a secret that is written out: a cluster's settings are stored,
// and must not hold secrets. Vault is the store of the cluster's own cloud.
func requireReference(e *document.Errors, path string, v secret.Value, vault secret.Scheme) {
	ref, ok := v.Ref()
	switch {
	case v.IsZero():
	case !ok:
		e.Add(path, "must be a reference and not the secret itself; write file:/path, env:NAME or %s:NAME", vault)
	case !slices.Contains([]secret.Scheme{secret.File, secret.Env, vault}, ref.Scheme):
		e.Add(path, "must be kept where the cluster can read it; write file:/path, env:NAME or %s:NAME (is %s)", vault, ref)
	}
}

// ClusterOf is the id that a cluster.yaml gives, or "".
func ClusterOf(file []byte, name string) (string, error) {
	d, err := document.Parse(file, name)
	if err != nil {
		return "", err
	}
	n, ok := d.Root().Get("cluster_id")
	if !ok {
		return "", nil
	}
	return n.Text(), nil
}
