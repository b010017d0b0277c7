package k8s

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/local"
)

// appliedError reports a change to a cluster whose chart was applied without Helm.
type appliedError struct{ cluster, namespace string }

func (e *appliedError) Error() string {
	return fmt.Sprintf("the chart of cluster %s in namespace %s was applied without Helm and is managed by another tool", e.cluster, e.namespace)
}

// Hint names the alternatives.
func (e *appliedError) Hint() string {
	return fmt.Sprintf("change it with the tool that applied it, with the chart of this version from `det-deploy k8s template`; "+
		"`det-deploy k8s uninstall --cluster-id %s --namespace %s` removes the cluster and keeps the data", e.cluster, e.namespace)
}

// recordOf returns the store for the record of a cluster that is being removed. It is in the cluster's
// namespace or, if that is gone, in a local directory until the removal is complete.
func (k *Opened) recordOf(ctx context.Context, s *term.Streams, namespaced record.Store) (record.Store, error) {
	gone, err := k.Target.NamespaceGone(ctx)
	if err != nil || !gone {
		return namespaced, err
	}
	root, err := local.Root(s.Getenv)
	if err != nil {
		return nil, err
	}
	server := sha256.Sum256([]byte(k.Kube.Server()))
	return record.Dir{Path: filepath.Join(root+"-k8s", hex.EncodeToString(server[:4])+"-"+k.Namespace()+"-"+k.Target.Cluster)}, nil
}
