package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
)

type templateOptions struct {
	*term.Streams
	values

	Cluster     string
	Namespace   string
	KubeVersion string
	Export      string
}

func newTemplate(s *term.Streams, run func(context.Context, *templateOptions) error) *cobra.Command {
	o := &templateOptions{Streams: s}
	c := &cobra.Command{
		Use:   "template",
		Short: "Print the objects of a cluster on Kubernetes, or write its chart",
		Long: `Print the objects that install would create, as helm template does. No calls to
Kubernetes are made, and the same values result in the same output. Invalid values are
reported, so that template also validates values files. With --export, the chart is
written to a new directory, for helm install NAME DIRECTORY or a GitOps tool. Secrets
in the values are included in the output.`,
		Example: `  det-deploy k8s template --cluster-id lab --set imageRegistry=registry.example.com/team,maxSlotsPerPod=8
  det-deploy k8s template --cluster-id lab --values values.yaml --kube-version 1.31 >lab.yaml
  det-deploy k8s template --export determined-helm-chart`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	cluster.AddID(f, &o.Cluster, "")
	f.StringVarP(&o.Namespace, "namespace", "n", "", "namespace of the cluster (DET_K8S_NAMESPACE)")
	o.addFlags(f)
	f.StringVar(&o.KubeVersion, "kube-version", "", "Kubernetes version to render for, such as 1.31 (default a recent version)")
	f.StringVar(&o.Export, "export", "", "new or empty directory to write the chart to")
	return c
}

// kubeVersion matches the version formats of servers and users: 1.31, v1.31.2, v1.31.2-gke.1.
var kubeVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+(\.[0-9]+)?([-+].*)?$`)

func (o *templateOptions) validate() error {
	if o.KubeVersion != "" && !kubeVersion.MatchString(o.KubeVersion) {
		return usage.Errorf("--kube-version: must be a version such as 1.31 (is %q)", o.KubeVersion)
	}
	if o.Export == "" {
		return (&Which{Cluster: o.Cluster}).validate()
	}
	if o.Cluster != "" || o.KubeVersion != "" || len(o.Files)+len(o.Set)+len(o.SetString)+len(o.SetFile)+len(o.SetJSON) > 0 {
		return usage.Errorf("--export: writes the chart itself; give --cluster-id, --kube-version and values to helm install")
	}
	return nil
}

func runTemplate(_ context.Context, o *templateOptions) error {
	if o.Export != "" {
		return o.exportChart()
	}
	out, effects, err := k8swire.Render(o.Cluster, cmp.Or(o.Namespace, o.Getenv("DET_K8S_NAMESPACE"), "default"), o.KubeVersion, o.givenValues(o.Streams))
	if err != nil {
		return err
	}
	noteEffects(o.Streams, effects)
	if _, err := o.Out.Write([]byte(out.Manifest())); err != nil {
		return fmt.Errorf("cannot print the objects: %w", err)
	}
	return nil
}

// exportChart writes the files of the chart.
func (o *templateOptions) exportChart() error {
	there, err := os.ReadDir(o.Export)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write the chart: %w", err)
	}
	if len(there) > 0 {
		return usage.Errorf("--export: %s is not empty", o.Export)
	}
	chart := k8swire.Chart()
	err = fs.WalkDir(chart, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(o.Export, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := fs.ReadFile(chart, path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
	if err != nil {
		return fmt.Errorf("cannot write the chart: %w", err)
	}
	o.Notef("Wrote the chart to %s. To install it: helm install NAME %s --set imageRegistry=…,maxSlotsPerPod=…", o.Export, o.Export)
	return nil
}
