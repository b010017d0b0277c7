package helm

import (
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/cloud"
)

// Origin distinguishes releases of ours from those of others that have the same name: ours are
// of the chart, and its objects carry the mark, a label whose value is the release's
// name. A chart's name alone proves nothing, as ours is called as Determined's own.
type Origin struct {
	Chart, Mark string
}

// ownsRevision reports whether a revision is ours. Without an origin all are.
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

// labelOf is the value of a label of a rendered object.
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

// ForeignError is a release of the wanted name that is not ours.
type ForeignError struct {
	Info

	// alike is true when its chart is called as ours.
	alike bool
}

// ForeignError is i as an error, or nil when it is ours or gone.
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

// Error says whose it is.
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

// guardObjects refuses to touch foreign objects.
func (r *run) guardObjects(rels []*release.Release) error {
	if len(rels) == 0 {
		return nil
	}
	return r.infoOf(rels[len(rels)-1]).ForeignError()
}

// guardRevision refuses to roll back to a foreign revision.
func (r *run) guardRevision(name string, revision int) error {
	rels, err := r.readHistory(name)
	if err != nil {
		return r.explainError("look at", name, err)
	}
	for _, rel := range rels {
		if rel.Version == revision && !r.origin.ownsRevision(rel) {
			return r.infoOf(rel).foreignError()
		}
	}
	return nil
}

// errNotForeign is a release of ours where a foreign one was expected.
var errNotForeign = errors.New("it is det-deploy's own")
