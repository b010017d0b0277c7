package helm

import (
	"context"
	"fmt"
	"slices"

	helmkube "helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cliresource "k8s.io/cli-runtime/pkg/resource"

	"github.com/det-deploy/det-deploy/cloud"
)

// Parts are the live objects of a foreign release, in the order of creation, by how Retire treats
// them.
type Parts struct {
	// Goes will be deleted. Stays holds data, or others may use it.
	Goes, Stays []Object
}

// holdsData reports whether an object holds data, or has a kind that users outside of the release
// may depend on.
func holdsData(o Object) bool {
	return o.Keep || slices.Contains([]string{
		"PersistentVolumeClaim", "PersistentVolume", "VolumeSnapshot", "VolumeSnapshotClass", "StorageClass",
		"Namespace", "CustomResourceDefinition", "PriorityClass",
	}, o.Kind)
}

// Parts returns the objects of a foreign release, and changes nothing.
func (c *Client) Parts(ctx context.Context, name string) (Parts, error) {
	r, rels, err := c.readForeign(ctx, name)
	if err != nil {
		return Parts{}, err
	}
	p, _, err := r.splitParts(rels)
	return p, r.explainError("read", name, err)
}

// Retire deletes the objects of a foreign release, so that another can use its name. From the
// objects that stay, it removes the release's labels and annotations, so that no release of that
// name ever adopts them. Helm's records stay too, with the values, as those of an uninstalled
// release. It may be repeated.
func (c *Client) Retire(ctx context.Context, name string) error {
	r, rels, err := c.readForeign(ctx, name)
	if err != nil {
		return err
	}
	_, live, err := r.splitParts(rels)
	if err != nil {
		return r.explainError("read", name, err)
	}
	for _, info := range live.stays {
		if err := setFree(info); err != nil {
			return r.explainError("set free what stays of", name, err)
		}
	}
	if _, errs := r.worker.DeleteWithPropagationPolicy(live.goes, metav1.DeletePropagationForeground); len(errs) > 0 {
		return r.explainError("retire", name, errs[0])
	}
	last := rels[len(rels)-1]
	last.SetStatus(release.StatusUninstalled, "det-deploy took its place")
	return r.explainError("retire", name, r.config.Releases.Update(last))
}

// readForeign begins an operation on a foreign release.
func (c *Client) readForeign(ctx context.Context, name string) (*run, []*release.Release, error) {
	r, err := c.beginRun(ctx)
	if err != nil {
		return nil, nil, err
	}
	rels, err := r.readHistory(name)
	if err != nil {
		return nil, nil, r.explainError("read", name, err)
	}
	if isAbsent(rels) {
		return nil, nil, errMissing("retire", name)
	}
	if r.guardObjects(rels) == nil {
		return nil, nil, &cloud.Error{Kind: cloud.Conflict, Op: "helm:retire", Resource: "release " + name, Err: errNotForeign}
	}
	return r, rels, nil
}

// liveParts are Parts as live objects.
type liveParts struct{ goes, stays helmkube.ResourceList }

func (r *run) splitParts(rels []*release.Release) (Parts, liveParts, error) {
	var p Parts
	var live liveParts
	seen := make(map[string]bool)
	for _, rel := range slices.Backward(rels) {
		objects, err := objectsOf(rel)
		if err != nil {
			return p, live, err
		}
		for _, o := range objects {
			if o.Hook || seen[o.objectKey()] {
				continue
			}
			seen[o.objectKey()] = true
			info, found, err := r.readLive(o)
			if err != nil {
				return p, live, fmt.Errorf("read %s: %w", o, err)
			}
			switch {
			case !found || !ownedBy(info, rel.Name, rel.Namespace):
			case holdsData(o) || keepsObject(info):
				p.Stays, live.stays = append(p.Stays, o), append(live.stays, info)
			default:
				p.Goes, live.goes = append(p.Goes, o), append(live.goes, info)
			}
		}
	}
	return p, live, nil
}

// setFree removes a release's labels and annotations from an object.
func setFree(info *cliresource.Info) error {
	change := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null,%q:null},"labels":{"app.kubernetes.io/managed-by":null}}}`, ownerName, ownerNamespace)
	_, err := cliresource.NewHelper(info.Client, info.Mapping).Patch(info.Namespace, info.Name, types.MergePatchType, change, nil)
	return err
}
