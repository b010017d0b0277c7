package helm

import (
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/cloud"
)

// Origin distinguishes det-deploy's releases from others with the same name. They use the chart,
// and at least one object has the label Mark with the release's name. The chart's name is not
// sufficient, because Determined's own chart has the same.
type Origin struct {
	Chart, Mark string
}

// ownsRevision reports whether a revision belongs to the origin. A nil origin owns all.
func (o *Origin) ownsRevision(rel *release.Release) bool {
	if o == nil {
		return true
	}
	if rel.Chart == nil || rel.Chart.Metadata == nil || rel.Chart.Metadata.Name != o.Chart {
		return false
	}
	objects, err := objectsOf(rel)
	return err == nil && slices.ContainsFunc(objects, func(m Object) bool { return labelOf(m, o.Mark) == rel.Name })
}

// labelOf returns the value of a label of a rendered object.
func labelOf(o Object, label string) string {
	var head struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	if yaml.Unmarshal([]byte(o.YAML), &head) != nil {
		return ""
	}
	return head.Metadata.Labels[label]
}

// ForeignError is returned for an existing release that does not belong to det-deploy.
type ForeignError struct {
	Info

	// alike is true if its chart has the same name.
	alike bool
}

// ForeignError returns an error for a foreign release, or nil if the release is det-deploy's or
// uninstalled.
func (i Info) ForeignError() error {
	if !i.Foreign || i.Status == Uninstalled {
		return nil
	}
	return i.foreignError()
}

func (i Info) foreignError() error {
	e := &ForeignError{Info: i, alike: i.Alike}
	return &cloud.Error{Kind: cloud.Conflict, Op: "helm:own", Resource: "release " + i.Name, Fix: e.fixText(), Err: e}
}

// Error names the owner.
func (e *ForeignError) Error() string {
	whose := "another chart's"
	if e.alike {
		whose = "Determined's own"
	}
	return fmt.Sprintf("release %s in namespace %s is %s, %s %s, and det-deploy leaves it as it is", e.Name, e.Namespace, whose, e.Chart, e.Version)
}

func (e *ForeignError) fixText() string {
	if e.alike {
		return fmt.Sprintf("choose another --cluster-id or --namespace; or `det-deploy k8s plan --cluster-id %s --namespace %s --adopt-determined` shows how a cluster would take its place", e.Name, e.Namespace)
	}
	return "choose another --cluster-id or --namespace; `helm list` shows whose release it is"
}

// guardObjects returns an error if the release is foreign.
func (r *run) guardObjects(rels []*release.Release) error {
	if len(rels) == 0 {
		return nil
	}
	return r.infoOf(rels[len(rels)-1]).ForeignError()
}

// guardRevision returns an error if the revision is foreign.
func (r *run) guardRevision(name string, revision int) error {
	rels, err := r.readHistory(name)
	if err != nil {
		return r.explainError("read", name, err)
	}
	for _, rel := range rels {
		if rel.Version == revision && !r.origin.ownsRevision(rel) {
			return r.infoOf(rel).foreignError()
		}
	}
	return nil
}

// errNotForeign is returned for a release of det-deploy where a foreign one is required.
var errNotForeign = errors.New("it is det-deploy's own")
