package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/agent/config"
)

func TestSentSettingsOverrideFileExceptIdentity(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "agent.yaml")
	own := `
master_host: master.example.com
machine_socket: /run/m.sock
cluster_id: c1
slot_type: none
hooks: {on_join_refused: [poweroff]}
log: {level: debug}
`
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	sent := `
master_host: evil.example.com
machine_socket: ""
security: {tls: {enabled: true, skip_verify: true}}
cluster_id: c2
slot_type: cuda
hooks: {on_connection_lost: [reboot]}
log: {color: false}
docker_network: pedl
`
	l, err := config.LoadUnder([]string{file}, []byte(sent), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := l.Agent
	got := []string{
		a.MasterHost, a.MachineSocket, a.ClusterID, a.SlotType, a.DockerNetwork, a.Log.Level,
		strings.Join(a.Hooks.OnJoinRefused, " "), strings.Join(a.Hooks.OnConnectionLost, " "),
	}
	want := []string{"master.example.com", "/run/m.sock", "c1", "cuda", "pedl", "debug", "poweroff", "reboot"}
	if diff := cmp.Diff(got, want); diff != "" || a.Log.Color || a.Security.TLS.SkipVerify {
		t.Errorf("settings (-got +want):\n%s", diff)
	}
	if _, err := config.LoadUnder([]string{file}, []byte("slots: 3"), nil); err == nil || !strings.Contains(err.Error(), "slots") {
		t.Errorf("an unknown setting: got %v, want it named", err)
	}
}

func TestSentSettingsAreReadLikeAgentConfiguration(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, sent, own, wrong string }{
		{"settings", `{"docker_network":"n","port":9007199254740993,"agent_id":"x","master_host":"y"}`, "agent_id master_host", "port"},
		{"good ones", `{"docker_network":"n","cluster_id":"c"}`, "cluster_id", ""},
		{"none", `null`, "", ""},
		{"a key that is not known", `{"slot_tpye":"none"}`, "", "slot_type"},
		{"a list", `[]`, "", "read sent"},
	}
	for _, tt := range tests {
		a, own, err := config.ParseSent([]byte(tt.sent), "sent")
		if got := strings.Join(own, " "); got != tt.own {
			t.Errorf("%s: got own settings %q, want %q", tt.name, got, tt.own)
		}
		if tt.wrong == "" && (err != nil || a.MasterHost != "master") {
			t.Errorf("%s: got %v at %q, want it read", tt.name, err, a.MasterHost)
		}
		if tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
			t.Errorf("%s: got %v, want %q in it", tt.name, err, tt.wrong)
		}
	}
}
