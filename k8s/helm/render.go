package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	helmkube "helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/cloud"
)

// Capabilities describes the server for a chart. Rendering is deterministic for given capabilities
// and values.
type Capabilities struct {
	// KubeVersion is the server's version: "v1.36.3".
	KubeVersion string
	// APIVersions are like "apps/v1" and "apps/v1/Deployment".
	APIVersions []string
}

// NoServer returns the capabilities for rendering without a server.
func NoServer() Capabilities { return Capabilities{KubeVersion: "v1.36.0"} }

// Capabilities queries the server.
func (c *Client) Capabilities(ctx context.Context) (Capabilities, error) {
	r, err := c.beginRun(ctx)
	if err != nil {
		return Capabilities{}, err
	}
	dc, err := r.config.RESTClientGetter.ToDiscoveryClient()
	if err != nil {
		return Capabilities{}, fmt.Errorf("ask the server what it offers: %w", err)
	}
	v, err := dc.ServerVersion()
	if err != nil {
		return Capabilities{}, fmt.Errorf("ask the server for its version: %w", r.trail.Last(err))
	}
	apis, err := action.GetVersionSet(dc)
	if err != nil {
		return Capabilities{}, fmt.Errorf("ask the server what it offers: %w", r.trail.Last(err))
	}
	slices.Sort(apis)
	return Capabilities{KubeVersion: v.GitVersion, APIVersions: apis}, nil
}

// Rendered is a rendered chart.
type Rendered struct {
	// Objects are in the order of creation; hooks come last.
	Objects []Object
	// Notes are the chart's notes for the user.
	Notes string
}

// Manifest returns all objects as one YAML stream, like `helm template`.
func (r Rendered) Manifest() string {
	var b strings.Builder
	for _, o := range r.Objects {
		b.WriteString("---\n")
		if o.Source != "" {
			b.WriteString("# Source: " + o.Source + "\n")
		}
		b.WriteString(strings.TrimSpace(o.YAML) + "\n")
	}
	return b.String()
}

// Object is one rendered object.
type Object struct {
	APIVersion, Kind, Namespace, Name string
	// YAML is the text rendered by the chart.
	YAML string
	// Source is the template's path: "determined/templates/service.yaml".
	Source string
	// Hook is true for a hook, which Helm creates in a step of the release.
	Hook bool
	// Keep is true if the chart keeps the object when the release is uninstalled.
	Keep bool
}

// objectKey returns a key that is equal for all renderings of an object.
func (o Object) objectKey() string {
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		group = ""
	}
	return group + "/" + o.Kind + "/" + o.Namespace + "/" + o.Name
}

// Same reports whether both are renderings of the same object.
func (o Object) Same(other Object) bool { return o.objectKey() == other.objectKey() }

// String returns a text like "Deployment determined-master-deployment-lab".
func (o Object) String() string { return o.Kind + " " + o.Name }

// Render renders the objects of a release without a server. It returns a *ValuesError for values
// that violate the chart's schema.
func Render(r Release, caps Capabilities) (Rendered, error) {
	if err := CheckValues(r); err != nil {
		return Rendered{}, err
	}
	c, err := r.loadChart()
	if err != nil {
		return Rendered{}, err
	}
	version, err := chartutil.ParseKubeVersion(caps.KubeVersion)
	if err != nil {
		return Rendered{}, fmt.Errorf("read the server's version %q: %w", caps.KubeVersion, err)
	}
	in := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	in.ReleaseName, in.Namespace = r.Name, r.Namespace
	in.ClientOnly, in.DryRun, in.SkipSchemaValidation = true, true, true // done by CheckValues
	in.KubeVersion, in.APIVersions = version, caps.APIVersions
	rel, err := in.Run(c, r.copyValues())
	if err != nil {
		return Rendered{}, &cloud.Error{Kind: cloud.Invalid, Op: "helm:render", Resource: "release " + r.Name, Err: err}
	}
	objects, err := objectsOf(rel)
	if err != nil {
		return Rendered{}, err
	}
	return Rendered{Objects: objects, Notes: rel.Info.Notes}, nil
}

// objectsOf parses a release's manifest.
func objectsOf(rel *release.Release) ([]Object, error) {
	parts := releaseutil.SplitManifests(rel.Manifest)
	keys := make([]string, 0, len(parts))
	for k := range parts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return partNumber(a) - partNumber(b) })
	var out []Object
	for _, k := range keys {
		o, found, err := parseObjects(parts[k], rel.Namespace)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, o)
		}
	}
	for _, h := range rel.Hooks {
		o, found, err := parseObjects(h.Manifest, rel.Namespace)
		if err != nil {
			return nil, err
		}
		if found {
			o.Hook, o.Source = true, h.Path
			out = append(out, o)
		}
	}
	return out, nil
}

// partNumber returns the index of a part named like "manifest-7" by Helm.
func partNumber(key string) int {
	var n int
	if _, err := fmt.Sscanf(key, "manifest-%d", &n); err != nil {
		return 0
	}
	return n
}

func parseObjects(text, namespace string) (Object, bool, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name        string            `json:"name"`
			Namespace   string            `json:"namespace"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		return Object{}, false, fmt.Errorf("read a rendered object: %w", err)
	}
	o := Object{APIVersion: head.APIVersion, Kind: head.Kind, Name: head.Metadata.Name, Namespace: head.Metadata.Namespace, YAML: text}
	o.Keep = head.Metadata.Annotations[helmkube.ResourcePolicyAnno] == helmkube.KeepPolicy
	if o.Namespace == "" {
		o.Namespace = namespace
	}
	if first, rest, found := strings.Cut(text, "\n"); found && strings.HasPrefix(first, "# Source: ") {
		o.Source, o.YAML = strings.TrimPrefix(first, "# Source: "), rest
	}
	return o, o.Kind != "", nil
}
