package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/agent/config"
)

func TestWhatAMasterSendsGoesOverTheFileButNotOverWhoTheAgentIs(t *testing.T) {
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
