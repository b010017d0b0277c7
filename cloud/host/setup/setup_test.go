package setup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/host/setup"
)

// on adapts a machine to a root directory and records the calls of systemctl.
func on(t *testing.T, m setup.Machine, root string, calls *[]string) setup.Machine {
	t.Helper()
	m.Root = root
	m.Self = filepath.Join(t.TempDir(), "det-deploy")
	if err := os.WriteFile(m.Self, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.Systemctl = func(_ context.Context, args ...string) error {
		*calls = append(*calls, strings.Join(args, " "))
		return nil
	}
	return m
}

func run(t *testing.T, m setup.Machine) (whats []string) {
	t.Helper()
	steps, err := m.Plan()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		whats = append(whats, s.What)
		if err := s.Do(t.Context()); err != nil {
			t.Fatalf("%s: %v", s.What, err)
		}
	}
	return whats
}

func master(t *testing.T) setup.Machine {
	t.Helper()
	m, err := setup.Master{RunArgs: []string{"--role", "master"}, Region: "us-west-2", Endpoint: "http://e", Volume: "vol-1", Device: "/dev/sdf"}.Machine()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAMastersMachine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var calls []string
	m := on(t, master(t), root, &calls)
	run(t, m)
	if d := cmp.Diff(calls, []string{"daemon-reload", "enable det-deploy-host.service", "restart --no-block det-deploy-host.service"}); d != "" {
		t.Errorf("got -, want + (the host starts the master):\n%s", d)
	}
	if got, err := os.ReadFile(filepath.Join(root, setup.Program)); err != nil || string(got) != "program" {
		t.Errorf("got %q, %v; want this program", got, err)
	}
	unit, err := os.ReadFile(filepath.Join(root, "/etc/systemd/system/det-deploy-data.service"))
	if want := "ExecStart=/usr/local/bin/det-deploy host mount --volume vol-1 --at /var/lib/determined --device /dev/sdf\n"; err != nil || !strings.Contains(string(unit), want) {
		t.Errorf("got %s, %v; want %s", unit, err, want)
	}
	unit, err = os.ReadFile(filepath.Join(root, "/etc/systemd/system/det-deploy-master.service"))
	if want := "Environment=AWS_REGION=us-west-2\nEnvironment=AWS_ENDPOINT_URL=http://e\n"; err != nil || !strings.Contains(string(unit), want) {
		t.Errorf("got %s, %v; want %s, where the master finds its secrets", unit, err, want)
	}
	calls = nil
	if d := cmp.Diff(run(t, m), []string{"enable and start det-deploy-host.service"}); d != "" {
		t.Errorf("the second time: got -, want +:\n%s", d)
	}
}

func TestAMastersMachineAtGoogle(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var calls []string
	m, err := setup.Master{RunArgs: []string{"--cloud", "gcp", "--role", "master"}, Disk: "det-data"}.Machine()
	if err != nil {
		t.Fatal(err)
	}
	run(t, on(t, m, root, &calls))
	for unit, want := range map[string]string{
		"data":   "ExecStart=/usr/local/bin/det-deploy host mount --disk-name det-data --at /var/lib/determined\n",
		"host":   "ExecStart=/usr/local/bin/det-deploy host run --cloud gcp --role master\n",
		"master": "Requires=det-deploy-data.service\n",
	} {
		text, err := os.ReadFile(filepath.Join(root, "/etc/systemd/system/det-deploy-"+unit+".service"))
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "AWS_") {
			t.Errorf("got %s, %v; want %s", text, err, want)
		}
	}
}

func TestSetupKeepsLaterVersionCurrent(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var calls []string
	run(t, on(t, master(t), root, &calls))
	later := filepath.Join(root, "/var/lib/det-deploy/bin/later")
	current := filepath.Join(root, "/var/lib/det-deploy/current")
	if err := os.Remove(current); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(later, current); err != nil {
		t.Fatal(err)
	}
	run(t, on(t, master(t), root, &calls)) // re-run the program that set up the machine
	if got, err := os.Readlink(current); err != nil || got != later {
		t.Errorf("got %s, %v; want the later version", got, err)
	}
}

func TestAnAgentsMachine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var calls []string
	m, err := setup.Agent{RunArgs: []string{"--role", "agent"}, ConfigFile: "/etc/determined/agent.yaml", Config: []byte("a: 1\n"), DataDir: "/var/lib/a"}.Machine()
	if err != nil {
		t.Fatal(err)
	}
	run(t, on(t, m, root, &calls))
	if d := cmp.Diff(calls, []string{
		"daemon-reload", "enable det-deploy-host.service", "restart --no-block det-deploy-host.service",
		"enable det-deploy-agent.service", "restart --no-block det-deploy-agent.service",
	}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if unit, err := os.ReadFile(filepath.Join(root, "/etc/systemd/system/det-deploy-agent.service")); err != nil || strings.Contains(string(unit), "ExecStop") {
		t.Errorf("got %s, %v; want a unit that ends at once", unit, err)
	}
	info, err := os.Stat(filepath.Join(root, "/etc/determined/agent.yaml"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want it for root only", info, err)
	}
}

func TestDrainWithoutTasks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var calls []string
	m, err := setup.Agent{ConfigFile: "/etc/determined/agent.yaml", DataDir: "/var/lib/a", Drains: true}.Machine()
	if err != nil {
		t.Fatal(err)
	}
	run(t, on(t, m, root, &calls))
	unit, err := os.ReadFile(filepath.Join(root, "/etc/systemd/system/det-deploy-agent.service"))
	for _, want := range []string{"ExecStop=/usr/local/bin/det-deploy host drain --data-dir /var/lib/a\n", "After=det-deploy-host.service\n"} {
		if err != nil || !strings.Contains(string(unit), want) {
			t.Errorf("got %s, %v; want %s", unit, err, want)
		}
	}
}

// Docker is restarted once it knows the proxies, if the image has it.
func TestMachineBehindProxy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		docker bool
		want   []string
	}{
		"with Docker":    {true, []string{"cat docker.service", "try-restart docker.service"}},
		"without Docker": {false, []string{"cat docker.service"}},
	} {
		root := t.TempDir()
		var calls []string
		m, err := setup.Agent{ConfigFile: "/etc/determined/agent.yaml", DataDir: "/var/lib/a", Proxy: "/etc/determined/proxy.env"}.Machine()
		if err != nil {
			t.Fatal(err)
		}
		m = on(t, m, root, &calls)
		record := m.Systemctl
		m.Systemctl = func(ctx context.Context, args ...string) error {
			if err := record(ctx, args...); err != nil || args[0] != "cat" || tc.docker {
				return err
			}
			return errors.New("no files found")
		}
		run(t, m)
		if got := slices.DeleteFunc(slices.Clone(calls), func(c string) bool { return !strings.HasSuffix(c, "docker.service") }); !slices.Equal(got, tc.want) || calls[0] != "daemon-reload" {
			t.Errorf("%s: got %v, want %v after a reload", name, calls, tc.want)
		}
		for _, unit := range []string{"det-deploy-host.service", "det-deploy-agent.service", "docker.service.d/det-deploy-proxy.conf"} {
			text, err := os.ReadFile(filepath.Join(root, "/etc/systemd/system", unit))
			if err != nil || !strings.Contains(string(text), "EnvironmentFile=-/etc/determined/proxy.env\n") {
				t.Errorf("%s: got %s, %v; want the proxies", unit, text, err)
			}
		}
		if got := run(t, m); slices.Contains(got, "restart docker.service") {
			t.Errorf("the second time: got %v, want Docker left alone", got)
		}
	}
}
