package config

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// cluster returns the layers that a master adds to every experiment.
func cluster() Layers {
	return Layers{
		Container: container.Default(), Name: "Experiment (early-amber-otter)", Seed: 7, Priority: 42,
		Cluster: &config.CheckpointStorage{S3: &config.S3Storage{
			Saved: config.Saved{TrialBest: 3, TrialLatest: 4}, Bucket: "cluster",
			AccessKey: secret.Literal("the-access-key"), SecretKey: secret.Literal("the-secret-key"),
		}},
	}
}

func parse(t *testing.T, text string, options ...string) *document.Document {
	t.Helper()
	d, err := Parse([]byte(text), "train.yaml", options)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const minimal = `
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
`

func complete(t *testing.T, l Layers) Experiment {
	t.Helper()
	x, _, err := Complete(l)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestDefaultsAreThoseOf0381(t *testing.T) {
	l := cluster()
	l.Request = parse(t, minimal)
	data, err := json.Marshal(complete(t, l).Show())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"name":"Experiment (early-amber-otter)"`, `"max_restarts":5`, `"checkpoint_policy":"best"`,
		`"min_validation_period":{"batches":0}`, `"scheduling_unit":100`, `"experiment_seed":7`, `"slots_per_trial":1`,
		`"priority":42`, `"preemption_timeout":3600`, `"shm_size":4294967296`, `"smaller_is_better":true`,
		`"pattern":".*CUDA out of memory.*"`, `"hyperparameters":{}`, `"description":null`, `"environment_variables":{"cpu":[],"cuda":[],"rocm":[]}`,
		`"image":{"cpu":"docker.io/library/python:3.11-slim"`, `{"action":null,"name":"CUDA OOM"`, `"pbs":{}`, `"data":{}`, `"save_experiment_best":0`, `"bucket":"cluster"`,
		`"tensor_fusion_cycle_time":1`, `"log_retention_days":null`, `"searcher":{"max_length":null,"metric":"loss","name":"single"`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is not in %s", want, data)
		}
	}
}

func TestEntrypointFormIsPreserved(t *testing.T) {
	for text, want := range map[string]string{
		"python3 train.py": `"python3 train.py"`, "[python3 train.py]": `["python3 train.py"]`, "[python3, train.py]": `["python3","train.py"]`,
	} {
		l := cluster()
		l.Request = parse(t, "searcher: {name: single, metric: loss}\nentrypoint: "+text+"\n")
		x := complete(t, l)
		got, err := json.Marshal(x.Show()["entrypoint"])
		if err != nil || string(got) != want {
			t.Errorf("%s is shown as %s, %v", text, got, err)
		}
		checkStored(t, x)
	}
}

func TestNullIsUnset(t *testing.T) {
	l := cluster()
	l.Request = parse(t, minimal+"max_restarts: null\nresources: null\ndata: null\nlabels: null\nreproducibility: {experiment_seed: null}\n")
	x := complete(t, l)
	if *x.MaxRestarts != 5 || *x.Resources.SlotsPerTrial != 1 || *x.Reproducibility.ExperimentSeed != 7 {
		t.Errorf("%+v", x)
	}
}

func TestShowOmitsSecrets(t *testing.T) {
	l := cluster()
	l.Request = parse(t, minimal+"environment: {registry_auth: {username: me, password: the-password}}\n")
	x := complete(t, l)
	data, err := json.Marshal(x.Show())
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"access_key", "secret_key", "the-", "connection_string", `"host_path"`} {
		if strings.Contains(string(data), bad) {
			t.Errorf("%s is in %s", bad, data)
		}
	}
	inTrial, err := json.Marshal(x.ShowToTrial()["checkpoint_storage"])
	if err != nil || !strings.Contains(string(inTrial), `"secret_key":"the-secret-key"`) || strings.Contains(string(inTrial), "credential") {
		t.Errorf("a trial is shown %s, %v", inTrial, err)
	}
	stored, err := x.Store()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Load(stored)
	if err != nil {
		t.Fatal(err)
	}
	if back.CheckpointStorage.SecretKey.Reveal() != "the-secret-key" || back.Environment.RegistryAuth.Password.Reveal() != "the-password" {
		t.Error("the stored configuration lost its secrets")
	}
}

func TestUserSecretReferencesAreNotResolved(t *testing.T) {
	l := cluster()
	l.Request = parse(t, minimal+"checkpoint_storage: {type: s3, bucket: b, access_key: 'env:HOME', secret_key: 'file:/etc/passwd'}\n")
	s := complete(t, l).CheckpointStorage.Typed().S3
	if _, ok := s.SecretKey.Ref(); ok || s.SecretKey.Reveal() != "file:/etc/passwd" {
		t.Error("a user's text became a reference to a file of the master")
	}
}

func TestLegacyLengthIsATimeMetric(t *testing.T) {
	l := cluster()
	l.Request = parse(t, "entrypoint: x\nsearcher: {name: adaptive_asha, metric: loss, max_trials: 16, max_length: {epochs: 64}}\n")
	x, warnings, err := Complete(l)
	if err != nil {
		t.Fatal(err)
	}
	c := x.Search()
	if c.TimeMetric != "epochs" || c.MaxTime != 64 || c.Divisor != 4 || c.Rungs != 5 || c.MaxConcurrent != 16 || c.Mode != search.Standard {
		t.Errorf("%+v", c)
	}
	if len(warnings) != 1 || warnings[0].Line != 2 || !strings.Contains(warnings[0].Text, "time_metric epochs and max_time 64") {
		t.Errorf("%v", warnings)
	}
}

func TestCompleteReportsAllErrors(t *testing.T) {
	l := cluster()
	l.Template = parse(t, "scheduling_unit: 0\n")
	l.Request = parse(t, `
entrypoint: x
max_restart: 1
resources:
  slots: 3
  priority: 100
searcher:
  name: random
  metric: loss
  max_rungs: 3
hyperparameters:
  lr: {type: double, minval: 1, maxval: 0}
  n: {type: int, minval: 1, maxval: 2, count: 1.5}
  deep: {er: {type: categorial, vals: [1]}}
`)
	_, _, err := Complete(l)
	var all document.Errors
	if !errors.As(err, &all) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range all {
		got = append(got, p.String())
	}
	for _, want := range []string{
		"train.yaml:3: max_restart: unknown key (did you mean max_restarts?)",
		"train.yaml:5: resources.slots: slots not allowed",
		"train.yaml:6: resources.priority: must be between 1 and 99 (is 100)",
		"searcher.max_trials: is required",
		"train.yaml:10: searcher.max_rungs: is not a setting of the method random",
		"train.yaml:12: hyperparameters.lr.maxval: must be more than minval (is 0; minval is 1)",
		"train.yaml:13: hyperparameters.n.count: must be a whole number, is the number 1.5",
		`hyperparameters.deep.er.type: must be one of const, int, double, log, categorical (is "categorial") (did you mean categorical?)`,
		"train.yaml:1: scheduling_unit: must be at least 1 (is 0)",
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q is not among\n%s", want, strings.Join(got, "\n"))
		}
	}
}
