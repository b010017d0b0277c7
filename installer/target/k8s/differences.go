package k8s

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// compareObjects compares every live object of the release with the rendered one and returns a
// drift per attribute. It returns all changes that are impossible as one error.
func (r *release) compareObjects(ctx context.Context) ([]resource.Drift, error) {
	changes, err := r.Helm.Diff(ctx, r.helmRelease())
	if err != nil {
		return nil, err
	}
	drift, err := driftOf(changes, r.Cluster)
	if r.Values.Text("resourceManager.podSecurity") == "" {
		err = errors.Join(err, losesPrivilege(changes))
	}
	return drift, err
}

// losesPrivilege returns an error if the Pod Security level of the tasks' namespace would be
// lowered because a value that needed it was removed. Paused and queued experiments keep the
// storage and mounts of their creation, and Kubernetes would reject their pods. It is pure.
func losesPrivilege(changes []helm.Change) error {
	for _, c := range changes {
		if c.Object.Kind != spaceKind || c.Verb != helm.Update {
			continue
		}
		for _, d := range c.Drift {
			if strings.Contains(d.Path, "pod-security.kubernetes.io/enforce") && strings.Contains(d.Have, "privileged") {
				return &cloud.Error{
					Kind: cloud.Conflict, Op: "change", Resource: c.Object.String(),
					Err: fmt.Errorf("its Pod Security level would change from privileged to %s, because no value needs host paths any more; "+
						"experiments that were created under the earlier values, such as checkpointStorage.hostPath, keep them, and their pods would be rejected", d.Want),
					Fix: "--set resourceManager.podSecurity=privileged while such experiments are to run (`det-deploy experiment list` shows those that have not ended), " +
						"and resourceManager.podSecurity=" + strings.Trim(d.Want, `"`) + " when there are none",
				}
			}
		}
	}
	return nil
}

// notThere is the drift value of an object that does not exist.
const notThere = "none"

// driftOf converts changes to drift, or returns the reasons why they are impossible. It is pure.
func driftOf(changes []helm.Change, cluster string) ([]resource.Drift, error) {
	var out []resource.Drift
	var errs []error
	for _, c := range changes {
		switch c.Verb {
		case helm.Create:
			out = append(out, resource.Drift{Path: c.Object.String(), Have: notThere, Want: "is made"})
		case helm.Delete:
			if c.Object.Kind == claimKind {
				errs = append(errs, blockedChange(c, cluster))
				continue
			}
			out = append(out, resource.Drift{Path: c.Object.String(), Have: "is there", Want: "none"})
		case helm.Update:
			for _, d := range c.Drift {
				d.Path = c.Object.String() + " " + d.Path
				out = append(out, d)
			}
		case helm.Replace, helm.Foreign:
			errs = append(errs, blockedChange(c, cluster))
		}
	}
	return out, errors.Join(errs...)
}

// blockedChange reports an object on which Helm would fail, or which Helm would delete with the data in
// it.
func blockedChange(c helm.Change, cluster string) error {
	e := &cloud.Error{Kind: cloud.Conflict, Op: "change", Resource: c.Object.String(), Err: errors.New(c.Reason)}
	if c.Verb == helm.Delete {
		e.Op, e.Err = "drop", errors.New("the values no longer include it, and Helm would delete it with the cluster's data")
	}
	e.Fix = remedyFor(c, fmt.Sprintf("give back the value that it has; `det-deploy k8s values --cluster-id %s` shows the values", cluster))
	return e
}

// claimKind and spaceKind are the kinds of objects that hold data of the cluster or of its users.
const (
	claimKind = "PersistentVolumeClaim"
	spaceKind = "Namespace"
)

// remedyFor returns the remedy for an object in the way; back is to restore its current value. It
// never advises to delete an object that holds data.
func remedyFor(c helm.Change, back string) string {
	name := c.Object.Name
	switch {
	case c.Object.Kind == claimKind && c.Verb == helm.Foreign:
		return "it may hold data: use it with --set db.existingClaim=" + name + ", or choose another --cluster-id or --namespace"
	case c.Object.Kind == claimKind && c.Verb == helm.Delete:
		return fmt.Sprintf("%s, or keep it: kubectl -n %s annotate pvc %s helm.sh/resource-policy=keep, and run the command again", back, c.Object.Namespace, name)
	case c.Object.Kind == claimKind:
		return back + ". Its data comes onto another disk by a snapshot, see db.snapshotSuffix and db.restoreSnapshotSuffix"
	case c.Object.Kind == spaceKind && c.Verb == helm.Foreign:
		return "have tasks run in it as it is with --set resourceManager.defaultNamespace=" + name + ", or choose another --cluster-id or --namespace"
	case c.Object.Kind == spaceKind:
		return back
	case c.Verb == helm.Foreign:
		return "remove it, or choose another --cluster-id or --namespace"
	}
	return back + ". Or delete it with kubectl and run the command again"
}
