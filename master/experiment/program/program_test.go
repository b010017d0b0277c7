package program

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	masterconfig "github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

func shared() *masterconfig.CheckpointStorage {
	return &masterconfig.CheckpointStorage{SharedFS: &masterconfig.SharedFSStorage{HostPath: "/srv/checkpoints"}}
}

func inBucket() *masterconfig.CheckpointStorage {
	return &masterconfig.CheckpointStorage{S3: &masterconfig.S3Storage{Bucket: "b", AccessKey: secret.Literal("k"), SecretKey: secret.Literal("hush")}}
}

func complete(t *testing.T, text string, d container.Defaults, storage *masterconfig.CheckpointStorage) config.Experiment {
	t.Helper()
	doc, err := config.Parse([]byte(text), "train.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	x, _, err := config.Complete(config.Layers{Request: doc, Container: d, Cluster: storage, Name: "x", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

const minimal = `
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
`

func trial(x config.Experiment, d container.Defaults) Trial {
	return Trial{
		Config: x, Defaults: d, Experiment: 3, Trial: 7, Run: 2, Seed: 99, HParams: json.RawMessage(`{"lr":0.5}`),
		Steps: 40, Checkpoint: Source{UUID: "0f4e"},
	}
}

func build(t *testing.T, tr Trial, containers ...rm.Container) []*agentv1.Spec {
	t.Helper()
	p, err := tr.Program()
	if err != nil {
		t.Fatal(err)
	}
	return spec.Build(spec.Run{
		Program: p, Defaults: tr.Defaults, Task: "3.a", Allocation: "3.a.2", Type: "TRIAL", Username: "ann", Session: "own",
	}, containers)
}

// content returns the content of a file in a spec, or "" if the spec lacks the file.
func content(s *agentv1.Spec, path string) string {
	for _, f := range s.GetFiles() {
		if f.GetPath() == path {
			return string(f.GetContent())
		}
	}
	return ""
}

func TestTrialVariables(t *testing.T) {
	t.Parallel()
	d := container.Default()
	d.DtrainInterface = "eth7"
	s := build(t, trial(complete(t, minimal, d, inBucket()), d), rm.Container{ID: "c"})[0]
	var info map[string]any
	if err := json.Unmarshal([]byte(content(s, agentv1.TrialInfoPath)), &info); err != nil {
		t.Fatal(err)
	}
	cfg, _ := info["config"].(map[string]any)
	delete(info, "config")
	want := map[string]any{
		"trial_id": 7.0, "experiment_id": 3.0, "trial_seed": 99.0, "hparams": map[string]any{"lr": 0.5}, "steps_completed": 40.0,
		"trial_run_id": 2.0, "debug": false, "inter_node_network_interface": "eth7",
	}
	if diff := cmp.Diff(info, want); diff != "" {
		t.Errorf("trial.json (-got +want):\n%s", diff)
	}
	storage, _ := cfg["checkpoint_storage"].(map[string]any)
	if cfg["entrypoint"] != "python3 train.py" || storage["secret_key"] != "hush" {
		t.Errorf("its configuration has entrypoint %v and storage %v", cfg["entrypoint"], storage)
	}
	for _, want := range []string{
		"DET_TASK_TYPE=TRIAL", "DET_EXPERIMENT_ID=3", "DET_TRIAL_ID=7", "DET_TRIAL_RUN_ID=2", "DET_TRIAL_SEED=99",
		"DET_STEPS_COMPLETED=40", `DET_HPARAMS={"lr":0.5}`, "DET_LATEST_CHECKPOINT=0f4e", "DET_SESSION_TOKEN=own", "DET_ALLOCATION_ID=3.a.2",
	} {
		if !slices.Contains(s.GetEnvironment(), want) {
			t.Errorf("its environment lacks %s", want)
		}
	}
	if strings.Contains(strings.Join(s.GetEnvironment(), " "), "hush") {
		t.Error("a key of the storage is in the environment")
	}
	if !s.GetFixedPaths() || !s.GetContext() || s.GetNetworkMode() != d.NetworkMode {
		t.Errorf("got fixed paths %t, files %t and network %q", s.GetFixedPaths(), s.GetContext(), s.GetNetworkMode())
	}
}

// The kernel refuses to execute a program with a variable above 128 KiB.
func TestLargeConfigurationIsOnlyAFile(t *testing.T) {
	t.Parallel()
	d := container.Default()
	x := complete(t, minimal+"data: {long: "+strings.Repeat("x", 200<<10)+"}\n", d, inBucket())
	s := build(t, trial(x, d), rm.Container{ID: "c"})[0]
	for _, v := range s.GetEnvironment() {
		if len(v) >= 128<<10 {
			t.Errorf("%.40s… has %d bytes", v, len(v))
		}
	}
	if len(content(s, agentv1.TrialInfoPath)) < 200<<10 {
		t.Error("trial.json lacks the configuration")
	}
}

func TestTrialUsesHostNetwork(t *testing.T) {
	t.Parallel()
	d := container.Default()
	for _, s := range build(t, trial(complete(t, minimal, d, inBucket()), d), rm.Container{ID: "c"}, rm.Container{ID: "e"}) {
		if s.GetNetworkMode() != "host" || content(s, agentv1.RendezvousInfoPath) != "" {
			t.Errorf("got network %q and addresses %q, want them asked for", s.GetNetworkMode(), content(s, agentv1.RendezvousInfoPath))
		}
	}
}

func TestTaskConfiguration(t *testing.T) {
	t.Parallel()
	d := container.Default()
	d.WorkDir = "/work"
	d.RegistryAuth = &container.RegistryAuth{Username: "robot", Password: secret.Literal("pw")}
	x := complete(t, minimal+`
environment:
  image: {cpu: a/cpu, cuda: a/gpu}
  environment_variables: [A=1, DET_TRIAL_ID=mine]
  add_capabilities: [CAP_SYS_PTRACE]
bind_mounts: [{host_path: /data, container_path: data, read_only: true}]
resources: {shm_size: 1g, devices: [{host_path: /dev/fuse, container_path: /dev/fuse, mode: rw}]}
`, d, shared())
	s := build(t, trial(x, d), rm.Container{ID: "c", Devices: []*apiv1.Device{{Type: apiv1.Device_TYPE_CUDA}}})[0]
	var mounts []string
	for _, m := range s.GetMounts() {
		mounts = append(mounts, m.GetHostPath()+" on "+m.GetContainerPath()+" "+m.GetPropagation())
	}
	if diff := cmp.Diff(mounts, []string{"/data on /work/data rprivate", "/srv/checkpoints on /determined_shared_fs rprivate"}); diff != "" {
		t.Errorf("mounts (-got +want):\n%s", diff)
	}
	if s.GetImage() != "a/gpu" || s.GetShmSize() != 1<<30 || len(s.GetDevices()) != 1 || s.GetRegistryAuth().GetUsername() != "robot" || s.GetWorkDir() != "/work" {
		t.Errorf("got %v", s)
	}
	env := s.GetEnvironment()
	if i, j := slices.Index(env, "DET_TRIAL_ID=7"), slices.Index(env, "DET_TRIAL_ID=mine"); i < 0 || j < i {
		t.Errorf("the user's variable does not win: %q", env)
	}
}

func TestAsks(t *testing.T) {
	t.Parallel()
	d := container.Default()
	x := complete(t, minimal+`
environment: {image: evil/image, add_capabilities: [CAP_SYS_ADMIN]}
bind_mounts: [{host_path: /etc, container_path: /e}]
checkpoint_storage: {type: shared_fs, host_path: /root}
`, d, inBucket())
	err := policy.Check(policy.Policy{Root: true, Images: []string{"good/"}}, Asks(x, d, security.AgentUser{}))
	if err == nil {
		t.Fatal("got no refusal")
	}
	for _, field := range []string{"environment.image", "bind_mounts[0].host_path", "checkpoint_storage.host_path", "environment.add_capabilities[0]"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not refused: %v", field, err)
		}
	}
	d.Image = container.Images{CPU: "our/cpu", CUDA: "our/gpu", ROCm: "our/rocm"}
	given := complete(t, minimal, d, shared())
	allowed := policy.Policy{Root: true, Images: []string{"good/"}, Storages: []policy.HostPath{{Path: "/srv/checkpoints"}}}
	if err := policy.Check(allowed, Asks(given, d, security.AgentUser{})); err != nil {
		t.Errorf("what the cluster gives is refused: %v", err)
	}
}

// A run mounts its experiment's directory, and the checkpoint that it starts from read-only.
func TestStorageMounts(t *testing.T) {
	t.Parallel()
	d := container.Default()
	at := func(inside, own string) config.Storage {
		s := complete(t, minimal+"checkpoint_storage: {storage_path: '"+inside+"'}\n", d, shared()).CheckpointStorage
		if own != "" {
			s = s.InOwnDirectory(own)
		}
		return s
	}
	const mine, other = "experiment-3-1f3a90cc", "experiment-2-77aa0e12"
	for name, tc := range map[string]struct {
		own, from config.Storage
		want      []string
	}{
		"its own": {at("", mine), at("", mine), []string{"/srv/checkpoints/" + mine + " on /determined_shared_fs/" + mine}},
		"below storage_path": {at("/srv/checkpoints/in", mine), at("in", mine), []string{
			"/srv/checkpoints/in/" + mine + " on /determined_shared_fs/in/" + mine,
		}},
		"a copied configuration": {at("in/"+other+"/deeper", mine), config.Storage{}, []string{
			"/srv/checkpoints/in/" + mine + " on /determined_shared_fs/in/" + mine,
		}},
		"another's": {at("", mine), at("", other), []string{
			"/srv/checkpoints/" + mine + " on /determined_shared_fs/" + mine,
			"/srv/checkpoints/" + other + "/0f4e on /determined_shared_fs/" + mine + "/0f4e read-only",
		}},
		"an earlier version's": {at("", mine), at("in", ""), []string{
			"/srv/checkpoints/" + mine + " on /determined_shared_fs/" + mine,
			"/srv/checkpoints/in/0f4e on /determined_shared_fs/" + mine + "/0f4e read-only",
		}},
		"of an earlier version": {at("", ""), at("", ""), []string{"/srv/checkpoints on /determined_shared_fs"}},
		"a bucket's":            {at("", mine), complete(t, minimal, d, inBucket()).CheckpointStorage, []string{"/srv/checkpoints/" + mine + " on /determined_shared_fs/" + mine}},
	} {
		x := complete(t, minimal, d, shared())
		x.CheckpointStorage = tc.own
		tr := trial(x, d)
		tr.Checkpoint.Storage = tc.from
		var got []string
		for _, m := range build(t, tr, rm.Container{ID: "c"})[0].GetMounts() {
			text := m.GetHostPath() + " on " + m.GetContainerPath()
			if m.GetReadOnly() {
				text += " read-only"
			}
			if !policy.Below(m.GetStorage(), m.GetHostPath()) || m.GetStorage() == "" {
				t.Errorf("%s: %s is not marked as in the storage", name, text)
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
