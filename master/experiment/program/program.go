// Package program says what the containers of an experiment's tasks run: the unmodified library
// of the client, in the experiment's image, with the experiment's configuration. Everything in
// it is a pure function.
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

// prelude prepares a container and then becomes a program of the library.
//
//go:embed prelude.sh
var prelude string

// fetchWheel is the program that fetches the cluster's wheel of the library.
//
//go:embed fetch_wheel.py
var fetchWheel string

// prepare is the prelude with the programs that it runs.
func prepare() string {
	return "fetch_wheel='" + strings.ReplaceAll(fetchWheel, "'", `'\''`) + "'\n" + prelude
}

// bashForHooks runs a script in the shell that startup hooks are written for, where there is a hook and
// that shell. Without a hook any will do, and the one that runs is not replaced.
const bashForHooks = `p=$1; shift; [ -f ./startup-hook.sh ] && [ -x /bin/bash ] && exec /bin/bash -c "$p" "$0" "$@"; eval "$p"`

// Library is a program of the client's library in an experiment's image: python3 with
// arguments, as in "-m", "determined.exec.launch".
func Library(x config.Experiment, d container.Defaults, args ...string) spec.Program {
	return spec.Program{
		Config:     taskConfig(x, d),
		Storage:    storageMounts(x.CheckpointStorage),
		Argv:       append([]string{"/bin/sh", "-c", bashForHooks, "det-deploy-task", prepare()}, args...),
		FixedPaths: true,
	}
}

// Trial is one run of a trial.
type Trial struct {
	// Config is the experiment's complete configuration.
	Config config.Experiment
	// Written is what Write makes of Config, which the runs of all its trials may share; otherwise each
	// makes it again.
	Written Written
	// Defaults is what the containers of its pool get.
	Defaults container.Defaults
	// Experiment and Trial are their numbers, Run counts the trial's runs from 1.
	Experiment, Trial, Run int
	// Seed is the trial's own, below 2³¹.
	Seed int64
	// HParams is its hyperparameters, as a JSON object.
	HParams json.RawMessage
	// Steps is how far it is, and Checkpoint what it starts from; zero for nothing.
	Steps      int64
	Checkpoint Source
}

// Written is a configuration as the programs of trials read it. It has secrets.
type Written struct {
	// file is whole, variable without the keys of the storage, which are in the file alone.
	file, variable []byte
}

// IsEmpty says that nothing was written.
func (w Written) IsEmpty() bool { return w.file == nil }

// Write writes a configuration.
func Write(c config.Experiment) (w Written, err error) {
	if w.file, err = json.Marshal(c.ShowToTrial()); err != nil {
		return w, err
	}
	w.variable, err = json.Marshal(c.Show())
	return w, err
}

// Program is what the containers of the run execute.
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
