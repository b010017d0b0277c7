package k8s

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/det-deploy/det-deploy/k8s/kube"
)

// Trace describes a cluster found by its objects, with or without a release.
type Trace struct {
	Cluster, Namespace, Version string
	// Master is false if only other parts exist.
	Master bool
	Made   time.Time
}

// Traces returns the clusters of a namespace, or of all namespaces if it is empty, by their
// masters, PriorityClasses and task namespaces, without duplicates. Users who may not list all
// masters get those in c's namespace.
func Traces(ctx context.Context, c *kube.Client, namespace string) ([]Trace, error) {
	var out []Trace
	seen := make(map[[2]string]bool)
	for _, at := range []struct {
		of     schema.GroupVersionResource
		ns     string
		master bool
	}{
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, namespace, true},
		{schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}, "", false},
		{schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", false},
	} {
		list, err := clustersIn(ctx, c, at.of, at.ns, at.master)
		if err != nil {
			return nil, err
		}
		for _, o := range list {
			t := traceOf(o, at.master)
			key := [2]string{t.Namespace, t.Cluster}
			if t.Namespace == "" || seen[key] || namespace != "" && t.Namespace != namespace {
				continue
			}
			seen[key] = true
			out = append(out, t)
		}
	}
	return out, nil
}

// clustersIn lists the objects of a kind with the label of any cluster.
func clustersIn(ctx context.Context, c *kube.Client, of schema.GroupVersionResource, ns string, master bool) ([]unstructured.Unstructured, error) {
	selector := clusterLabel
	if master {
		selector += "," + component + "=master"
	}
	api, err := c.Objects(of, ns)
	if err != nil {
		return nil, err
	}
	list, err := api.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsForbidden(err) {
		if master && ns == "" {
			return clustersIn(ctx, c, of, c.Namespace(), master)
		}
		return nil, nil
	}
	if err != nil {
		return nil, explainError("list", of.Resource, ns, "", err)
	}
	return list.Items, nil
}

// traceOf returns the cluster of an object, by its labels or, if it was applied without Helm, by
// its name. The namespace is empty if neither contains it. It is pure.
func traceOf(o unstructured.Unstructured, master bool) Trace {
	labels := o.GetLabels()
	t := Trace{Cluster: labels[clusterLabel], Version: labels[versionLabel], Master: master, Made: o.GetCreationTimestamp().UTC()}
	space := o.GetAnnotations()[releaseNamespace]
	switch name := o.GetName(); {
	case master && name == masterPrefix+t.Cluster:
		t.Namespace = o.GetNamespace()
	case master:
	case space != "":
		t.Namespace = space
	case strings.HasSuffix(name, "-"+t.Cluster+"-tasks"):
		t.Namespace = strings.TrimSuffix(name, "-"+t.Cluster+"-tasks")
	case strings.HasSuffix(name, "-"+t.Cluster+prioritySuffix):
		t.Namespace = strings.TrimPrefix(strings.TrimSuffix(name, "-"+t.Cluster+prioritySuffix), "determined-")
	}
	return t
}
