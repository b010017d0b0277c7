package local

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestBridgeAddress(t *testing.T) {
	t.Parallel()
	ips := func(texts ...string) []net.IP {
		var out []net.IP
		for _, s := range texts {
			out = append(out, net.ParseIP(s))
		}
		return out
	}
	for name, c := range map[string]struct {
		engine engine
		own    []net.IP
		want   string
	}{
		"a bridge of another name":    {engine{gateways: ips("10.88.0.1"), podman: true}, ips("127.0.0.1", "192.0.2.7", "10.88.0.1"), "10.88.0.1"},
		"a bridge of both protocols":  {engine{gateways: ips("fd00::1", "172.17.0.1")}, ips("fd00::1", "172.17.0.1"), "172.17.0.1"},
		"rootless Docker":             {engine{gateways: ips("172.17.0.1"), rootless: true}, ips("127.0.0.1", "::1", "fe80::1", "192.0.2.7"), "192.0.2.7"},
		"beside a daemon of root's":   {engine{gateways: ips("172.17.0.1"), rootless: true}, ips("192.0.2.7", "172.17.0.1", "192.0.2.7"), "192.0.2.7"},
		"rootless, on its own":        {engine{rootless: true}, ips("127.0.0.1"), "host.docker.internal"},
		"rootless Podman":             {engine{gateways: ips("10.88.0.1"), rootless: true, podman: true}, ips("127.0.0.1", "192.0.2.7"), "host.docker.internal"},
		"Docker Desktop":              {engine{gateways: ips("172.17.0.1")}, ips("127.0.0.1", "192.0.2.7"), "host.docker.internal"},
		"an engine without a network": {engine{}, ips("127.0.0.1", "192.0.2.7"), "host.docker.internal"},
	} {
		if got := c.engine.bridgeAddress(c.own); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// The gateway of the fake daemon's bridge is an address that every machine has.
func TestTasksReachReadsTheBridge(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "docker.sock")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	mux := http.NewServeMux()
	mux.Handle("/_ping", answer("OK"))
	mux.Handle("/networks/bridge", answer(map[string]any{"IPAM": map[string]any{"Config": []any{map[string]any{"Gateway": "127.0.0.1"}}}}))
	mux.Handle("/info", answer(map[string]any{"SecurityOptions": []string{"name=seccomp,profile=builtin"}}))
	s := httptest.NewUnstartedServer(mux)
	s.Listener = l
	s.Start()
	defer s.Close()
	target := &Target{Docker: socket}
	if got, err := target.TasksReach(t.Context()); got != "127.0.0.1" || err != nil {
		t.Errorf("got %q and %v, want the gateway, which is an address of this machine", got, err)
	}
	target.Docker = socket + ".gone"
	if got, err := target.TasksReach(t.Context()); got != "" || err != nil {
		t.Errorf("got %q and %v: plain processes are sent to a bridge", got, err)
	}
}

// A daemon that does not report its network must not change the address, because that would restart
// the master and the agents.
func TestTasksReachKeepsTheAddress(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "docker.sock")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/_ping", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/networks/bridge", http.NotFoundHandler())
	mux.HandleFunc("/info", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) })
	s := httptest.NewUnstartedServer(mux)
	s.Listener = l
	s.Start()
	defer s.Close()
	target := &Target{Docker: socket, Place: At(t.TempDir(), "lab"), Spec: Spec{Cluster: "lab", Port: 8080}}
	if got, err := target.TasksReach(t.Context()); err == nil || got != "" || !strings.Contains(err.Error(), "try again when the Docker daemon") {
		t.Errorf("got %q and %v for a new cluster, want an error with a remedy", got, err)
	}
	told, err := agentYAML(target.Spec, target.Place, "1", "10.88.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(target.Place.agentDir("1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target.Place.agentYAML("1"), told, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := target.TasksReach(t.Context()); got != "10.88.0.1" || err != nil {
		t.Errorf("got %q and %v, want the agents' address", got, err)
	}
}

func TestRestrictions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		of   joinedAgent
		want []string
	}{
		"none":          {of: joinedAgent{ID: "lab-1"}},
		"trusts users":  {of: joinedAgent{ID: "lab-1", NotIsolated: "no runc", TrustsUsers: true}},
		"not isolated":  {of: joinedAgent{ID: "lab-1", NotIsolated: "no runc"}, want: []string{"agent lab-1: only administrators' tasks run there, because it does not isolate them: no runc"}},
		"without paths": {of: joinedAgent{ID: "lab-1", NoFixedPaths: "no runc"}, want: []string{"agent lab-1 runs no trials of experiments: no runc"}},
	} {
		if got := tc.of.restrictions(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestOnlyConnectedAgentsCount(t *testing.T) {
	t.Parallel()
	c := MasterClient{spec: Spec{Cluster: "lab"}}
	got := c.selectConnected([]joinedAgent{{ID: "lab-1"}, {ID: "lab-2", Lost: true}, {ID: "m-31b6f687a7607979"}})
	if want := []joinedAgent{{ID: "lab-1"}}; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
