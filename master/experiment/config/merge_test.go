package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// merged returns the merge of two documents as text.
func merged(t *testing.T, upper, lower string) string {
	t.Helper()
	var a, b Experiment
	if e := parse(t, upper).Decode(&a); len(e) > 0 {
		t.Fatal(e)
	}
	if e := parse(t, lower).Decode(&b); len(e) > 0 {
		t.Fatal(e)
	}
	text, err := a.Merge(b).Store()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func normal(t *testing.T, text string) string { t.Helper(); return merged(t, text, "") }

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ upper, lower, want string }{
		"what is left open is filled": {
			"max_restarts: 0\nresources: {slots_per_trial: 2}", "max_restarts: 3\nresources: {slots_per_trial: 1, priority: 5}\nname: n",
			"max_restarts: 0\nresources: {slots_per_trial: 2, priority: 5}\nname: n",
		},
		"null is filled": {"max_restarts: null", "max_restarts: 3", "max_restarts: 3"},
		"mounts are joined by their place": {
			"bind_mounts: [{host_path: /a, container_path: /a}]",
			"bind_mounts: [{host_path: /b, container_path: /b}, {host_path: /c, container_path: /a}]",
			"bind_mounts: [{host_path: /a, container_path: /a}, {host_path: /b, container_path: /b}]",
		},
		"devices are joined by their place": {
			"resources: {devices: ['/q:/q', {host_path: /a, container_path: /a}]}",
			"resources: {devices: [{host_path: /z, container_path: /z}, {host_path: /n, container_path: /a}]}",
			"resources: {devices: ['/q:/q', '/a:/a', '/z:/z']}",
		},
		"policies are joined by name": {
			"log_policies: [{name: a, pattern: x}]", "log_policies: [{name: a, pattern: y}, {name: b, pattern: z}]",
			"log_policies: [{name: a, pattern: x}, {name: b, pattern: z}]",
		},
		"policies without a name are joined whole": {
			"log_policies: [{pattern: x, action: cancel_retries}]",
			"log_policies: [{pattern: x, action: {type: exclude_node}}, {pattern: x, action: {type: cancel_retries}}]",
			"log_policies: [{pattern: x, action: cancel_retries}, {pattern: x, action: exclude_node}]",
		},
		"labels are joined": {"labels: [a, b]", "labels: [b, c]", "labels: [a, b, c]"},
		"variables are appended, the upper ones last": {
			"environment: {environment_variables: [A=2]}", "environment: {environment_variables: {cpu: [A=1, B=1], cuda: [C=1]}}",
			"environment: {environment_variables: {cpu: [A=1, B=1, A=2], cuda: [C=1, A=2], rocm: [A=2]}}",
		},
		"images go device by device": {
			"environment: {image: {cuda: a}}", "environment: {image: b}", "environment: {image: {cpu: b, cuda: a, rocm: b}}",
		},
		"ports are joined": {"environment: {ports: {a: 1}}", "environment: {ports: {a: 2, b: 3}}", "environment: {ports: {a: 1, b: 3}}"},
		"a storage without a type has that of the lower": {
			"checkpoint_storage: {save_trial_best: 9}", "checkpoint_storage: {type: gcs, bucket: b, save_trial_best: 1, save_trial_latest: 2}",
			"checkpoint_storage: {type: gcs, bucket: b, save_trial_best: 9, save_trial_latest: 2}",
		},
		"storages of one type are merged": {
			"checkpoint_storage: {type: azure}", "checkpoint_storage: {type: azure, connection_string: c, container: d}",
			"checkpoint_storage: {type: azure, connection_string: c, container: d}",
		},
		"a pair of keys is of one piece": {
			"checkpoint_storage: {type: s3, bucket: a, access_key: mine}", "checkpoint_storage: {type: s3, bucket: b, access_key: k, secret_key: s, prefix: p}",
			"checkpoint_storage: {type: s3, bucket: a, access_key: mine, prefix: p}",
		},
		"an account is named in one way": {
			"checkpoint_storage: {type: azure, account_url: u}", "checkpoint_storage: {type: azure, connection_string: c, container: d}",
			"checkpoint_storage: {type: azure, account_url: u, container: d}",
		},
		"storages of two types share the counts": {
			"checkpoint_storage: {type: shared_fs, host_path: /a, save_trial_best: 1}",
			"checkpoint_storage: {type: s3, bucket: b, prefix: p, save_trial_best: 10, save_trial_latest: 10}",
			"checkpoint_storage: {type: shared_fs, host_path: /a, save_trial_best: 1, save_trial_latest: 10}",
		},
		"searchers of two methods share what all have": {
			"searcher: {name: single, metric: loss}",
			"searcher: {name: random, metric: acc, max_trials: 3, smaller_is_better: false, source_checkpoint_uuid: u}",
			"searcher: {name: single, metric: loss, smaller_is_better: false, source_checkpoint_uuid: u}",
		},
		"a searcher without a method has that of the lower": {
			"searcher: {metric: loss}", "searcher: {name: random, max_trials: 3}", "searcher: {name: random, metric: loss, max_trials: 3}",
		},
		"hyperparameters are of one piece": {
			"hyperparameters: {a: {type: int, minval: 1, maxval: 2}}", "hyperparameters: {a: {type: int, minval: 5, maxval: 6, count: 3}, b: 1}",
			"hyperparameters: {a: {type: int, minval: 1, maxval: 2}, b: 1}",
		},
		"but for those that hold others": {
			"hyperparameters: {t: {backbone: bert, deep: {a: 1}}}", "hyperparameters: {t: {task: lm, deep: {a: 2, b: 3}}}",
			"hyperparameters: {t: {backbone: bert, task: lm, deep: {a: 1, b: 3}}}",
		},
		"a null hyperparameter is a constant": {
			"hyperparameters: {t: null}", "hyperparameters: {t: {task: lm}}", "hyperparameters: {t: {type: const, val: null}}",
		},
	} {
		if got, want := merged(t, c.upper, c.lower), normal(t, c.want); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestLayerOrder(t *testing.T) {
	l := cluster()
	workspace := StorageOf(config.CheckpointStorage{S3: &config.S3Storage{Saved: config.Saved{TrialBest: 6}, Bucket: "workspace"}})
	l.Workspace = &workspace
	l.Container.BindMounts = []container.BindMount{{HostPath: "/c", ContainerPath: "/c", Propagation: "rprivate"}}
	l.Container.Environment = container.Environment{CPU: []string{"A=cluster"}}
	l.Container.RegistryAuth = &container.RegistryAuth{Username: "cluster"}
	l.Template = parse(t, "max_restarts: 2\nenvironment: {environment_variables: [A=template]}\nresources: {priority: 9, shm_size: 1g}\ncheckpoint_storage: {save_trial_latest: 8}\n")
	l.Request = parse(t, minimal+"max_restarts: 1\nenvironment: {environment_variables: [A=request]}\nbind_mounts: [{host_path: /r, container_path: /r}]\n")
	x := complete(t, l)
	s := x.CheckpointStorage
	got := fmt.Sprint(*x.MaxRestarts, x.Environment.Variables.CPU, *x.Resources.Priority, int64(*x.Resources.ShmSize), *s.SaveTrialBest, *s.SaveTrialLatest, len(x.BindMounts), " ", *s.Bucket)
	if want := "1 [A=cluster A=template A=request] 9 1073741824 6 8 2 workspace"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if x.Environment.RegistryAuth != nil {
		t.Error("the cluster's sign-in is in a user's configuration")
	}
}

func TestDefaultLogPoliciesCanBeRemoved(t *testing.T) {
	l := cluster()
	l.Request = parse(t, minimal+"log_policies: [{name: CUDA OOM}, {name: mine, pattern: p, action: cancel_retries}]\n")
	if got, want := fmt.Sprint(complete(t, l).LogPolicies), "[{mine p cancel_retries} {ECC Error .*uncorrectable ECC error encountered.* }]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestOptions(t *testing.T) {
	d := parse(t, minimal, "searcher.name=random", "searcher.max_trials=8", "hyperparameters.lr=0.5", "hyperparameters.deep.n={type: int, minval: 1, maxval: 3}",
		"environment.environment_variables=[A=1, B=2]", "name=3", "labels=x, y",
		"bind_mounts={host_path: /a, container_path: /b}", "searcher={smaller_is_better: false}")
	var x Experiment
	if e := d.Decode(&x); len(e) > 0 {
		t.Fatal(e)
	}
	text, err := x.Store()
	if err != nil {
		t.Fatal(err)
	}
	want := normal(t, `
entrypoint: python3 train.py
name: "3"
labels: [x, y]
hyperparameters: {lr: 0.5, deep: {n: {type: int, minval: 1, maxval: 3}}}
searcher: {name: random, metric: loss, max_trials: 8, smaller_is_better: false}
environment: {environment_variables: [A=1, B=2]}
bind_mounts: [{host_path: /a, container_path: /b}]
`)
	if string(text) != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	for option, want := range map[string]string{
		"max_trials": "must be KEY=VALUE", "=3": "must be KEY=VALUE", "a..b=3": "must be KEY=VALUE",
		"searcher.name.x=3": "cannot be set", "name=[": "not valid YAML", "name=1\nx: 2": "more than one value",
	} {
		if _, err := Parse([]byte(minimal), "train.yaml", []string{option}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %s", option, err, want)
		}
	}
	bad := parse(t, minimal, "searcher.max_trials=many")
	if e := bad.Decode(&x); len(e) != 1 || !strings.HasPrefix(e[0].String(), "--config searcher.max_trials: ") {
		t.Errorf("%v", e)
	}
}
