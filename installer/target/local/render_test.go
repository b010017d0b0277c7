package local

import (
	"os"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/master/config"
)

// overlay renders a cluster with over as the user's settings.
func overlay(t *testing.T, over string, more ...string) (*Target, []byte, error) {
	t.Helper()
	settings := Flags().Defaults()
	settings[ConfigSetting] = over
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	s, err := FromSettings("lab", settings)
	if err != nil {
		t.Fatal(err)
	}
	target := &Target{Spec: s, Place: Place(t.TempDir())}
	data, err := masterYAML(s, target.Place, "")
	return target, data, err
}

func TestMasterConfigOverridesSettings(t *testing.T) {
	t.Parallel()
	target, data, err := overlay(t, "task_policy: {capabilities: [SYS_PTRACE], max_memory: 1GB}\nsecurity: {visibility: private, audit: {retention_days: 7}}\n", ElasticSetting, "2")
	if err != nil {
		t.Fatal(err)
	}
	read, err := config.LoadGenerated(data, "master.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := read.Master
	if len(m.TaskPolicy.Capabilities) != 1 || m.Security.Visibility != "private" || m.ListenPort() != 8080 || m.ClusterName != "lab" || !hasPool(m, ElasticPool) {
		t.Errorf("got\n%s", data)
	}
	if r := (checks{target}).checkConfiguration(t.Context()); r.Answer != doctor.Pass {
		t.Errorf("got %+v, want that it can be read", r)
	}
}

func TestManagedSettingsCannotBeChanged(t *testing.T) {
	t.Parallel()
	for over, want := range map[string]string{
		"port: 9000":           "--master-config-file: port: is managed by det-deploy",
		"data_dir: /elsewhere": "data_dir: is managed by det-deploy",
		"cluster_name: other":  "cluster_name: is managed by det-deploy",
		"security: {initial_user_password: env:MINE}":                  "security.initial_user_password: is managed by det-deploy",
		"security: {tls: {cert: a.pem, key: b.pem}}":                   "security.tls: is managed by det-deploy",
		"db: {url: env:DB}":                                            "db: is managed by det-deploy",
		"db: {host: pg, name: d, user: u}":                             "db: is managed by det-deploy",
		"resource_pools: [{pool_name: mine}]":                          "resource_pools: is managed by det-deploy",
		"resource_pools: [{pool_name: default}, {pool_name: elastic}]": "resource_pools: is managed by det-deploy",
		"portt: 1":                           "portt: unknown key",
		"- a list":                           "--master-config-file:1: must be a mapping of keys to values, is a list",
		"security: {default_task: {idd: 1}}": "unknown key",
		"checkpoint_storage: {type: s3, bucket: b, access_key: a, secret_key: s3}": "file:/path or env:NAME",
	} {
		_, _, err := overlay(t, over)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", over, err, want)
		}
	}
}

// `up` warns about mounts in the defaults that no task may use.
func TestChecksWarnAboutGuardedMounts(t *testing.T) {
	t.Parallel()
	target, _, err := overlay(t, "task_container_defaults: {bind_mounts: [{host_path: /var/run/docker.sock, container_path: /d}]}\n")
	if err != nil {
		t.Fatal(err)
	}
	r := (checks{target}).checkConfiguration(t.Context())
	if r.Answer != doctor.Unknown || !strings.Contains(r.Found, "task_container_defaults.bind_mounts[0].host_path") {
		t.Errorf("got %+v, want a word about the mount", r)
	}
}

// A lost record is restored with the user's settings.
func TestRecoverMasterConfig(t *testing.T) {
	t.Parallel()
	const over = "security: {visibility: private}\n"
	target, data, err := overlay(t, over)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{target.Place.masterYAML(): data, target.Place.masterConfig(): []byte(over)} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := target.Place.Recover()
	if err != nil || got[ConfigSetting] != over {
		t.Errorf("got %v and %v, want the given settings", got, err)
	}
}
