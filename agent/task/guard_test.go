package task

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// machine is a directory that represents a machine: an agent's directory, an engine's socket, and
// data that tasks may mount.
type machine struct{ data, agent, socket string }

func newMachine(t *testing.T) machine {
	t.Helper()
	// Temporary directories may be links themselves.
	dir, err := os.MkdirTemp("", "g") //nolint:usetesting // a test's name makes paths too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	m := machine{data: filepath.Join(dir, "data"), agent: filepath.Join(dir, "agent"), socket: filepath.Join(dir, "run", "engine.sock")}
	for _, d := range []string{m.data, filepath.Join(m.data, "sets"), filepath.Join(m.agent, "containers"), filepath.Dir(m.socket)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", m.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return m
}

func (m machine) link(t *testing.T, to, name string) string {
	t.Helper()
	at := filepath.Join(m.data, name)
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
	return at
}

func (m machine) guard() Guard { return NewGuard(m.agent, m.socket, "") }

// order returns a spec that mounts one path, with a policy that allows the data directory.
func (m machine) order(path string) *agentv1.Spec {
	return &agentv1.Spec{
		Mounts: []*agentv1.Mount{{HostPath: path, ContainerPath: "/x"}}, User: &agentv1.User{Uid: 1000},
		Policy: &apiv1.TaskPolicy{HostPaths: []*apiv1.TaskPolicy_HostPath{{Path: m.data}}},
	}
}

func TestProtectedPathsAreRejected(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	hard := filepath.Join(m.data, "hard")
	if err := os.Link(m.socket, hard); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, path string }{
		{"the agent's directory", m.agent},
		{"what is in it", filepath.Join(m.agent, "containers", "c")},
		{"what it is in", filepath.Dir(m.agent)},
		{"the machine", "/"},
		{"the engine's socket", m.socket},
		{"the directory of the socket", filepath.Dir(m.socket)},
		{"dots", m.data + "/../agent"},
		{"doubled slashes and dots", m.data + "//.//..//run/engine.sock"},
		{"a link to the agent's directory", m.link(t, m.agent, "to-agent")},
		{"a link to the socket", m.link(t, m.socket, "to-socket")},
		{"a link to a link", m.link(t, m.link(t, "../run", "one"), "two")},
		{"a link to above", m.link(t, "..", "up")},
		{"below a link", filepath.Join(m.link(t, "../agent", "down"), "containers")},
		{"what is not there, below a link", filepath.Join(m.link(t, m.agent, "new"), "nothing", "here")},
		{"a link to nowhere", m.link(t, filepath.Join(m.agent, "later"), "nowhere")},
		{"the root of a process", "/proc/self/root" + m.agent},
		{"the working directory of a process", "/proc/1/cwd"},
		{"a link to the root of a process", m.link(t, "/proc/self/root", "proc")},
		{"another name of the socket", hard},
		{"docker's socket", "/var/run/docker.sock"},
	} {
		for _, free := range []bool{false, true} {
			s := m.order(tc.path)
			if free {
				s.Policy = nil
			}
			if got, err := m.guard().Resolve(s); err == nil {
				t.Errorf("%s (%s), an administrator's %v: got %v, want it refused", tc.name, tc.path, free, got.GetMounts())
			}
			s.Mounts, s.Devices = nil, []*agentv1.HostDevice{{HostPath: tc.path}}
			if _, err := m.guard().Resolve(s); err == nil {
				t.Errorf("%s (%s) as a device, an administrator's %v: want it refused", tc.name, tc.path, free)
			}
		}
	}
}

func TestProcessesHaveTheMachinesNetworkWithoutAsking(t *testing.T) {
	t.Parallel()
	s := &agentv1.Spec{NetworkMode: "host", User: &agentv1.User{Uid: 1000}, Policy: &apiv1.TaskPolicy{}}
	if _, err := NewGuard().Resolve(s); err == nil {
		t.Error("a container got the machine's network, want it refused")
	}
	if _, err := NewGuard().ForProcesses().Resolve(s); err != nil {
		t.Errorf("a process: got %v, want it to run", err)
	}
}

func TestLinkOutOfAllowedPathsIsRejected(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, path := range []string{m.link(t, "/etc", "etc"), "/etc", m.link(t, "/dev/null", "null")} {
		_, err := m.guard().Resolve(m.order(path))
		if err == nil || !strings.Contains(err.Error(), "bind_mounts[0].host_path") {
			t.Errorf("%s: got %v, want the field in a refusal", path, err)
		}
	}
	got, err := m.guard().Resolve(m.order(m.link(t, "sets", "inside")))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(m.data, "sets"); got.GetMounts()[0].GetHostPath() != want {
		t.Errorf("got %s mounted, want %s, where the link leads", got.GetMounts()[0].GetHostPath(), want)
	}
}

// A trial may replace files in its own directory, including the mount point of the checkpoint that
// it starts from.
func TestNoLinkLeadsToOtherCheckpoints(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	name := m.link(t, "sets", "storage")
	for _, dir := range []string{"own/u", "other/u"} {
		if err := os.MkdirAll(filepath.Join(m.data, "sets", dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for at, to := range map[string]string{"own/link": "../other/u", "link": "other", "own/here": "u"} {
		if err := os.Symlink(to, filepath.Join(m.data, "sets", at)); err != nil {
			t.Fatal(err)
		}
	}
	for path, allowed := range map[string]bool{
		"own/u": true, "own": true, "new/dir": true, "": true,
		"own/link": false, "link/u": false, "own/here": false, "../sets/own": true, "..": false, "../agent": false,
	} {
		s := m.order(filepath.Clean(name + "/" + path))
		s.Mounts[0].Storage = name
		if path == "../sets/own" {
			s.Mounts[0].Storage = filepath.Join(m.data, "sets")
		}
		got, err := m.guard().Resolve(s)
		if (err == nil) != allowed {
			t.Errorf("%s: got %v, want it allowed: %t", path, err, allowed)
		}
		if want := filepath.Join(m.data, "sets"); err == nil && got.GetMounts()[0].GetStorage() != want {
			t.Errorf("%s: got storage %s, want %s, where the link leads", path, got.GetMounts()[0].GetStorage(), want)
		}
	}
}

func TestAnAllowedPathMayBeALink(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	name := filepath.Join(filepath.Dir(m.data), "name")
	if err := os.Symlink("data", name); err != nil {
		t.Fatal(err)
	}
	s := m.order(filepath.Join(name, "sets"))
	s.Policy.HostPaths[0].Path = name
	if _, err := m.guard().Resolve(s); err != nil {
		t.Error(err)
	}
	// Users with write access to another allowed path could have created the link.
	s = m.order(m.link(t, "/etc", "mine"))
	s.Policy.HostPaths = append(s.Policy.HostPaths, &apiv1.TaskPolicy_HostPath{Path: filepath.Join(m.data, "mine")})
	if _, err := m.guard().Resolve(s); err == nil {
		t.Error("a task's link made /etc an allowed path")
	}
}

func TestOtherNamesOfAMountAreKnown(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	// The agent's directory is mounted twice more: under /copy with its parent, and its containers
	// alone under /part.
	table := filepath.Join(t.TempDir(), "mountinfo")
	rows := "1 0 8:1 / / rw - ext4 /dev/sda rw\n" +
		"2 1 8:1 " + filepath.Dir(m.agent) + " /copy\\040of rw - ext4 /dev/sda rw\n" +
		"3 1 8:1 " + m.agent + "/containers /part rw - ext4 /dev/sda rw\n" +
		"4 1 8:2 / /other rw - ext4 /dev/sdb rw\n"
	if err := os.WriteFile(table, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	g := m.guard()
	g.table = table
	for path, refused := range map[string]bool{
		"/copy of/agent": true, "/copy of": true, "/part": true, "/part/c": true, "/other": false, "/copy of/data": false,
	} {
		s := m.order(path)
		s.Policy = nil
		if _, err := g.Resolve(s); (err != nil) != refused {
			t.Errorf("%s: got %v, want refused %v", path, err, refused)
		}
	}
}

func TestOrderWithoutPathsIsChecked(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := &agentv1.Spec{Policy: &apiv1.TaskPolicy{}, User: &agentv1.User{}, AddCapabilities: []string{"SYS_ADMIN"}}
	_, err := m.guard().Resolve(s)
	if err == nil || !strings.Contains(err.Error(), "SYS_ADMIN") || !strings.Contains(err.Error(), "root") {
		t.Errorf("got %v, want capability and root refused", err)
	}
}
