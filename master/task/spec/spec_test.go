package spec

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/rm"
)

// completed decodes and completes a configuration.
func completed(s *structpb.Struct, d container.Defaults) (Config, []string, error) {
	c, err := Decode(s)
	if err != nil {
		return c, nil, err
	}
	return Complete(c, d)
}

func asStruct(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCompleteRefuses(t *testing.T) {
	t.Parallel()
	with := func(more string) string { return `{"entrypoint":["true"],` + more + `}` }
	for _, tt := range []struct{ name, config, want string }{
		{"an unknown key, naming the nearest", with(`"environent":{}`), "environent: unknown key (did you mean environment?)"},
		{"an unknown key inside", with(`"resources":{"slot":1}`), "resources.slot: unknown key (did you mean slots?)"},
		{"a text for a number", with(`"resources":{"slots":"two"}`), "resources.slots: must be a whole number"},
		{"half a slot", with(`"resources":{"slots":0.5}`), "resources.slots: must be a whole number"},
		{"negative slots", with(`"resources":{"slots":-1}`), "resources.slots: must be at least 0 (is -1)"},
		{"max_slots below slots", with(`"resources":{"slots":4,"max_slots":2}`), "resources.max_slots: must be at least slots (2 < 4)"},
		{"priority 0", with(`"resources":{"priority":0}`), "resources.priority: must be between 1 and 99 (is 0)"},
		{"priority 100", with(`"resources":{"priority":100}`), "resources.priority: must be between 1 and 99 (is 100)"},
		{"is_single_node", with(`"resources":{"is_single_node":true}`), "resources.is_single_node: must not be set"},
		{"a relative host path", with(`"bind_mounts":[{"host_path":"data","container_path":"/d"}]`), "bind_mounts[0].host_path: must be absolute"},
		{"a container path of .", with(`"bind_mounts":[{"host_path":"/data","container_path":"."}]`), `bind_mounts[0].container_path: must not be "."`},
		{"a container path that cleans to .", with(`"bind_mounts":[{"host_path":"/data","container_path":"a/.."}]`), `bind_mounts[0].container_path: must not be "."`},
		{"an unknown propagation", with(`"bind_mounts":[{"host_path":"/a","container_path":"/b","propagation":"wide"}]`), "bind_mounts[0].propagation"},
		{"a variable without a name", with(`"environment":{"environment_variables":["=x"]}`), "environment.environment_variables.cpu[0]: must be NAME=value"},
		{"a port out of range", with(`"environment":{"ports":{"web":70000}}`), "environment.ports.web: must be between 1 and 65535"},
		{"a bad device mode", with(`"resources":{"devices":["/dev/a:/dev/a:x"]}`), "resources.devices[0].mode"},
		{"a shared memory of 0", with(`"resources":{"shm_size":0}`), "resources.shm_size: must be more than 0 bytes"},
		{"a relative work_dir", with(`"work_dir":"here"`), "work_dir: must be absolute"},
		{"a mapping for the entrypoint", `{"entrypoint":{"a":1}}`, "entrypoint: must be a list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := completed(asStruct(t, tt.config), container.Default())
			if err == nil || !strings.HasPrefix(err.Error(), "unable to decode the merged config: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := completed(asStruct(t, `{"entrypoint":["a"],"imge":"x","resources":{"slot":1},"work_dir":"here"}`), container.Default())
	for _, want := range []string{"imge: unknown key", "resources.slot: unknown key", "work_dir"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s in it", err, want)
		}
	}
}

func complete(t *testing.T, text string, d container.Defaults) Config {
	t.Helper()
	c, _, err := completed(asStruct(t, text), d)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMergeKeepsTheTasksValues(t *testing.T) {
	t.Parallel()
	yes := true
	d := container.Default()
	d.Image = container.Images{CPU: "d/cpu", CUDA: "d/cuda", ROCm: "d/rocm"}
	d.Environment = container.Environment{CPU: []string{"A=1", "B=2"}, CUDA: []string{"G=1"}}
	d.ForcePullImage = &yes
	d.AddCapabilities = []string{"SYS_PTRACE"}
	d.BindMounts = []container.BindMount{
		{HostPath: "/default", ContainerPath: "/data", Propagation: "rprivate"},
		{HostPath: "/other", ContainerPath: "/other", Propagation: "rprivate"},
	}
	d.WorkDir = "/work"
	c := complete(t, `{"entrypoint":["true"],"environment":{"image":{"cpu":"mine"},"environment_variables":["A=9"]},
		"bind_mounts":[{"host_path":"/mine","container_path":"../data"}],"resources":{"shm_size":"1.5g"}}`, d)
	if d := cmp.Diff(c.Environment.Image, container.Images{CPU: "mine", CUDA: "d/cuda", ROCm: "d/rocm"}); d != "" {
		t.Errorf("image (-got +want):\n%s", d)
	}
	if d := cmp.Diff(c.Environment.Variables.CPU, []string{"A=1", "B=2", "A=9"}); d != "" {
		t.Errorf("variables: the task's come last (-got +want):\n%s", d)
	}
	if d := cmp.Diff(c.BindMounts, []container.BindMount{
		{HostPath: "/mine", ContainerPath: "../data", Propagation: "rprivate"},
		{HostPath: "/other", ContainerPath: "/other", Propagation: "rprivate"},
	}); d != "" {
		t.Errorf("the task's mount wins on an equal container path (-got +want):\n%s", d)
	}
	if !*c.Environment.ForcePullImage || c.WorkDir != "/work" || *c.Resources.Slots != 1 || *c.Resources.ShmSize != 3<<29 {
		t.Errorf("got %+v, want the defaults to fill the gaps", c)
	}
}

func TestVariablesInEveryForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, vars string
		cuda       []string
	}{
		{"a list", `["A=1"]`, []string{"A=1"}},
		{"a map of names", `{"A":"1","B":2}`, []string{"A=1", "B=2"}},
		{"a list for each device", `{"cpu":["A=1"],"cuda":["A=2"]}`, []string{"A=2"}},
		{"the older name gpu", `{"gpu":["A=3"]}`, []string{"A=3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := complete(t, `{"entrypoint":["x"],"environment":{"environment_variables":`+tt.vars+`}}`, container.Default())
			if d := cmp.Diff(c.Environment.Variables.CUDA, tt.cuda); d != "" {
				t.Errorf("-got +want:\n%s", d)
			}
		})
	}
}

func TestACommandWithoutAnEntrypointEndsAtOnce(t *testing.T) {
	t.Parallel()
	for _, config := range []string{`{}`, `{"entrypoint":[]}`, `{"entrypoint":null}`, `{"entrypoint":""}`, `{"entrypoint":[""]}`} {
		if d := cmp.Diff(complete(t, config, defaultsWithImage()).Entrypoint.Argv(), []string{"/bin/sh", "-c", ""}); d != "" {
			t.Errorf("%s (-got +want):\n%s", config, d)
		}
	}
}

func defaultsWithImage() container.Defaults {
	d := container.Default()
	d.Image = container.Images{CPU: "d/cpu", CUDA: "d/cuda", ROCm: "d/rocm"}
	return d
}

func TestVariableWithoutValueIsIgnoredWithWarning(t *testing.T) {
	t.Parallel()
	c, warnings, err := completed(asStruct(t, `{"entrypoint":["x"],"environment":{"environment_variables":["PATH","A=1","EMPTY="]}}`), defaultsWithImage())
	if err != nil {
		t.Fatal(err)
	}
	got := Build(Run{Program: Program{Config: c}}, []rm.Container{{ID: "c"}})[0].GetEnvironment()
	if slices.Contains(got, "PATH") || !slices.Contains(got, "A=1") || !slices.Contains(got, "EMPTY=") {
		t.Errorf("got %q, want A=1 and EMPTY= and no bare PATH", got)
	}
	want := []string{"environment.environment_variables PATH has no effect: a name without = keeps the value that it has in the container"}
	if d := cmp.Diff(warnings, want); d != "" {
		t.Errorf("warnings (-got +want):\n%s", d)
	}
}

// Scripts that use the det client depend on this form.
func TestConfigurationHasTheFormThatClientsExpect(t *testing.T) {
	t.Parallel()
	c := complete(t, `{"entrypoint":["x"],"environment":{"environment_variables":["A=1"],
		"pod_spec":{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}},"resources":{"slots":2}}`, defaultsWithImage())
	shown, err := Show(c, 42)
	if err != nil {
		t.Fatal(err)
	}
	got := shown.AsMap()
	vars := []any{"A=1"}
	want := map[string]any{
		"environment": map[string]any{
			"image":                 map[string]any{"cpu": "d/cpu", "cuda": "d/cuda", "rocm": "d/rocm"},
			"environment_variables": map[string]any{"cpu": vars, "cuda": vars, "rocm": vars},
			"ports":                 nil, "proxy_ports": nil, "registry_auth": nil, "force_pull_image": false,
			"add_capabilities": nil, "drop_capabilities": nil,
			"pod_spec": map[string]any{"spec": map[string]any{"volumes": []any{map[string]any{"name": "v", "emptyDir": map[string]any{}}}}},
		},
		"bind_mounts": nil, "tensorboard_args": nil, "pbs": map[string]any{}, "slurm": map[string]any{}, "entrypoint": []any{"x"},
	}
	for key, value := range want {
		if d := cmp.Diff(got[key], value); d != "" {
			t.Errorf("%s (-got +want):\n%s", key, d)
		}
	}
	resources, _ := got["resources"].(map[string]any)
	if resources["priority"] != 42.0 || resources["devices"] != nil || resources["slots"] != 2.0 {
		t.Errorf("got resources %v, want priority 42, devices null, 2 slots", resources)
	}
	if again := complete(t, string(marshal(t, shown)), container.Default()); !slices.Equal(again.Environment.Variables.CUDA, []string{"A=1"}) {
		t.Errorf("got %+v, want the shown configuration to be accepted", again)
	}
}

func marshal(t *testing.T, s *structpb.Struct) []byte {
	t.Helper()
	b, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{
		"1.5g": 3 << 29, "4G": 4 << 30, "512MiB": 512 << 20, "64kb": 64 << 10, "1048576": 1 << 20, " 2 g ": 2 << 30,
		"": 0, "g": 0, "-1": 0, "0": 0, "1e9": 0, "inf": 0, "nan": 0, "9999999p": 0, "0x10": 0, "1..5g": 0,
	} {
		if got, ok := ParseSize(text); got != want || ok != (want != 0) {
			t.Errorf("ParseSize(%q): got %d, %v, want %d", text, got, ok, want)
		}
	}
}

func TestIdleSettingsAreNamed(t *testing.T) {
	t.Parallel()
	_, warnings, err := completed(asStruct(t, `{"entrypoint":["x"],"idle_timeout":"30m","notebook_idle_type":"activity",
		"tensorboard_args":["--x"],"debug":true,"environment":{"proxy_ports":[{"proxy_port":80},{"proxy_port":81,"unauthenticated":true}]},
		"resources":{"weight":2}}`), container.Default())
	if err != nil || len(warnings) != 6 {
		t.Errorf("got %q and %v, want one warning for each setting without effect, and one for the open port", warnings, err)
	}
}

func TestStoredConfigurationsRoundTrip(t *testing.T) {
	t.Parallel()
	c := complete(t, `{"description":"yes","entrypoint":["sh","-c","echo 1"],"idle_timeout":60,
		"environment":{"image":"a:1.0","environment_variables":{"cpu":["A=1"]},"ports":{"web":80},
		"registry_auth":{"username":"u","password":"hunter2"},"pod_spec":{"spec":{"a":[1]}}},
		"resources":{"slots":0,"priority":7,"shm_size":"1g","devices":["/dev/x:/dev/y:r"],"preemptible":true},
		"bind_mounts":[{"host_path":"/a","container_path":"b","read_only":true,"propagation":"rshared"}]}`,
		container.Default())
	data, err := Store(c)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Load(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(back, c, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("-got +want:\n%s", d)
	}
	if back.Environment.RegistryAuth.Password.Reveal() != "hunter2" {
		t.Error("the password did not survive")
	}
	shown, err := Show(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := shown.String()
	if strings.Contains(text, "hunter2") {
		t.Errorf("got a password in the shown configuration: %s", text)
	}
	for _, key := range []string{"entrypoint", "environment", "resources", "bind_mounts", "work_dir", "description"} {
		if _, ok := shown.GetFields()[key]; !ok {
			t.Errorf("key %s: not in the shown configuration", key)
		}
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	d := container.Default()
	d.Image = container.Images{CPU: "cpu", CUDA: "cuda", ROCm: "rocm"}
	d.GLOOPortRange = "1000:2000"
	d.StartupHook = "echo hook"
	r := Run{
		Program:  Program{Config: complete(t, `{"entrypoint":["a | b"],"environment":{"environment_variables":["DET_USER=other"]},"bind_mounts":[{"host_path":"/a","container_path":"b"}]}`, d), HasContext: true},
		Defaults: d, Task: "t", Allocation: "t.1", Type: "COMMAND", Username: "ann",
		User: security.AgentUser{User: "ann", UID: 1001, Group: "lab", GID: 1002}, Session: "own", UserToken: "usr",
	}
	got := Build(r, []rm.Container{
		{ID: "c0", Devices: []*apiv1.Device{{Type: apiv1.Device_TYPE_CUDA}}}, {ID: "c1"},
	})
	if got[0].GetImage() != "cuda" || got[1].GetImage() != "cpu" {
		t.Errorf("got images %s and %s, want one by each device", got[0].GetImage(), got[1].GetImage())
	}
	s := got[0]
	if d := cmp.Diff(s.GetEntrypoint(), []string{"/bin/sh", "-c", "a | b"}); d != "" {
		t.Errorf("entrypoint (-got +want):\n%s", d)
	}
	for _, v := range []string{
		"DET_TASK_ID=t", "DET_ALLOCATION_ID=t.1", "DET_TASK_TYPE=COMMAND", "DET_SESSION_TOKEN=own", "DET_USER_TOKEN=usr",
		"DET_RESOURCES_ID=c0", "DET_RESOURCES_TYPE=docker-container", "DET_WORKDIR=/run/determined/workdir",
		"DET_RUN_DIR=/run/determined", "PYTHONUSERBASE=/run/determined/pythonuserbase", "DET_SEGMENT_ENABLED=false",
		`DET_TASK_LOGGING_METADATA={"allocation_id":"t.1","task_id":"t"}`, "GLOO_PORT_RANGE=1000:2000",
	} {
		if !slices.Contains(s.GetEnvironment(), v) {
			t.Errorf("environment lacks %s: %q", v, s.GetEnvironment())
		}
	}
	if last := s.GetEnvironment()[len(s.GetEnvironment())-1]; last != "DET_USER=other" {
		t.Errorf("got %s last, want the user's own variable", last)
	}
	if s.GetMounts()[0].GetContainerPath() != "/run/determined/workdir/b" || !s.GetContext() || s.GetShmSize() != 4<<30 ||
		s.GetNetworkMode() != "bridge" || s.GetUser().GetUid() != 1001 || s.GetStartupHook() != "echo hook" {
		t.Errorf("got %v", s)
	}
	if d := cmp.Diff(s.GetUnset(), []agentv1.Spec_Setting{agentv1.Spec_SETTING_SHM_SIZE, agentv1.Spec_SETTING_NETWORK_MODE}); d != "" {
		t.Errorf("unset beside the image (-got +want):\n%s", d)
	}
	var passwd string
	for _, f := range s.GetFiles() {
		if f.GetPath() == "/run/determined/etc/passwd" {
			passwd = string(f.GetContent())
		}
	}
	if passwd != "ann:x:1001:1002::/run/determined/workdir:/bin/sh\n" {
		t.Errorf("got passwd %q", passwd)
	}
	r.User = security.AgentUser{User: "root", Group: "root"}
	for _, f := range Build(r, []rm.Container{{ID: "c"}})[0].GetFiles() {
		if strings.HasPrefix(f.GetPath(), "/run/determined/etc") {
			t.Errorf("root got %s, want the image's own", f.GetPath())
		}
	}
}

// Files with information about the task are readable by its user only; several containers request their
// addresses from the master.
func TestFilesOfTheProgramBelongToItsUser(t *testing.T) {
	t.Parallel()
	key := &apiv1.File{Path: "/run/determined/key", Content: []byte("hush"), Mode: 0o400}
	r := Run{Program: Program{Files: []*apiv1.File{key}}, User: security.AgentUser{User: "ann", UID: 1000, Group: "lab", GID: 1001}}
	files := buildFiles(r)
	i := slices.IndexFunc(files, func(f *apiv1.File) bool { return f.GetPath() == key.GetPath() })
	if i < 0 || files[i].GetUid() != 1000 || files[i].GetGid() != 1001 || files[i].GetMode() != 0o400 {
		t.Errorf("got %v, want the key readable for 1000:1001 alone", files)
	}
	if key.GetUid() != 0 {
		t.Errorf("the file of the program was changed: %v", key)
	}
}

func TestInfoFiles(t *testing.T) {
	t.Parallel()
	r := Run{Program: Program{TrialInfo: []byte("{}\n")}, User: security.AgentUser{User: "ann", UID: 7, GID: 8}}
	two := []rm.Container{{ID: "c0", Devices: []*apiv1.Device{{Id: 0}, {Id: 1}}}, {ID: "c1"}}
	for _, c := range []struct {
		trial []byte
		of    []rm.Container
		want  map[string]string
	}{
		{r.TrialInfo, two[:1], map[string]string{
			agentv1.TrialInfoPath:      "{}\n",
			agentv1.RendezvousInfoPath: `{"container_addrs":["127.0.0.1"],"container_rank":0,"container_slot_counts":[2]}` + "\n",
		}},
		{r.TrialInfo, two, map[string]string{agentv1.TrialInfoPath: "{}\n"}},
		{nil, two, map[string]string{}},
	} {
		r.TrialInfo = c.trial
		for _, s := range Build(r, c.of) {
			got := map[string]string{}
			for _, f := range s.GetFiles() {
				if f.GetType() != typeFile || path.Dir(f.GetPath()) != agentv1.InfoDir {
					continue
				}
				got[f.GetPath()] = string(f.GetContent())
				if f.GetMode() != 0o600 || f.GetUid() != 7 || f.GetGid() != 8 {
					t.Errorf("%s has mode %o of %d:%d", f.GetPath(), f.GetMode(), f.GetUid(), f.GetGid())
				}
			}
			if d := cmp.Diff(got, c.want); d != "" {
				t.Errorf("%d containers (-got +want):\n%s", len(c.of), d)
			}
		}
	}
}

func TestTheClustersWheelIsNamedInTheEnvironment(t *testing.T) {
	t.Parallel()
	for wheel, want := range map[container.Wheel]string{
		{}: "",
		{File: "/w/determined-0.38.1-py3-none-any.whl", SHA256: "aa"}: "DET_HARNESS_WHEEL=/harness/aa/determined-0.38.1-py3-none-any.whl",
	} {
		s := Build(Run{Defaults: container.Defaults{HarnessWheel: wheel}}, []rm.Container{{ID: "c"}})[0]
		got := ""
		for _, v := range s.GetEnvironment() {
			if strings.HasPrefix(v, "DET_HARNESS_WHEEL=") {
				got = v
			}
		}
		if got != want {
			t.Errorf("%v: got %q, want %q", wheel, got, want)
		}
	}
}

// A hundred thousand variables in less than a megabyte once took a core for seconds.
func TestConfigurationLimitsItsValues(t *testing.T) {
	t.Parallel()
	with := func(variables int) error {
		s := &structpb.Struct{}
		text := `{"entrypoint": ["true"], "environment": {"environment_variables": ["A=1"` + strings.Repeat(`, "A=1"`, variables-1) + `]}}`
		if err := s.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		_, err := Decode(s)
		return err
	}
	if err := with(10_000); err != nil {
		t.Errorf("10,000 variables: %v", err)
	}
	if err := with(100_000); err == nil || !strings.Contains(err.Error(), "has 100005 values; the maximum is 20000") {
		t.Errorf("100,000 variables: got %v, want an error with the limit", err)
	}
}
