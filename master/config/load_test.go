package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

func TestExamplesAreRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/examples/*master*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got examples %v, %v", files, err)
	}
	for _, file := range files {
		if _, _, err := config.Load([]string{file}, nil); err != nil {
			t.Errorf("%v", err)
		}
	}
}

func TestLoadDefaults(t *testing.T) {
	t.Parallel()
	m, warnings, err := config.Parse(nil, "master.yaml")
	if err != nil || len(warnings) > 0 {
		t.Fatalf("got %v, %v", warnings, err)
	}
	got := []any{
		m.ListenPort(), m.DB.Kind(), len(m.ResourcePools), m.ResourcePools[0].Name, m.ResourcePools[0].MaxAuxContainersPerAgent,
		m.ResourcePools[0].AgentReconnectWait.String(), m.LaunchError, m.ResourceManager.Agent.Scheduler.Effective().DefaultPriority, len(config.Unbuilt(m)),
	}
	want := []any{8080, "embedded", 1, "default", 100, "25s", true, 42, 0}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestLoadRequiresNamedFile(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load([]string{filepath.Join(t.TempDir(), "none.yaml")}, nil)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is no such file", err)
	}
	if m, _, err := config.Load(nil, []document.Given{{Path: "port", Value: "9", Source: "--port"}}); err == nil && m.Port != 9 {
		t.Errorf("got port %d, want that of the flag", m.Port)
	}
}

func TestErrorsNameTheFlag(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load([]string{"../../docs/examples/master.yaml"}, []document.Given{{Path: "port", Value: "70000", Source: "--port"}})
	if want := "--port: port: must be between 0 and 65535 (is 70000)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEveryOverrideReachesItsSetting(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"port": "1", "log.level": "debug", "db.type": "embedded", "db.ssl_mode": "require", "db.port": "5",
		"security.default_task.uid": "5", "security.default_task.gid": "5", "security.initial_user_password": "Abcdefg1", "security.initial_determined_password": "Abcdefg2",
	}
	for _, o := range config.Overrides() {
		value := values[o.Path]
		switch {
		case value != "":
		case o.Bool:
			value = "false"
		default:
			value = "some-value"
		}
		d := document.New("none")
		if p := d.Apply([]document.Given{{Path: o.Path, Value: value, Source: o.Env}}); len(p) > 0 {
			t.Errorf("%s: %v", o.Path, p)
		}
		m := config.DefaultMaster()
		if p := d.Decode(&m); len(p) > 0 {
			t.Errorf("%s: %v", o.Path, p)
		}
		if o.Reference {
			value = document.Masked
		}
		found := ""
		for _, s := range document.Settings(m) {
			if s.Path == o.Path || s.Path == o.Path+"[0]" { // a list with one element
				found = s.Value
			}
		}
		if found != value {
			t.Errorf("%s: got %q, want %q", o.Path, found, value)
		}
	}
}

// everything contains each kind of secret and of union.
const everything = `
db: {host: h, user: u, name: n, password: hunter2}
security: {initial_user_password: Hunter2hunter2, initial_determined_password: Hunter2hunter2}
telemetry: {segment_master_key: hunter2, segment_webui_key: hunter2}
webhooks: {signing_key: hunter2}
logging: {type: elastic, host: h, port: 1, security: {password: hunter2}}
scim: {password: hunter2}
oidc: {client_secret: hunter2}
__internal: {external_sessions: {jwt_key: hunter2}}
checkpoint_storage: {type: s3, bucket: b, access_key: hunter2, secret_key: hunter2}
task_container_defaults:
  registry_auth: {username: u, password: hunter2}
  image: {cpu: a, cuda: b}
  environment_variables: {cpu: [A=1], cuda: {B: 2}}
  devices: ['/dev/a:/dev/b:r', {host_path: /x, container_path: /y}]
  shm_size_bytes: 2g
  log_policies: [{name: oom, pattern: CUDA, action: {type: cancel_retries}}]
  cpu_pod_spec: {spec: {priority: 3}}
resource_pools:
- pool_name: default
  scheduler: {type: fair_share}
  provider: {type: aws, ssh_key_name: k, startup_script: hunter2, container_startup_script: hunter2, instance_type: p3.8xlarge, spot: {fallback_to_on_demand: true}}
- pool_name: b
  provider: {type: gcp, startup_script: hunter2, base_config: {disks: [{boot: false, diskSizeGb: 5}]}}
- pool_name: c
  task_container_defaults: {network_mode: host}
  provider: {type: local, start_delay: 2s}
`

func TestPrintableRedactsSecrets(t *testing.T) {
	t.Parallel()
	m, warnings, err := config.Parse([]byte(everything), "master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(m.Printable())
	if err != nil {
		t.Fatal(err)
	}
	_, refused := document.Marshal(m)
	all := fmt.Sprintf("%v %+v %#v %v", m, m, m, warnings) + string(asJSON) + string(shown) + fmt.Sprint(document.Settings(m), refused, config.Unbuilt(m))
	if at := strings.Index(strings.ToLower(all), "hunter2"); at >= 0 {
		t.Errorf("a secret leaked: …%s…", all[max(0, at-80):at+20])
	}
	if got := strings.Count(string(shown), document.Masked); got != 16 {
		t.Errorf("got %d masked secrets, want 16 in %s", got, shown)
	}
	if refused == nil {
		t.Error("writing secrets without asking was not refused")
	}
}

func TestPrintableHasTheKeysOfTheFile(t *testing.T) {
	t.Parallel()
	m, _, err := config.Parse([]byte(everything), "master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := m.Printable()
	rm, _ := p["resource_manager"].(map[string]any)
	storage, _ := p["checkpoint_storage"].(map[string]any)
	if rm["type"] != "agent" || storage["type"] != "s3" || storage["bucket"] != "b" || storage["secret_key"] != document.Masked {
		t.Errorf("got %v and %v", rm, storage)
	}
	if switches, ok := p["feature_switches"].([]any); !ok || len(switches) != 0 {
		t.Errorf("got feature_switches %v, want an empty list", p["feature_switches"])
	}
}

func TestWrittenConfigurationReadsTheSame(t *testing.T) {
	t.Parallel()
	m, _, err := config.Parse([]byte(everything), "master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out, err := document.MarshalWithSecrets(m)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := config.Parse(out, "master.yaml")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	again.ConfigFile = m.ConfigFile
	if diff := cmp.Diff(m, again, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-read +written and read):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	for _, file := range []string{"../../docs/examples/pedl-master.yaml", "../../docs/examples/master.yaml", "../../docs/examples/gcp-master.yaml"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("scheduler: {resource_provider: {type: kubernetes}}\nprovisioner: ~"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, _, err := config.Parse(data, "master.yaml")
		if err != nil {
			return
		}
		config.Unbuilt(m)
		m.Printable()
		out, err := document.MarshalWithSecrets(m)
		if err != nil {
			t.Fatalf("write the configuration: %v", err)
		}
		if _, _, err := config.Parse(out, "again.yaml"); err != nil {
			t.Fatalf("read the written configuration: %v\n%s", err, out)
		}
	})
}

func TestChecksReportAllErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		yaml string
		want []string // prefixes of the expected problems
	}{
		{"port: 99999\nresource_pols: []\nlog: {level: loud}\n", []string{
			"master.yaml:1: port: must be between 0 and 65535 (is 99999)",
			"master.yaml:2: resource_pols: unknown key (did you mean resource_pools?)",
			"master.yaml:3: log.level: must be one of ",
		}},
		{"port: 99999\nresource_pools: [{pool_name: default, provider: {type: asw, max_instances: 3}}]\n", []string{
			"master.yaml:1: port: must be", "master.yaml:2: resource_pools[0].provider.type: must be one of ",
		}},
		{"resource_pools: [{pool_nam: default}]\n", []string{"master.yaml:1: resource_pools[0].pool_nam: unknown key (did you mean pool_name?)"}},
		{"resource_pools: [{pool_name: 5}]\n", []string{"master.yaml:1: resource_pools[0].pool_name: must be text"}},
	} {
		_, _, err := config.Parse([]byte(tt.yaml), "master.yaml")
		if err == nil {
			t.Errorf("%s: no complaint", tt.yaml)
			continue
		}
		got := strings.Split(err.Error(), "\n")
		if len(got) != len(tt.want) {
			t.Errorf("%s: got %d complaints, want %d:\n%v", tt.yaml, len(got), len(tt.want), err)
			continue
		}
		for i, line := range got {
			if !strings.HasPrefix(line, tt.want[i]) {
				t.Errorf("got %s, want %s", line, tt.want[i])
			}
		}
	}
}
