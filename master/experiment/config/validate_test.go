package config

import (
	"slices"
	"strings"
	"testing"
)

// TestRefusals has one row for each error message.
func TestRefusals(t *testing.T) {
	const random = "entrypoint: x\nsearcher: {name: random, metric: loss, max_trials: 4}\n"
	asha := func(more string) string {
		return "entrypoint: x\nsearcher: {name: adaptive_asha, metric: loss, max_trials: 4" + more + "}\n"
	}
	for text, want := range map[string]string{
		"searcher: {name: single, metric: loss}":                 "entrypoint: is required",
		"entrypoint: []\nsearcher: {name: single, metric: loss}": "entrypoint: is required",
		"entrypoint: x": "searcher.name: is required",
		"entrypoint: x\nsearcher: {name: single}":                     "searcher.metric: is required",
		"entrypoint: x\nsearcher: {name: adaptive, metric: m}":        "the method adaptive is no longer supported; use adaptive_asha",
		"entrypoint: x\nsearcher: {name: adaptive_simple, metric: m}": "no longer supported",
		"entrypoint: x\nsearcher: {name: sync_halving, metric: m}":    "use async_halving",
		"entrypoint: x\nsearcher: {name: custom, metric: m}":          "no longer supported",
		"entrypoint: x\nsearcher: {name: pbt, metric: m}":             "no longer supported",
		"entrypoint: x\nsearcher: {name: randm, metric: m}":           "did you mean random?",
		asha(""): "searcher.time_metric: is required",
		asha(", max_length: {epochs: 4}, max_time: 3"):                                                                                 "searcher.time_metric: is required",
		asha(", max_length: 3"):                                                                                                        "searcher.max_length: has no unit; set time_metric and max_time",
		random[:len(random)-2] + ", max_length: 0}":                                                                                    "searcher.max_length: must be at least 1",
		asha(", max_length: {epochs: 0}"):                                                                                              "searcher.max_length.epochs: must be at least 1",
		asha(", max_length: {epochs: 1, batches: 2}"):                                                                                  "exactly one of batches, records, epochs",
		asha(", time_metric: e, max_time: 3, mode: fast"):                                                                              "must be one of aggressive, standard, conservative",
		asha(", time_metric: e, max_time: 3, divisor: 1"):                                                                              "searcher.divisor: must be more than 1",
		asha(", time_metric: e, max_time: 3, num_rungs: 2"):                                                                            "num_rungs: is not a setting of the method adaptive_asha",
		asha(", time_metric: e, max_time: 3, bracket_rungs: [0]"):                                                                      "searcher.bracket_rungs[0]: must be at least 1",
		asha(", time_metric: e, max_time: 3, bracket_rungs: [99]"):                                                                     "at most 64",
		random + "hyperparameters: {a: {type: int, minval: 3, maxval: 3}}":                                                             "must be more than minval",
		random + "hyperparameters: {a: {type: int, minval: 3}}":                                                                        "hyperparameters.a.maxval: is required",
		random + "hyperparameters: {a: {type: categorical}}":                                                                           "hyperparameters.a.vals: is required",
		random + "hyperparameters: {a: {type: categorical, vals: []}}":                                                                 "at least one value",
		random + "hyperparameters: {a: {type: log, minval: 1, maxval: 2}}":                                                             "hyperparameters.a.base: is required",
		random + "hyperparameters: {a: {type: log, base: 10, minval: 1, maxval: 400}}":                                                 "is infinite",
		random + "hyperparameters: {a: {type: log, base: -1, minval: 1, maxval: 4}}":                                                   "must be more than 0",
		random + "hyperparameters: {a: {type: const, value: 1}}":                                                                       "unknown key",
		"entrypoint: x\nsearcher: {name: grid, metric: m}\nhyperparameters: {a: {type: double, minval: 0, maxval: 1}}":                 "hyperparameters.a.count: is required by the method grid",
		"entrypoint: x\nsearcher: {name: grid, metric: m}\nhyperparameters: {a: {type: double, minval: 0, maxval: 1, count: 9000000}}": "more than 1000000 trials",
		"entrypoint: x\nsearcher: {name: random, metric: m, max_trials: 5000, max_concurrent_trials: 5000}\nhyperparameters: {a: {type: const, val: [" + strings.Repeat("0, ", 199) + "0]}}": "hyperparameters: must have at most 1000000 values in all concurrent trials (5000 trials with 201 values each)",
		"entrypoint: x\nsearcher: {name: random, metric: m, max_trials: 900000, max_concurrent_trials: 0}":                                                                                   "at most 10000 concurrent trials",
		random + "reproducibility: {experiment_seed: 4294967296}":                                                                                                                            "between 0 and 4294967295",
		random + "retention_policy: {log_retention_days: -2}":                                                                                                                                "between -1 and 32767",
		random + "preemption_timeout: 99999999":                                                                                                                                              "preemption_timeout: must be at most 24h (is 27777h46m39s), because other tasks",
		random + "checkpoint_policy: some":                                                                                                                                                   "must be one of best, all, none",
		random + "min_checkpoint_period: {epoch: 3}":                                                                                                                                         "did you mean epochs?",
		random + "min_checkpoint_period: {epochs: -3}":                                                                                                                                       "must be at least 0",
		random + "max_restarts: 1.5":                                                                                                                                                         "must be a whole number",
		random + "data: [1]":                                                                                                                                                                 "data: must be a mapping",
		random + "name: \"a\\u202eb\"":                                                                                                                                                       "name: must have",
		random + "resources: {slots_per_trial: -1}":                                                                                                                                          "must be at least 0",
		random + "resources: {weight: 0}":                                                                                                                                                    "must be more than 0",
		random + "resources: {shm_size: big}":                                                                                                                                                "must be more than 0 bytes",
		random + "environment: {pod_spec: 3}":                                                                                                                                                "environment.pod_spec: must be a mapping",
		random + "environment: {image: 'a b'}":                                                                                                                                               "must be the name of an image",
		random + "bind_mounts: [{host_path: a, container_path: .}]":                                                                                                                          "host_path: must be absolute",
		random + "log_policies: [{name: a, pattern: '('}]":                                                                                                                                   "must be a regular expression",
		random + "log_policies: [{name: a, pattern: b, action: restart}]":                                                                                                                    "action",
		random + "checkpoint_storage: {type: nfs}":                                                                                                                                           "must be one of azure, directory, gcs, s3, shared_fs",
		random + "checkpoint_storage: {type: gcs, bucket: b, secret_key: s}":                                                                                                                 "secret_key: is not a setting of the type gcs",
		random + "checkpoint_storage: {type: shared_fs, host_path: /a, storage_path: /b}":                                                                                                    "must be inside host_path",
		random + "checkpoint_storage: {save_trial_best: -1}":                                                                                                                                 "must be at least 0",
		random + "optimizations: {mixed_precision: O9}":                                                                                                                                      "must be one of O0, O1, O2, O3",
		random + "profiling: {begin_on_batch: 5, end_after_batch: 3}":                                                                                                                        "must be at least begin_on_batch",
		random + "checkpoint_storage: {type: hdfs}":                                                                                                                                          "the type hdfs is no longer supported",
		random + "batches_per_step: 100":                                                                                                                                                     "batches_per_step: unknown key (it was removed; scheduling_unit replaced it)",
		random[:len(random)-2] + ", max_steps: 9}":                                                                                                                                           "searcher.max_steps: unknown key (it was removed; the program decides how long it trains",
		asha(", target_trial_steps: 9"):                                                                                                                                                      "searcher.target_trial_steps: unknown key (it was removed; time_metric and max_time replaced it)",
		asha(", step_budget: 9"):                                                                                                                                                             "searcher.step_budget: unknown key (it was removed; max_trials replaced it)",
		"entrypoint: x\nsearcher: {name: pbt, metric: m, population_size: 9}":                                                                                                                "searcher.population_size: unknown key (it was removed with the method pbt",
		random + "min_validation_period: 5":                                                                                                                                                  "min_validation_period: has no unit (a number counted steps in earlier releases, by default of 100 batches; write {batches: number})",
		random + "min_checkpoint_period: 5":                                                                                                                                                  "min_checkpoint_period: has no unit",
		random + "environment: {slurm: []}":                                                                                                                                                  "environment.slurm: unknown key (it was removed; slurm.sbatch_args replaced it",
		random + "environment: {pbs: []}":                                                                                                                                                    "environment.pbs: unknown key (it was removed; pbs.pbsbatch_args replaced it",
		random + "searcher2: 1":                                                                                                                                                              "did you mean searcher?",
	} {
		l := cluster()
		l.Request = parse(t, text)
		_, _, err := Complete(l)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n gave: %v\n want: %s", text, err, want)
		}
	}
}

func TestCompleteWithoutStorage(t *testing.T) {
	l := cluster()
	l.Cluster, l.Request = nil, parse(t, minimal)
	if _, _, err := Complete(l); err == nil || !strings.Contains(err.Error(), "checkpoint_storage.type: is required") {
		t.Errorf("got %v", err)
	}
	l.Unmanaged, l.Request = true, parse(t, "searcher: {name: single, metric: loss}\ndata: null\nlabels: null\nworkspace: null\n")
	if _, _, err := Complete(l); err != nil {
		t.Errorf("an unmanaged experiment: %v", err)
	}
	l.Request = parse(t, "searcher: {name: custom, metric: loss}\n")
	if _, _, err := Complete(l); err != nil {
		t.Errorf("an unmanaged experiment that searches itself: %v", err)
	}
}

func TestMaxLengthWithTimeMetric(t *testing.T) {
	l := cluster()
	l.Request = parse(t, "entrypoint: x\nsearcher: {name: adaptive_asha, metric: loss, max_trials: 4, max_length: {batches: 9}, time_metric: epochs, max_time: 3}\n")
	x, warnings, err := Complete(l)
	if err != nil {
		t.Fatal(err)
	}
	if c := x.Search(); c.TimeMetric != "epochs" || c.MaxTime != 3 || len(warnings) != 1 || !strings.Contains(warnings[0].Text, "no effect on the search") {
		t.Errorf("%+v, %v", c, warnings)
	}
}

func TestIgnoredSettingsCauseWarnings(t *testing.T) {
	l := cluster()
	l.Template = parse(t, "slurm: {gpu_type: a}\n")
	l.Request = parse(t, `
entrypoint: x
description: |
  two
  lines
searcher: {name: async_halving, metric: loss, max_trials: 4, num_rungs: 2, time_metric: e, max_time: 3, stop_once: true}
tensorboard_storage: {type: s3, bucket: b}
internal: {}
resources: {agent_label: gpu, weight: 2, native_parallel: true}
integrations: {pachyderm: {}}
hyperparameters: {deep: {list: [1, {type: int, minval: 1, maxval: 3}, {type: const, val: 3}]}}
`)
	_, warnings, err := Complete(l)
	if err != nil {
		t.Fatal(err)
	}
	got := warnings.Error()
	for _, want := range []string{"tensorboard_storage", "internal", "resources.agent_label", "resources.weight", "resources.native_parallel", "integrations", "searcher.stop_once", "train.yaml:11: hyperparameters.deep.list[1]: is not searched", "train.yaml:1: slurm"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if len(warnings) != 9 {
		t.Errorf("%d warnings:\n%s", len(warnings), got)
	}
}

func TestParseLimits(t *testing.T) {
	for text, want := range map[string]string{
		"a: " + strings.Repeat("x", mostBytes):                   "has 1048579 bytes; a configuration has at most 1048576",
		"labels: [" + strings.Repeat("x, ", mostValues) + "x]\n": "has 20003 values; a configuration has at most 20000",
		"a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n" +
			"d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: [*d, *d, *d, *d, *d, *d, *d, *d, *d]\n": "values; a configuration has at most 20000",
		"a: &a [*a]\n": "nested more than 64 levels deep",
	} {
		_, err := Parse([]byte(text), "train.yaml", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %.200v, want %s", text, err, want)
		}
	}
}

// Settings of a template that experiments do not have are warnings; it may also serve commands.
func TestTemplateOfCommands(t *testing.T) {
	l := cluster()
	l.Template = parse(t, "description: from the template\nwork_dir: /w\nresources: {slots: 2, preemptible: true}\nmax_restarts: 1\n")
	l.Request = parse(t, minimal)
	x, warnings, err := Complete(l)
	if err != nil || *x.MaxRestarts != 1 || *x.Description != "from the template" || x.Resources.Slots != nil {
		t.Fatalf("got %+v, %v", x, err)
	}
	want := []string{
		"train.yaml:2: work_dir: has no effect on experiments",
		"train.yaml:3: resources.preemptible: has no effect on experiments",
		"train.yaml:3: resources.slots: has no effect on experiments, which have slots_per_trial",
	}
	if got := strings.Split(warnings.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	l.Request, l.Template = parse(t, minimal+"work_dir: /w\n"), nil
	if _, _, err := Complete(l); err == nil {
		t.Error("the same setting of a request: got no error")
	}
}

func TestVariablesWithoutValueCauseWarnings(t *testing.T) {
	l := cluster()
	l.Request = parse(t, minimal+"environment: {environment_variables: [A=1, HOME, PATH]}\n")
	_, warnings, err := Complete(l)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings.Error(), "environment.environment_variables: HOME, PATH has no effect: a name without =") {
		t.Errorf("got %v, %v", warnings, err)
	}
}
