package helm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	helmkube "helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	cliresource "k8s.io/cli-runtime/pkg/resource"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Verb is the change of an object.
type Verb string

// Values of Verb. Replace means that a field is immutable on a live object; Install and Upgrade
// fail on it. Foreign means that an object of another owner is in the way; it is left unchanged.
const (
	Create  Verb = "create"
	Update  Verb = "update"
	Replace Verb = "replace"
	Delete  Verb = "delete"
	Foreign Verb = "foreign"
)

// Change is the change of one object.
type Change struct {
	Verb   Verb
	Object Object
	// Drift lists the differing fields by path. For Secrets it only contains the keys.
	Drift []resource.Drift
	// Reason is the API server's message for Replace, or the owner for Foreign.
	Reason string
}

// Diff compares the live objects with those of the release want, and changes nothing. It uses a
// server-side dry run, so defaults set by the server are not differences.
func (c *Client) Diff(ctx context.Context, want Release) ([]Change, error) {
	caps, err := c.Capabilities(ctx)
	if err != nil {
		return nil, err
	}
	want.Namespace = c.kube.Namespace()
	rendered, err := Render(want, caps)
	if err != nil {
		return nil, err
	}
	r, err := c.beginRun(ctx)
	if err != nil {
		return nil, err
	}
	rels, err := r.readHistory(want.Name)
	if err != nil {
		return nil, r.explainError("compare", want.Name, err)
	}
	changes, err := r.diffObjects(rendered.Objects, rels, want)
	if err != nil {
		return nil, r.explainError("compare", want.Name, err)
	}
	return changes, nil
}

func (r *run) diffObjects(objects []Object, rels []*release.Release, want Release) ([]Change, error) {
	var out []Change
	before, err := liveObjects(rels)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]bool, len(objects))
	for _, o := range objects {
		if o.Hook {
			continue
		}
		wanted[o.objectKey()] = true
		change, same, err := r.compareObject(o, before[o.objectKey()], want)
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", o, err)
		}
		if !same {
			out = append(out, change)
		}
	}
	for _, rel := range slices.Backward(rels) {
		if !r.origin.ownsRevision(rel) {
			continue
		}
		gone, err := r.findObsolete(rel, wanted)
		if err != nil {
			return nil, err
		}
		out = append(out, gone...)
	}
	return out, nil
}

// liveObjects returns the objects of the current revision, by key.
func liveObjects(rels []*release.Release) (map[string]Object, error) {
	out := make(map[string]Object)
	if isAbsent(rels) {
		return out, nil
	}
	objects, err := objectsOf(currentRevision(rels))
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		out[o.objectKey()] = o
	}
	return out, nil
}

// findObsolete returns the live objects of a revision that are not in wanted, and adds them to it.
func (r *run) findObsolete(rel *release.Release, wanted map[string]bool) ([]Change, error) {
	objects, err := objectsOf(rel)
	if err != nil {
		return nil, err
	}
	var out []Change
	for _, o := range objects {
		if o.Hook || wanted[o.objectKey()] {
			continue
		}
		wanted[o.objectKey()] = true
		info, live, err := r.readLive(o)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", o, err)
		}
		if live && ownedBy(info, rel.Name, rel.Namespace) && !keepsObject(info) {
			out = append(out, Change{Verb: Delete, Object: o})
		}
	}
	return out, nil
}

// compareObject compares one object with the live one. original is the object of the last revision,
// or zero.
func (r *run) compareObject(o, original Object, want Release) (change Change, same bool, err error) {
	live, found, err := r.readLive(o)
	if err != nil {
		return Change{}, false, err
	}
	if !found {
		return Change{Verb: Create, Object: o}, false, nil
	}
	if !ownedBy(live, want.Name, r.kube.Namespace()) {
		return Change{Verb: Foreign, Object: o, Reason: "it exists and is not this release's"}, false, nil
	}
	have, err := fieldsOf(live.Object)
	if err != nil {
		return Change{}, false, err
	}
	text, kind, err := r.patchObject(o, original, live)
	if err != nil || string(text) == "{}" {
		return Change{}, err == nil, err
	}
	helper := cliresource.NewHelper(live.Client, live.Mapping).DryRun(true)
	then, err := helper.Patch(live.Namespace, live.Name, kind, text, nil)
	if apierrors.IsInvalid(err) {
		return Change{Verb: Replace, Object: o, Reason: err.Error(), Drift: findDrift(o, have, patchLocally(live, kind, text))}, false, nil
	}
	if err != nil {
		return Change{}, false, err
	}
	will, err := fieldsOf(then)
	if err != nil {
		return Change{}, false, err
	}
	d := findDrift(o, have, will)
	return Change{Verb: Update, Object: o, Drift: d}, len(d) == 0, nil
}

// patchObject returns the patch that Helm would send: from the object of the last revision to the
// wanted one, applied to the live one.
func (r *run) patchObject(o, original Object, live *cliresource.Info) ([]byte, types.PatchType, error) {
	after, err := r.markObject(o, live)
	if err != nil {
		return nil, "", err
	}
	before := after
	if original.Kind != "" {
		if before, err = r.markObject(original, live); err != nil {
			return nil, "", err
		}
	}
	now, err := json.Marshal(live.Object)
	if err != nil {
		return nil, "", err
	}
	typed := helmkube.AsVersioned(live)
	if _, ok := typed.(runtime.Unstructured); ok {
		text, err := jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, now)
		return text, types.MergePatchType, err
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, "", err
	}
	text, err := strategicpatch.CreateThreeWayMergePatch(before, after, now, schema, true)
	return text, types.StrategicMergePatchType, err
}

// markObject returns an object as Helm would send it, with Helm's labels and annotations.
func (r *run) markObject(o Object, live *cliresource.Info) ([]byte, error) {
	infos, err := r.worker.Build(bytes.NewBufferString(o.YAML), false)
	if err != nil {
		return nil, err
	}
	if len(infos) != 1 {
		return nil, fmt.Errorf("read %s: it is %d objects", o, len(infos))
	}
	have, err := meta.Accessor(live.Object)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(infos[0].Object)
	if err != nil {
		return nil, err
	}
	m.SetAnnotations(mergeKeys(m.GetAnnotations(), have.GetAnnotations(), ownerName, ownerNamespace))
	m.SetLabels(mergeKeys(m.GetLabels(), have.GetLabels(), "app.kubernetes.io/managed-by"))
	return json.Marshal(infos[0].Object)
}

// mergeKeys returns m with the given keys copied from from.
func mergeKeys(m, from map[string]string, keys ...string) map[string]string {
	out := make(map[string]string, len(m)+len(keys))
	for k, v := range m {
		out[k] = v
	}
	for _, k := range keys {
		if v, found := from[k]; found {
			out[k] = v
		}
	}
	return out
}

// patchLocally computes the result of a patch that the server rejects.
func patchLocally(live *cliresource.Info, kind types.PatchType, text []byte) map[string]any {
	now, err := json.Marshal(live.Object)
	if err != nil {
		return nil
	}
	var then []byte
	if kind == types.StrategicMergePatchType {
		then, err = strategicpatch.StrategicMergePatch(now, text, helmkube.AsVersioned(live))
	} else {
		then, err = mergePatched(now, text)
	}
	if err != nil {
		return nil
	}
	var out map[string]any
	if json.Unmarshal(then, &out) != nil {
		return nil
	}
	return out
}

func fieldsOf(o runtime.Object) (map[string]any, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(text, &out)
}
