package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/internal/document"
)

func TestParseReportsEachBrokenRule(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, yaml, want string }{
		{"nothing is given", "", "agent.yaml:1: master_host: is required"},
		{"a mistyped key", "master_host: m\nslot_typ: cpu", "did you mean slot_type?"},
		{"an unknown slot type", "master_host: m\nslot_type: tpu", `agent.yaml:2: slot_type: must be one of auto, cuda, gpu, rocm, cpu, none (is "tpu")`},
		{"an unknown runtime", "master_host: m\ncontainer_runtime: podman", "container_runtime: must be one of auto, docker, process"},
		{"an impossible port", "master_host: m\nmaster_port: 70000", "master_port: must be between 0 and 65535 (is 70000)"},
		{"negative slots", "master_host: m\nartificial_slots: -1", "artificial_slots: must be at least 0"},
		{"no pause", "master_host: m\nagent_reconnect_backoff: 0", "agent_reconnect_backoff: must be more than 0"},
		{"negative attempts", "master_host: m\nagent_reconnect_attempts: -1", "agent_reconnect_attempts: must be at least 0"},
		{"an unknown level", "master_host: m\nlog: {level: loud}", "log.level: must be one of"},
		{"trust in both ways", "master_host: m\nsecurity: {tls: {enabled: true, skip_verify: true, master_cert: /ca}}", "security.tls.skip_verify: excludes master_cert"},
		{"a certificate without key", "master_host: m\nsecurity: {tls: {enabled: true, client_cert: /c}}", "security.tls.client_key: is required"},
		{"a key without certificate", "master_host: m\nsecurity: {tls: {enabled: true, client_key: /c}}", "security.tls.client_cert: is required"},
		{"TLS settings without TLS", "master_host: m\nsecurity: {tls: {master_cert: /c}}", "security.tls.enabled: must be true"},
		{"profiles without a certificate", "master_host: m\ntls: true", "tls_cert: is required with tls"},
		{"an empty hook", "master_host: m\nhooks: {on_connection_lost: ['']}", "hooks.on_connection_lost[0]: must be a command"},
		{"no pool", "master_host: m\nresource_pool: ''", "resource_pool: is required"},
		{"no directory", "master_host: m\ndata_dir: ''", "data_dir: is required"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := config.Parse([]byte(tc.yaml), "agent.yaml")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
			if _, ok := errors.AsType[document.Errors](err); !ok {
				t.Errorf("got an error of type %T, want document.Errors", err)
			}
		})
	}
}

func TestEveryScalarCanBeGivenByFlagAndEnvironment(t *testing.T) {
	t.Parallel()
	var given []document.Given
	for _, o := range config.Overrides() {
		value := map[string]string{
			"log.level": "debug", "slot_type": "cpu", "container_runtime": "process", "agent_reconnect_backoff": "7", "task_users": "70000-70001",
			"task_memory_limit": "64g",
		}[o.Path]
		switch {
		case value != "" || strings.HasPrefix(o.Path, "security.tls.skip"):
		case o.Bool:
			value = "true"
		case strings.HasSuffix(o.Path, "port"), strings.HasSuffix(o.Path, "attempts"), strings.HasSuffix(o.Path, "slots"), strings.HasSuffix(o.Path, "limit"):
			value = "12"
		default:
			value = "x"
		}
		if value != "" {
			given = append(given, document.Given{Path: o.Path, Value: value, Source: o.Env})
		}
	}
	a, _, err := config.Load([]string{"testdata/agent.yaml"}, given)
	if err != nil {
		t.Fatal(err)
	}
	if a.AgentID != "x" || a.ArtificialSlots != 12 || !a.Security.TLS.Enabled || a.Log.Level != "debug" || a.AgentReconnectBackoff.String() != "7s" {
		t.Errorf("got %+v", a)
	}
}

func TestErrorsNameTheFlag(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load([]string{"testdata/agent.yaml"}, []document.Given{{Path: "master_port", Value: "http", Source: "--master-port"}})
	if want := `--master-port: master_port: must be a whole number, is "http"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, _, err = config.Load([]string{"testdata/agent.yaml"}, []document.Given{{Path: "slot_type", Value: "tpu", Source: "DET_SLOT_TYPE"}})
	if want := "DET_SLOT_TYPE: slot_type: must be one of"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want it to begin with %s", err, want)
	}
}

func TestWarningsAndUnbuilt(t *testing.T) {
	t.Parallel()
	a, warnings, err := config.Parse([]byte("master_host: m\nfluent: {image: x}\napi_enabled: true\n"), "agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || warnings[0].Line != 2 {
		t.Errorf("got warnings %v, want one about fluent in line 2", warnings)
	}
	if got := config.Unbuilt(a); len(got) != 1 || got[0].Path != "api_enabled" {
		t.Errorf("got %v, want api_enabled", got)
	}
}

func TestPortFollowsTLS(t *testing.T) {
	t.Parallel()
	a := config.DefaultAgent()
	if a.Port() != 80 || a.Scheme() != "http" {
		t.Errorf("got %s on %d without TLS", a.Scheme(), a.Port())
	}
	a.Security.TLS.Enabled = true
	if a.Port() != 443 || a.Scheme() != "https" {
		t.Errorf("got %s on %d with TLS", a.Scheme(), a.Port())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("master_host: m\nhooks: {on_connection_lost: [halt]}\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, _, err := config.Parse(data, "agent.yaml")
		if err != nil {
			return
		}
		out, err := document.MarshalWithSecrets(a)
		if err != nil {
			t.Fatalf("write what was read: %v", err)
		}
		if _, _, err := config.Parse(out, "again.yaml"); err != nil {
			t.Fatalf("read what was written: %v\n%s", err, out)
		}
	})
}

func TestTaskUsersAreARange(t *testing.T) {
	t.Parallel()
	for value, good := range map[string]bool{
		"70000-79999": true, "1000-1000": true, "": true,
		"70000": false, "0-100": false, "80000-70000": false, "a-b": false, "1000-4294967294": false, "70000-": false,
	} {
		a := config.DefaultAgent()
		a.MasterHost, a.TaskUsers = "m", value
		if got := len(a.Validate("")) == 0; got != good {
			t.Errorf("%q: got valid %v, want %v", value, got, good)
		}
	}
}

func TestAllErrorsAreReported(t *testing.T) {
	t.Parallel()
	_, _, err := config.Parse([]byte("master_prt: 80\ncontainer_runtime: chroot\nslot_type: 3\n"), "agent.yaml")
	for _, want := range []string{"agent.yaml:1: master_prt: unknown key", "agent.yaml:2: container_runtime: must be", "agent.yaml:3: slot_type: must be"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s in it", err, want)
		}
	}
}

// printed is what an agent of Determined 0.38.1 prints at its start, with the options of older releases.
const printed = `{"config_file":"/etc/determined/agent.yaml","log":{"level":"trace","color":true},"master_host":"m","master_port":80,"agent_id":"a",
"label":"","resource_pool":"default","container_master_host":"","container_master_port":0,"slot_type":"auto","visible_gpus":"",
"security":{"tls":{"enabled":false,"skip_verify":false,"master_cert":"","master_cert_name":"","client_cert":"","client_key":""}},
"debug":false,"artificial_slots":0,"image_root":"","tls":false,"tls_cert":"","tls_key":"","api_enabled":false,"bind_ip":"0.0.0.0","bind_port":9090,
"http_proxy":"","https_proxy":"","ftp_proxy":"","no_proxy":"","agent_reconnect_attempts":5,"agent_reconnect_backoff":5,"container_runtime":"docker",
"container_auto_remove_disabled":false,"hooks":{"on_connection_lost":null},"fluent":{"image":"","port":0,"container_name":""},
"singularity_options":{"allow_network_creation":false},"podman_options":{"allow_network_creation":false}}`

func TestPrintedConfigurationIsRead(t *testing.T) {
	t.Parallel()
	a, warnings, err := config.Parse([]byte(printed), "agent.yaml")
	if err != nil || a.MasterHost != "m" || a.AgentID != "a" {
		t.Fatalf("got %+v, %v", a, err)
	}
	var paths []string
	for _, w := range warnings {
		paths = append(paths, w.Path)
	}
	slices.Sort(paths)
	if d := cmp.Diff(paths, []string{"config_file", "fluent", "image_root", "label", "podman_options", "singularity_options"}); d != "" {
		t.Errorf("warnings (-got +want):\n%s", d)
	}
	if unbuilt := config.Unbuilt(a); len(unbuilt) > 0 {
		t.Errorf("got %v, want an agent that starts", unbuilt)
	}
}
