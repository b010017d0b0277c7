package local_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/local"
	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
	"github.com/det-deploy/det-deploy/test/port"
)

// machine is a directory of clusters, with the settings of one of them.
type machine struct {
	root     string
	settings map[string]string
	// program replaces the test binary, if set.
	program string
	// runs is the release of the cluster if it differs from that of program.
	runs *record.Release
	// pass is called before every change, in place of the lease check.
	pass func(context.Context) error
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{root: filepath.Join(t.TempDir(), "a [b] c*"), settings: local.Flags().Defaults(), pass: func(context.Context) error { return nil }}
	m.settings[local.PortSetting] = strconv.Itoa(port.Free(t))
	t.Cleanup(func() {
		m.pass = func(context.Context) error { return nil }
		if _, err := m.down(context.WithoutCancel(t.Context()), true); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	return m
}

func (m *machine) place() local.Place { return local.At(m.root, "lab") }
func (m *machine) dir() supervise.Dir { return supervise.Dir(m.place()) }

func (m *machine) installer() (*installer.Installer, error) {
	spec, err := local.FromSettings("lab", m.settings)
	if err != nil {
		return nil, err
	}
	holder, err := local.Holder(os.Getenv, fmt.Sprint(time.Now().UnixNano()), "")
	if err != nil {
		return nil, err
	}
	gate := new(resource.Gate)
	gate.Open(func(ctx context.Context) error { return m.pass(ctx) })
	program := m.program
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	own, err := local.Own(program, "v1")
	if err != nil {
		return nil, err
	}
	release := own
	if m.runs != nil {
		release = *m.runs
	}
	return &installer.Installer{
		Cluster: "lab", Platform: "local", Settings: m.settings,
		Deployment: &local.Target{
			Spec: spec, Place: m.place(), Gate: gate, Program: program, Own: own, Release: release,
			Env: []string{asProgram + "=1"}, Docker: "/nonexistent.sock",
		},
		Store: m.place().Store(), Gate: new(resource.Gate), Holder: holder, Dead: local.Dead,
	}, nil
}

func (m *machine) plan(ctx context.Context) (plan.Plan, error) {
	in, err := m.installer()
	if err != nil {
		return plan.Plan{}, err
	}
	return in.Plan(ctx)
}

func (m *machine) up(ctx context.Context) error {
	in, err := m.installer()
	if err != nil {
		return err
	}
	p, err := in.Plan(ctx)
	if err != nil {
		return err
	}
	return in.Up(ctx, p)
}

// upAgain runs up after a failed run. It repeats up if the plan has changed, because the supervisor
// may start processes of the failed run between this run's plan and its lock.
func (m *machine) upAgain(ctx context.Context) error {
	for {
		if err := m.up(ctx); !errors.Is(err, installer.ErrPlanChanged) {
			return err
		}
	}
}

func (m *machine) down(ctx context.Context, deleteData bool) (installer.Receipt, error) {
	in, err := m.installer()
	if err != nil {
		return installer.Receipt{}, err
	}
	p, err := in.PlanDown(ctx, deleteData)
	if err != nil {
		return installer.Receipt{}, err
	}
	return in.Down(ctx, p, deleteData)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantNothingToDo(t *testing.T, m *machine) {
	t.Helper()
	p, err := m.plan(t.Context())
	must(t, err)
	if !p.Empty() {
		var b strings.Builder
		_ = p.Render(&b) // a strings.Builder never returns an error
		t.Errorf("got a plan with something to do, want none:\n%s", b.String())
	}
}

func (m *machine) left(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(string(m.place()))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestUpTwiceDownTwice(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for range 2 {
		must(t, m.up(t.Context()))
		wantNothingToDo(t, m)
	}
	password, err := os.ReadFile(m.place().Password())
	must(t, err)
	own, err := os.ReadFile(m.place().DeterminedPassword())
	must(t, err)
	if string(own) == string(password) {
		t.Error("got one password for admin and determined, want two")
	}
	for range 2 {
		_, err := m.down(t.Context(), false)
		must(t, err)
		if d := cmp.Diff(m.left(t), []string{"admin-password", "data", "determined-password"}); d != "" {
			t.Errorf("kept: got -, want +:\n%s", d)
		}
	}
	must(t, m.up(t.Context()))
	again, err := os.ReadFile(m.place().Password())
	must(t, err)
	ownAgain, err := os.ReadFile(m.place().DeterminedPassword())
	must(t, err)
	if string(again) != string(password) || string(ownAgain) != string(own) {
		t.Error("got another password, want the ones that open the data that was kept")
	}
	r, err := m.down(t.Context(), true)
	must(t, err)
	if len(m.left(t)) != 0 || len(r.Left) != 0 || len(r.Kept) != 0 {
		t.Errorf("got %v left and %+v, want nothing", m.left(t), r)
	}
}

// Only the lock of the unit shows a process that the supervisor was killed too soon to store.
func TestDownEndsAProcessThatWasNotStored(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	must(t, m.up(t.Context()))
	agent, runs := m.dir().UnitHolder("agent-1")
	if !runs {
		t.Fatal("the agent does not hold the lock of its unit")
	}
	boss, _ := m.dir().Holder()
	kill(t, boss)
	for _, dir := range []string{"units", "run"} {
		must(t, os.Remove(filepath.Join(string(m.place()), dir, "agent-1.json")))
	}
	_, err := m.down(t.Context(), true)
	must(t, err)
	if agent.Alive() || len(m.left(t)) != 0 {
		t.Errorf("got the agent running: %t, and %v left; want nothing", agent.Alive(), m.left(t))
	}
}

// Earlier versions generated a single password.
func TestUpKeepsTheSharedPassword(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	must(t, os.MkdirAll(string(m.place()), 0o700))
	must(t, os.WriteFile(m.place().Password(), []byte("for-both-7X\n"), 0o600))
	must(t, m.up(t.Context()))
	wantNothingToDo(t, m)
	if got := m.place().DeterminedPassword(); got != m.place().Password() {
		t.Errorf("got the password of determined in %s, want that of admin", got)
	}
	text, err := os.ReadFile(m.place().Password())
	must(t, err)
	config, err := os.ReadFile(filepath.Join(string(m.place()), "master.yaml"))
	must(t, err)
	if string(text) != "for-both-7X\n" || strings.Contains(string(config), "determined_password") {
		t.Errorf("got another password, or another master.yaml than before:\n%s", config)
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.settings[local.TLSSetting] = "true"
	must(t, m.up(t.Context()))
	secret, err := os.ReadFile(m.place().Password())
	must(t, err)
	own, err := os.ReadFile(m.place().DeterminedPassword())
	must(t, err)
	err = filepath.WalkDir(m.root, func(path string, e os.DirEntry, err error) error {
		if err != nil || path == m.root {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		// Tasks of different users write there; the directory above it is closed.
		shared := path == filepath.Join(m.root, "lab", "data", "checkpoints")
		if info.Mode().Perm()&0o077 != 0 && !shared {
			t.Errorf("%s: got %s, want nothing for others", path, info.Mode())
		}
		if e.IsDir() || path == m.place().Password() || path == m.place().DeterminedPassword() {
			return nil
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), strings.TrimSpace(string(secret))) || strings.Contains(string(data), strings.TrimSpace(string(own))) {
			t.Errorf("%s holds the password", path)
		}
		return err
	})
	must(t, err)
	must(t, os.Chmod(m.place().Password(), 0o644))
	must(t, m.up(t.Context()))
	wantNothingToDo(t, m)
}

func TestUpRepairsCluster(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		damage func(t *testing.T, m *machine)
	}{
		{"everything was killed", func(t *testing.T, m *machine) {
			boss, _ := m.dir().Holder()
			kill(t, boss)
			for _, name := range []string{"master", "agent-1"} {
				st, _, err := m.dir().Status(name)
				must(t, err)
				kill(t, st.Identity)
			}
		}},
		{"the supervisor was killed and its processes live", func(t *testing.T, m *machine) {
			boss, _ := m.dir().Holder()
			kill(t, boss)
		}},
		{"the supervisor was killed before it stored a process", func(t *testing.T, m *machine) {
			boss, _ := m.dir().Holder()
			kill(t, boss)
			must(t, os.Remove(filepath.Join(string(m.place()), "run", "agent-1.json")))
		}},
		{"master.yaml was changed by hand", func(t *testing.T, m *machine) {
			must(t, os.WriteFile(filepath.Join(string(m.place()), "master.yaml"), []byte("port: 1\n"), 0o600))
		}},
		{"a join token expired before it served", func(t *testing.T, m *machine) {
			old := time.Now().Add(-30 * time.Hour)
			must(t, os.Chtimes(filepath.Join(string(m.place()), "agents", "1", "join-token"), old, old))
		}},
		{"the files of the supervisor were emptied", func(t *testing.T, m *machine) {
			for _, dir := range []string{"units", "run"} {
				for _, name := range []string{"master.json", "agent-1.json"} {
					must(t, os.WriteFile(filepath.Join(string(m.place()), dir, name), nil, 0o600))
				}
			}
		}},
		{"the record was lost", func(t *testing.T, m *machine) {
			must(t, os.RemoveAll(filepath.Join(string(m.place()), "control")))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			must(t, m.up(t.Context()))
			tc.damage(t, m)
			must(t, m.up(t.Context()))
			wantNothingToDo(t, m)
		})
	}
}

func kill(t *testing.T, id supervise.Identity) {
	t.Helper()
	must(t, id.Signal(syscall.SIGKILL))
	eventually(t, "the process is gone", func() bool { return !id.Alive() })
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if ok() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("waited a minute and it did not happen: %s", what)
}

func TestSupervisorRestartsDeadMaster(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	must(t, m.up(t.Context()))
	before, _, err := m.dir().Status("master")
	must(t, err)
	kill(t, before.Identity)
	eventually(t, "another master", func() bool {
		now, _, err := m.dir().Status("master")
		return err == nil && now.Alive() && now.PID != before.PID && now.Restarts == 1
	})
}

func TestSettingsChangeARunningCluster(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	must(t, m.up(t.Context()))
	for _, change := range []map[string]string{
		{local.AgentSetting: "3"},
		{local.AgentSetting: "1", local.SlotSetting: "4"},
		{local.PortSetting: strconv.Itoa(port.Free(t)), local.TLSSetting: "true"},
		{local.TLSSetting: "false"},
	} {
		maps.Copy(m.settings, change)
		must(t, m.up(t.Context()))
		wantNothingToDo(t, m)
		in, err := m.installer()
		must(t, err)
		fs, err := in.Deployment.Inventory(t.Context(), "lab")
		must(t, err)
		agents := len(slices.DeleteFunc(fs, func(f resource.Found) bool { return f.Kind != "agent" }))
		if got := strconv.Itoa(agents); got != m.settings[local.AgentSetting] {
			t.Errorf("%v: got %s agents, want %s", change, got, m.settings[local.AgentSetting])
		}
	}
}

func TestPlanningChangesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.pass = func(context.Context) error { return resource.ErrReadOnly }
	_, err := m.plan(t.Context())
	must(t, err)
	if got := m.left(t); len(got) != 0 {
		t.Errorf("got %v, want nothing", got)
	}
}

var errInjected = errors.New("injected")

// After a failure of any change, a second run of the command finishes.
func TestResumesAfterFailureAtEveryChange(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	var calls atomic.Int32
	m.pass = func(context.Context) error { calls.Add(1); return nil }
	must(t, m.up(t.Context()))
	n := int(calls.Load())
	_, err := m.down(t.Context(), true)
	must(t, err)
	for i := 1; i <= n; i++ {
		calls.Store(0)
		m.pass = func(context.Context) error {
			if int(calls.Add(1)) == i {
				return errInjected
			}
			return nil
		}
		if err := m.up(t.Context()); !errors.Is(err, errInjected) {
			t.Fatalf("change %d: first run: got %v, want the injected failure", i, err)
		}
		if i%2 == 0 {
			if err := m.upAgain(t.Context()); err != nil {
				out, _ := exec.Command("sh", "-c", "cd "+string(m.place())+"; tail -n 30 logs/*; head -50 units/* run/*").CombinedOutput()
				t.Fatalf("change %d : second run did not recover: %v\n%s", i, err, out)
			}
			wantNothingToDo(t, m)
		}
		if _, err := m.down(t.Context(), true); err != nil {
			t.Fatalf("change %d: down: %v", i, err)
		}
		if got := m.left(t); len(got) != 0 {
			t.Fatalf("change %d: got %v after down, want nothing", i, got)
		}
	}
}

func TestChecksReportPortInUse(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	m.settings[local.PortSetting] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	in, err := m.installer()
	must(t, err)
	if err := in.Check(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "in use by another program") {
		t.Errorf("got %v, want that the port is taken", err)
	}
	m.settings[local.PortSetting] = strconv.Itoa(port.Free(t))
	must(t, m.up(t.Context()))
	in, err = m.installer()
	must(t, err)
	if err := in.Check(t.Context()).Err(); err != nil {
		t.Errorf("own port: got %v, want nil", err)
	}
}

// Both clusters have the same name, so that the name does not distinguish their masters.
func TestReadyRejectsForeignMaster(t *testing.T) {
	t.Parallel()
	a, b := newMachine(t), newMachine(t)
	must(t, a.up(t.Context()))
	b.settings[local.PortSetting] = a.settings[local.PortSetting]
	if err := b.up(t.Context()); err == nil || !strings.Contains(err.Error(), "its port is in use by another program") {
		t.Errorf("got %v, want that the port is taken", err)
	}
	wantNothingToDo(t, a)
}

func TestRecoverSettingsWithoutRecord(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if got, err := m.place().Recover(); err != nil || got != nil {
		t.Errorf("before: got %v and %v, want nothing", got, err)
	}
	m.settings[local.AgentSetting], m.settings[local.SlotSetting], m.settings[local.TLSSetting] = "2", "3", "true"
	m.settings[local.TrustSetting], m.settings[local.AddressSetting] = "true", "192.0.2.7"
	m.settings[local.WheelSetting] = filepath.Join(t.TempDir(), "determined-0.38.1-py3-none-any.whl")
	must(t, os.WriteFile(m.settings[local.WheelSetting], []byte("a wheel"), 0o600))
	must(t, m.up(t.Context()))
	got, err := m.place().Recover()
	must(t, err)
	want := maps.Clone(m.settings)
	for _, f := range local.Flags() {
		if want[f.Flag] == "" { // no value was given
			delete(want, f.Flag)
		}
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

// The tests' machine isolates nothing, because Isolated is not called.
func TestTrustUsersSetting(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, trusted := range []string{"false", "true", "false"} {
		m.settings[local.TrustSetting] = trusted
		must(t, m.up(t.Context()))
		master, err := os.ReadFile(filepath.Join(string(m.place()), "master.yaml"))
		must(t, err)
		agent, err := os.ReadFile(filepath.Join(string(m.place()), "agents", "1", "agent.yaml"))
		must(t, err)
		if refuses := strings.Contains(string(master), "trust_users: false"); refuses != (trusted == "false") {
			t.Errorf("--trust-users=%s: got the master.yaml:\n%s", trusted, master)
		}
		if !strings.Contains(string(agent), "trust_users: true") {
			t.Errorf("--trust-users=%s: the agent will not start with:\n%s", trusted, agent)
		}
	}
}

func TestFromSettingsReportsAllErrors(t *testing.T) {
	t.Parallel()
	_, err := local.FromSettings("Lab!", map[string]string{
		local.PortSetting: "0", local.AgentSetting: "-1", local.ElasticSetting: "65", local.SlotSetting: "0", local.TLSSetting: "false", local.DBSetting: "x",
		local.TrustSetting: "false",
	})
	want := []string{"--cluster-id", "--port", "--agents", "--elastic", "--db-url-file"}
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("got %v, want it to name %s", err, w)
		}
	}
}

func TestTwoClustersSideBySide(t *testing.T) {
	t.Parallel()
	a, b := newMachine(t), newMachine(t)
	must(t, a.up(t.Context()))
	b.settings[local.PortSetting] = a.settings[local.PortSetting]
	in, err := b.installer()
	must(t, err)
	if in.Check(t.Context()).Err() == nil {
		t.Error("got no complaint about the port of the other cluster")
	}
	b.settings[local.PortSetting] = strconv.Itoa(port.Free(t))
	must(t, b.up(t.Context()))
	wantNothingToDo(t, a)
	wantNothingToDo(t, b)
	if got, err := local.Clusters(a.root); err != nil || !slices.Equal(got, []string{"lab"}) {
		t.Errorf("got %v and %v, want lab", got, err)
	}
	if _, _, found, err := record.Read(t.Context(), a.place().Store()); err != nil || !found {
		t.Errorf("got found %t and %v, want a record", found, err)
	}
}
