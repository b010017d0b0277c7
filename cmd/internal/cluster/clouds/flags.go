package clouds

import (
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// addSettings declares the flags of a verb that are common to all clouds.
func (w *Selection) addSettings(v cluster.Verb, f *pflag.FlagSet) {
	cluster.AddID(f, &w.Cluster, "")
	describes := v.Describes()
	if describes {
		f.StringVar(&w.File, "config-file", "", "cluster.yaml of the cluster")
		w.Declare(f, w.Provider.Settings())
		f.BoolVar(&w.RefreshImages, "refresh-images", false, "use the newest stock images instead of those of earlier runs; replaces the master's machine")
	}
	if describes || v == cluster.Upgrade {
		f.StringArrayVar(&w.Binaries, "binary", nil, "det-deploy for another architecture, as amd64=PATH or arm64=PATH; repeatable")
	}
	if v == cluster.Up {
		f.BoolVar(&w.NoWait, "no-wait", false, "do not wait for the master")
	}
	if v == cluster.Up || v == cluster.Upgrade {
		f.BoolVar(&w.NoVerify, "no-verify", false, "skip the test task")
	}
}

// CheckID returns an error if the cluster ID is missing or invalid.
func (w *Selection) CheckID() error {
	return cluster.RequireID(w.Cluster, w.Words.Name+" "+w.Words.List)
}

// Read collects the settings from flags, the environment and the file.
func (w *Selection) Read() (spec.Given, error) {
	flags, err := w.ReadSettings()
	if err != nil {
		return spec.Given{}, err
	}
	g := spec.Given{Flags: flags, FileName: w.File}
	if w.File == "" {
		return g, nil
	}
	if g.File, err = usage.ReadFile("--config-file", w.File); err != nil {
		return g, err
	}
	if w.Cluster == "" {
		w.Cluster, err = spec.ClusterOf(g.File, w.File)
	}
	return g, err
}
