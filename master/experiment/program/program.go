// Package program builds the commands of an experiment's tasks: the unmodified client library in the
// experiment's image with the experiment's configuration. The package performs no I/O.
package program

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// prelude prepares a container and then executes a program of the library.
//
//go:embed prelude.sh
var prelude string

// fetchWheel downloads the cluster's wheel of the library.
//
//go:embed fetch_wheel.py
var fetchWheel string

// prepare returns the prelude with the programs that it embeds.
func prepare() string {
	return "fetch_wheel='" + strings.ReplaceAll(fetchWheel, "'", `'\''`) + "'\n" + prelude
}

// bashForHooks runs a script in bash, for which startup hooks are written, if there are a hook and
// bash. Otherwise it runs the script in the current shell without another exec.
const bashForHooks = `p=$1; shift; [ -f ./startup-hook.sh ] && [ -x /bin/bash ] && exec /bin/bash -c "$p" "$0" "$@"; eval "$p"`

// Library returns a program of the client library in an experiment's image: python3 with the given
// arguments, such as "-m", "determined.exec.launch".
func Library(x config.Experiment, d container.Defaults, args ...string) spec.Program {
	return spec.Program{
		Config:     taskConfig(x, d),
		Storage:    storageMounts(x.CheckpointStorage),
		Argv:       Argv(args...),
		FixedPaths: true,
	}
}

// Argv returns the command of a program of the client library: python3 with the given arguments, in a
// container that it prepares.
func Argv(args ...string) []string {
	return append([]string{"/bin/sh", "-c", bashForHooks, "det-deploy-task", prepare()}, args...)
}

// Trial describes one run of a trial.
type Trial struct {
	// Config is the experiment's complete configuration.
	Config config.Experiment
	// Written is the encoded Config, which the runs of all its trials may share. If it is empty,
	// Program encodes Config itself.
	Written Written
	// Defaults are the task container defaults of the resource pool.
	Defaults container.Defaults
	// Experiment and Trial are IDs; Run counts the trial's runs from 1.
	Experiment, Trial, Run int
	// Seed is the seed of the trial, which is below 2³¹.
	Seed int64
	// HParams are the trial's hyperparameters as a JSON object.
	HParams json.RawMessage
	// Steps is the number of completed steps, Checkpoint the checkpoint that the run starts from.
	// Both are zero for a new trial.
	Steps      int64
	Checkpoint Source
}

// Written is a configuration as encoded for the programs of trials. It contains secrets.
type Written struct {
	// file is the whole configuration. variable lacks the storage's keys, because environment
	// variables are more widely visible than the file.
	file, variable []byte
}

// IsEmpty reports whether w contains no configuration.
func (w Written) IsEmpty() bool { return w.file == nil }

// Write encodes a configuration.
func Write(c config.Experiment) (w Written, err error) {
	if w.file, err = json.Marshal(c.ShowToTrial()); err != nil {
		return w, err
	}
	w.variable, err = json.Marshal(c.Show())
	return w, err
}

// Program returns the program of the run's containers. It returns an error if the configuration
// cannot be encoded.
func (t Trial) Program() (spec.Program, error) {
	w := t.Written
	if w.IsEmpty() {
		var err error
		if w, err = Write(t.Config); err != nil {
			return spec.Program{}, fmt.Errorf("write the configuration of experiment %d: %w", t.Experiment, err)
		}
	}
	info, err := t.buildInfo(w.file).Content()
	if err != nil {
		return spec.Program{}, err
	}
	p := Library(t.Config, t.Defaults, "-m", "determined.exec.launch")
	p.Storage = append(p.Storage, t.Checkpoint.mounts(t.Config.CheckpointStorage)...)
	p.TrialInfo, p.Variables = info, t.buildVariables(w.variable)
	p.HasContext, p.HostNetwork = true, true
	return p, nil
}

func (t Trial) buildInfo(cfg []byte) agentv1.TrialInfo {
	out := agentv1.TrialInfo{
		TrialID: t.Trial, ExperimentID: t.Experiment, TrialSeed: t.Seed, HParams: t.HParams, Config: cfg,
		StepsCompleted: t.Steps, TrialRunID: t.Run, Debug: t.Config.Debug != nil && *t.Config.Debug,
	}
	if name := t.Defaults.DtrainInterface; name != "" {
		out.NetworkInterface = &name
	}
	return out
}
