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

// Capabilities is what a chart may ask about a server. A chart rendered for the
// same capabilities with the same values is the same, byte for byte.
type Capabilities struct {
	// KubeVersion is the server's: "v1.36.3".
	KubeVersion string
	// APIVersions are "apps/v1" and "apps/v1/Deployment".
	APIVersions []string
}

// NoServer is what a chart is rendered for where there is no server to ask.
func NoServer() Capabilities { return Capabilities{KubeVersion: "v1.36.0"} }

// Capabilities asks the server.
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

// Rendered is a chart made into objects.
type Rendered struct {
	// Objects are in the order in which they are created; hooks come last.
	Objects []Object
	// Notes is the chart's advice to its user.
	Notes string
}

// Manifest is all objects as one YAML stream, as `helm template` prints it.
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
	// YAML is its text as the chart wrote it.
	YAML string
	// Source is the template's path: "determined/templates/service.yaml".
	Source string
	// Hook is true for what Helm makes beside the release, at one of its steps.
	Hook bool
	// Keep is true for what outlives the release, by the chart's own word.
	Keep bool
}

// objectKey is the same for two renderings of one object.
func (o Object) objectKey() string {
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		group = ""
	}
	return group + "/" + o.Kind + "/" + o.Namespace + "/" + o.Name
}

// Same reports whether two renderings are of one object.
func (o Object) Same(other Object) bool { return o.objectKey() == other.objectKey() }

// String is how a person reads it: "Deployment determined-master-deployment-lab".
func (o Object) String() string { return o.Kind + " " + o.Name }

// Render makes the objects of a release without asking any server. A value that
// the chart's schema refuses is a ValuesError.
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
	in.ClientOnly, in.DryRun, in.SkipSchemaValidation = true, true, true // CheckValues has
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

// objectsOf takes a release's manifest apart.
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

// partNumber is the place of a part that Helm named "manifest-7".
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
