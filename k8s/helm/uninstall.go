package helm

import (
	"bytes"
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	helmkube "helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
)

// Uninstall deletes the objects and records of a release, and waits until they are gone. It returns
// the remaining objects that the chart keeps. It returns no error if the release does not exist, so
// it may be repeated.
func (c *Client) Uninstall(ctx context.Context, name string) (kept []Object, err error) {
	r, err := c.beginRun(ctx)
	if err != nil {
		return nil, err
	}
	rels, err := r.readHistory(name)
	if err != nil {
		return nil, r.explainError("read", name, err)
	}
	if len(rels) == 0 {
		return nil, nil
	}
	if err := r.guardObjects(rels); err != nil {
		return nil, err
	}
	last := rels[len(rels)-1]
	if err := r.sweepObjects(ctx, rels, last); err != nil {
		return nil, r.explainError("uninstall", name, err)
	}
	un := action.NewUninstall(r.config)
	un.DeletionPropagation, un.Timeout = "foreground", hookLimit
	if _, err := un.Run(name); err != nil {
		return nil, r.explainError("uninstall", name, err)
	}
	kept, err = r.keptObjects(rels)
	if err != nil {
		return nil, r.explainError("uninstall", name, err)
	}
	return kept, nil
}

// sweepObjects deletes objects of other revisions that are not objects of rel and still have the
// release's annotations. Interrupted changes leave such objects, and Helm continues when it cannot
// delete one.
func (r *run) sweepObjects(ctx context.Context, rels []*release.Release, rel *release.Release) error {
	wanted, err := keysOf(rel)
	if err != nil {
		return err
	}
	var left helmkube.ResourceList
	for _, other := range rels {
		if other.Version == rel.Version || !r.origin.ownsRevision(other) {
			continue
		}
		objects, err := objectsOf(other)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if o.Hook || wanted[o.objectKey()] {
				continue
			}
			wanted[o.objectKey()] = true // check each object once
			info, live, err := r.readLive(o)
			if err != nil {
				return err
			}
			if live && ownedBy(info, rel.Name, rel.Namespace) && !keepsObject(info) {
				left = append(left, info)
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	r.worker.Log("sweeping %d objects of earlier revisions", len(left))
	if _, errs := r.worker.DeleteWithPropagationPolicy(left, metav1.DeletePropagationForeground); len(errs) > 0 {
		return errs[0]
	}
	return ctx.Err()
}

// keptObjects returns the objects that the chart keeps on uninstall.
func (r *run) keptObjects(rels []*release.Release) ([]Object, error) {
	var out []Object
	seen := make(map[string]bool)
	for _, rel := range rels {
		if !r.origin.ownsRevision(rel) {
			continue
		}
		objects, err := objectsOf(rel)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if o.Hook || !o.Keep || seen[o.objectKey()] {
				continue
			}
			seen[o.objectKey()] = true
			_, live, err := r.readLive(o)
			if err != nil {
				return nil, err
			}
			if live {
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// readLive returns the live object. found is false if it does not exist, or if the server does not
// know its kind.
func (r *run) readLive(o Object) (*resource.Info, bool, error) {
	infos, err := r.worker.Build(bytes.NewBufferString(o.YAML), false)
	if meta.IsNoMatchError(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if len(infos) != 1 {
		return nil, false, fmt.Errorf("read %s: it is %d objects", o, len(infos))
	}
	err = infos[0].Get()
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	return infos[0], err == nil, err
}

func keysOf(rel *release.Release) (map[string]bool, error) {
	objects, err := objectsOf(rel)
	if err != nil {
		return nil, err
	}
	out := make(map[string]bool, len(objects))
	for _, o := range objects {
		out[o.objectKey()] = true
	}
	return out, nil
}

// Annotations that Helm sets on its objects.
const (
	ownerName      = "meta.helm.sh/release-name"
	ownerNamespace = "meta.helm.sh/release-namespace"
)

func ownedBy(info *resource.Info, name, namespace string) bool {
	m, err := meta.Accessor(info.Object)
	if err != nil {
		return false
	}
	a := m.GetAnnotations()
	return a[ownerName] == name && a[ownerNamespace] == namespace
}

func keepsObject(info *resource.Info) bool {
	m, err := meta.Accessor(info.Object)
	return err == nil && m.GetAnnotations()[helmkube.ResourcePolicyAnno] == helmkube.KeepPolicy
}
