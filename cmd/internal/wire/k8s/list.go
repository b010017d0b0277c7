package k8s

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/k8s/kube"
	"github.com/det-deploy/det-deploy/templates"
)

// Listed is a cluster of a Kubernetes, as its release tells.
type Listed struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	// Version is the chart's appVersion, which is the det-deploy that it came from.
	Version string `json:"version"`
	// Status is the release's, in Helm's words; Applied and Remains where there is
	// none.
	Status  string    `json:"status"`
	Updated time.Time `json:"updated"`
}

// Listing is the clusters of a Kubernetes.
type Listing struct {
	Context  string   `json:"context"`
	Clusters []Listed `json:"clusters"`
	// Foreign are releases of Determined's own chart; nil when there are none.
	Foreign []Listed `json:"foreign,omitempty"`
	// Closed are the namespaces into which the caller may not look; nil when all could
	// be seen.
	Closed []string `json:"closed,omitempty"`
	// OnlyOwn is true when not even the namespaces may be listed, and only the one that
	// is meant was looked at.
	OnlyOwn bool `json:"only_own,omitempty"`
}

// List lists the clusters of the namespace that is named, and else of all into
// which the caller may look.
func List(ctx context.Context, at At) (Listing, error) {
	c, err := openKube(at, readOnly())
	if err != nil {
		return Listing{}, err
	}
	l := Listing{Context: c.Context(), Clusters: []Listed{}}
	all, err := k8s.OpenReleases(c, "", at.Log).List(ctx, k8s.ChartName, at.Namespace == "")
	if at.Namespace == "" && cloud.KindOf(err) == cloud.Denied {
		all, err = l.eachNamespace(ctx, c)
	}
	if err != nil {
		return l, err
	}
	for _, i := range all {
		if i.Status == helm.Uninstalled {
			continue
		}
		one := Listed{i.Name, i.Namespace, i.AppVersion, string(i.Status), i.Updated.UTC()}
		if i.Foreign {
			l.Foreign = append(l.Foreign, one)
			continue
		}
		l.Clusters = append(l.Clusters, one)
	}
	if err := l.addUnreleased(ctx, c, at.Namespace); err != nil {
		return l, err
	}
	slices.SortFunc(l.Clusters, Listed.compare)
	return l, nil
}

// addUnreleased adds the clusters that no release tells of.
func (l *Listing) addUnreleased(ctx context.Context, c *kube.Client, namespace string) error {
	all, err := k8s.Traces(ctx, c, namespace)
	if err != nil {
		return err
	}
	for _, t := range all {
		known := func(o Listed) bool { return o.Cluster == t.Cluster && o.Namespace == t.Namespace }
		if slices.ContainsFunc(l.Clusters, known) {
			continue
		}
		status := Remains
		if t.Master {
			status = Applied
		}
		l.Clusters = append(l.Clusters, Listed{t.Cluster, t.Namespace, t.Version, status, t.Made})
	}
	return nil
}

// The statuses of clusters without a release: one whose chart was applied without Helm,
// and one of which only parts are left.
const (
	Applied = "applied"
	Remains = "remains"
)

func (c Listed) compare(o Listed) int {
	return cmp.Or(cmp.Compare(c.Cluster, o.Cluster), cmp.Compare(c.Namespace, o.Namespace))
}

// eachNamespace looks into one namespace after the other, for those who may not look
// into all at once.
func (l *Listing) eachNamespace(ctx context.Context, c *kube.Client) ([]helm.Info, error) {
	api, err := c.Clientset()
	if err != nil {
		return nil, err
	}
	names := []string{c.Namespace()}
	list, err := api.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if l.OnlyOwn = err != nil; !l.OnlyOwn {
		names = nil
		for _, n := range list.Items {
			names = append(names, n.Name)
		}
	}
	var out []helm.Info
	for _, ns := range names {
		found, err := k8s.OpenReleases(c, ns, nil).List(ctx, k8s.ChartName, false)
		switch {
		case cloud.KindOf(err) == cloud.Denied && !l.OnlyOwn:
			l.Closed = append(l.Closed, ns)
		case err != nil:
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Elsewhere lists the other namespaces that have a cluster of that id, as far as the
// caller may look.
func (k *Opened) Elsewhere(ctx context.Context) []string {
	all, err := k8s.OpenReleases(k.Kube, "", nil).List(ctx, k8s.ChartName, true)
	if err != nil {
		return nil // it is advice, and was not asked for
	}
	var out []string
	for _, i := range all {
		if i.Name == k.Cluster && i.Namespace != k.Namespace() && !i.Foreign {
			out = append(out, i.Namespace)
		}
	}
	return out
}

// Render is the chart as objects, as `helm template` would print them: for a server
// of that version, "1.31", or for none in particular. It also returns a sentence for each
// value that means something else than in Determined's chart.
func Render(cluster, namespace, kubeVersion string, v Values) (out helm.Rendered, effects []string, err error) {
	server := helm.NoServer()
	if kubeVersion != "" {
		server.KubeVersion = kubeVersion
	}
	values, err := MergeValues(v)
	if err != nil {
		return out, nil, err
	}
	if out, err = helm.Render(helm.Release{Name: cluster, Namespace: namespace, Values: values, Chart: Chart()}, server); err != nil {
		return out, nil, err
	}
	return out, chart.OtherEffects(values), locateRefusal(masterTakes(out, cluster), v.origins(cluster, nil))
}

// Chart is the chart of this program.
func Chart() fs.FS { return templates.Chart(build.Read().Version) }

// ChartFile is one file of it: values.yaml, values.schema.json.
func ChartFile(name string) (string, error) {
	b, err := fs.ReadFile(Chart(), name)
	if err != nil {
		return "", fmt.Errorf("read the chart: %w", err)
	}
	return string(b), nil
}

// Effective are values over the chart's own, without secrets.
func Effective(values chart.Values) (chart.Values, error) {
	text, err := ChartFile("values.yaml")
	if err != nil {
		return nil, err
	}
	var own chart.Values
	if err := yaml.Unmarshal([]byte(text), &own); err != nil {
		return nil, fmt.Errorf("read the chart's values: %w", err)
	}
	return values.Over(own).Shown(), nil
}

// FormatValues is values as YAML.
func FormatValues(values chart.Values) (string, error) {
	text, err := yaml.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("print the values: %w", err)
	}
	return strings.TrimRight(string(text), "\n"), nil
}
