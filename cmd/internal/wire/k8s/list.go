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

// Listed describes a cluster by its release.
type Listed struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	// Version is the chart's appVersion, which is the version of det-deploy.
	Version string `json:"version"`
	// Status is the status of the release, or Applied or Remains if there is none.
	Status  string    `json:"status"`
	Updated time.Time `json:"updated"`
}

// Listing holds the clusters found on Kubernetes.
type Listing struct {
	Context  string   `json:"context"`
	Clusters []Listed `json:"clusters"`
	// Foreign lists the releases of Determined's own chart, or is nil.
	Foreign []Listed `json:"foreign,omitempty"`
	// Closed lists the namespaces that the caller may not read, or is nil.
	Closed []string `json:"closed,omitempty"`
	// OnlyOwn is true if the caller may not list namespaces; only the selected namespace was searched.
	OnlyOwn bool `json:"only_own,omitempty"`
}

// List lists the clusters in the selected namespace or, if none is selected, in all namespaces that the
// caller may read.
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

// addUnreleased adds the clusters that have no release.
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

// The statuses of clusters without a release: the chart was applied without Helm, or only some objects
// remain.
const (
	Applied = "applied"
	Remains = "remains"
)

func (c Listed) compare(o Listed) int {
	return cmp.Or(cmp.Compare(c.Cluster, o.Cluster), cmp.Compare(c.Namespace, o.Namespace))
}

// eachNamespace searches the namespaces one by one, for callers without cluster-wide permissions.
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

// Others lists the releases in all namespaces that the caller may read, except that of this cluster.
func (k *Opened) Others(ctx context.Context) []Listed {
	all, err := k8s.OpenReleases(k.Kube, "", nil).List(ctx, k8s.ChartName, true)
	if err != nil {
		return nil // errors are ignored because this is only a hint
	}
	var out []Listed
	for _, i := range all {
		if !i.Foreign && i.Status != helm.Uninstalled && (i.Name != k.Cluster || i.Namespace != k.Namespace()) {
			out = append(out, Listed{Cluster: i.Name, Namespace: i.Namespace})
		}
	}
	slices.SortFunc(out, Listed.compare)
	return out
}

// Render renders the chart as `helm template` does, for a server version such as "1.31", or for no
// particular server. effects has a sentence for each value whose effect differs from that in Determined's
// chart.
func Render(cluster, namespace, kubeVersion string, v Values) (out helm.Rendered, effects []string, err error) {
	server := helm.NoServer()
	if kubeVersion != "" {
		server.KubeVersion = kubeVersion
	}
	given, err := MergeValues(v)
	if err != nil {
		return out, nil, err
	}
	values := given.Over(nil) // as an install does: a null leaves a value out
	if out, err = helm.Render(helm.Release{Name: cluster, Namespace: namespace, Values: values, Chart: Chart()}, server); err != nil {
		return out, nil, err
	}
	return out, chart.OtherEffects(values), locateRefusal(masterTakes(out, cluster), v.origins(cluster, nil))
}

// Chart returns the chart of this program.
func Chart() fs.FS { return templates.Chart(build.Read().Version) }

// ChartFile returns a file of the chart, such as values.yaml or values.schema.json.
func ChartFile(name string) (string, error) {
	b, err := fs.ReadFile(Chart(), name)
	if err != nil {
		return "", fmt.Errorf("cannot read the chart: %w", err)
	}
	return string(b), nil
}

// Effective merges values over the chart's defaults and hides secrets.
func Effective(values chart.Values) (chart.Values, error) {
	text, err := ChartFile("values.yaml")
	if err != nil {
		return nil, err
	}
	var own chart.Values
	if err := yaml.Unmarshal([]byte(text), &own); err != nil {
		return nil, fmt.Errorf("cannot read the chart's values: %w", err)
	}
	return values.Over(own).Shown(), nil
}

// FormatValues encodes values as YAML.
func FormatValues(values chart.Values) (string, error) {
	text, err := yaml.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("cannot encode the values: %w", err)
	}
	return strings.TrimRight(string(text), "\n"), nil
}
