package clouds

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// addSettings declares the flags of a verb that every cloud has.
func (w *Selection) addSettings(v cluster.Verb, f *pflag.FlagSet) {
	cluster.AddID(f, &w.Cluster, "")
	describes := Describes(v)
	if describes {
		f.StringVar(&w.File, "config-file", "", "cluster.yaml of the cluster")
		w.Declare(f, w.Provider.Settings())
	}
	if describes || v == cluster.Upgrade {
		f.StringArrayVar(&w.Binaries, "binary", nil, "det-deploy for another architecture, as amd64=PATH or arm64=PATH")
	}
	if v == cluster.Up {
		f.BoolVar(&w.NoWait, "no-wait", false, "do not wait for the master")
	}
	if v == cluster.Up || v == cluster.Upgrade {
		f.BoolVar(&w.NoVerify, "no-verify", false, "skip the test task")
	}
}

// Describes reports whether the flags of a verb describe a cluster.
func Describes(v cluster.Verb) bool {
	return v == cluster.Up || v == cluster.Plan || v == cluster.Doctor
}

// CheckID refuses a cluster's ID that is missing, or that no cluster has.
func (w *Selection) CheckID() error {
	if w.Cluster == "" {
		return usage.Errorf("--cluster-id is missing: `det-deploy %s %s` shows what there is", w.Words.Name, w.Words.List)
	}
	return cluster.CheckID(w.Cluster)
}

// Read collects what the flags, the environment and the file say of the cluster.
func (w *Selection) Read() (spec.Given, error) {
	flags, err := w.ReadSettings()
	if err != nil {
		return spec.Given{}, err
	}
	g := spec.Given{Flags: flags, FileName: w.File}
	if w.File == "" {
		return g, nil
	}
	if g.File, err = os.ReadFile(w.File); err != nil {
		return g, usage.Check(fmt.Errorf("read --config-file: %w", err))
	}
	if w.Cluster == "" {
		w.Cluster, err = spec.ClusterOf(g.File, w.File)
	}
	return g, err
}
