package local_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/local"
)

// newer gives m another program than its cluster runs: the same with a few bytes appended.
func newer(t *testing.T, m *machine) (was, next record.Release) {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	was, err = local.Own(program, "v1")
	must(t, err)
	data, err := os.ReadFile(program)
	must(t, err)
	m.program = filepath.Join(t.TempDir(), "det-deploy")
	must(t, os.WriteFile(m.program, append(data, "newer"...), 0o700))
	next, err = local.Own(m.program, "v1")
	must(t, err)
	m.runs = &was
	return was, next
}

func (m *machine) upgrade(ctx context.Context, to record.Release) (installer.Upgraded, error) {
	in, err := m.installer()
	if err != nil {
		return installer.Upgraded{}, err
	}
	return in.Upgrade(ctx, to)
}

// wantRunning checks that every process of the cluster runs r, and that no other program is kept.
func wantRunning(t *testing.T, m *machine, r record.Release) {
	t.Helper()
	paths, err := fs.Glob(os.DirFS(filepath.Join(m.root, "lab", "bin")), "*")
	must(t, err)
	if len(paths) != 1 {
		t.Errorf("got programs %v, want one", paths)
	}
	for _, name := range []string{"supervisor", "master", "agent-1"} {
		st, seen, err := m.dir().Status(name)
		must(t, err)
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", st.PID))
		if err != nil {
			t.Skip("the program of a process is only known on Linux")
		}
		if !seen || !strings.Contains(exe, r.Programs["linux-amd64"]+r.Programs["linux-arm64"]) {
			t.Errorf("%s runs %s, want the one of %v", name, exe, r.Programs)
		}
	}
}

func TestUpgradeRunsEverythingFromTheNewProgram(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	must(t, m.up(t.Context()))
	was, next := newer(t, m)
	// A configuration that the old version wrote may be invalid for the new agent.
	must(t, os.WriteFile(filepath.Join(m.root, "lab", "agents", "1", "agent.yaml"), []byte("master_host: 127.0.0.1\n"), 0o600))
	must(t, errors.Join(os.Chmod(m.place().Password(), 0o644), os.Chmod(filepath.Join(m.root, "lab", "data"), 0o755)))
	wantRunning(t, m, was)
	got, err := m.upgrade(t.Context(), next)
	must(t, err)
	kept, err := os.ReadFile(got.Backup)
	if err != nil || !strings.Contains(string(kept), was.Programs["linux-amd64"]+was.Programs["linux-arm64"]) {
		t.Errorf("got a backup %q and %v, want one that the old program wrote", kept, err)
	}
	m.runs = nil
	wantRunning(t, m, next)
	wantNothingToDo(t, m)
	again, err := m.upgrade(t.Context(), next)
	if err != nil || again.Changed {
		t.Errorf("again: got %+v and %v, want that nothing was to do", again, err)
	}
}

func TestUpgradeRollsBackIfTheNewMasterCannotServe(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	must(t, m.up(t.Context()))
	was, next := newer(t, m)
	complaint := filepath.Join(m.root, "lab", "unable")
	must(t, os.WriteFile(complaint, []byte("the store is from Mars"), 0o600))
	_, err := m.upgrade(t.Context(), next)
	if err == nil || !strings.Contains(err.Error(), "the store is from Mars") {
		t.Errorf("got %v, want the error of the master on hold", err)
	}
	must(t, os.Remove(complaint))
	st, _, err := m.dir().Status("master")
	must(t, err)
	u, _, err := m.dir().Unit("master")
	must(t, err)
	if !st.Alive() || !strings.Contains(u.Program, was.Programs["linux-amd64"]+was.Programs["linux-arm64"]) || len(u.Args) != 4 {
		t.Errorf("got %+v and %+v, want the old master to serve", u, st)
	}
	_, err = m.upgrade(t.Context(), next)
	must(t, err)
	m.runs = nil
	wantRunning(t, m, next)
}

// After a failure of any change, the same command finishes. The test upgrades one cluster back and
// forth between two programs.
func TestUpgradeResumesAfterFailureAtEveryChange(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("upgrades a cluster some forty times")
	}
	m := newMachine(t)
	must(t, m.up(t.Context()))
	was, next := newer(t, m)
	program, old := m.program, ""
	for n := 1; ; n++ {
		count := 0
		m.pass = func(context.Context) error {
			if count++; count == n {
				return errInjected
			}
			return nil
		}
		_, err := m.upgrade(t.Context(), next)
		m.pass = func(context.Context) error { return nil }
		if err == nil {
			m.runs = nil
			return // all changes have failed once
		}
		if !errors.Is(err, errInjected) {
			t.Fatalf("change %d: got %v, want the injected failure", n, err)
		}
		if _, err := m.upgrade(t.Context(), next); err != nil {
			t.Fatalf("change %d: the second run did not recover: %v", n, err)
		}
		wantRunning(t, m, next)
		was, next = next, was
		program, old = old, program
		m.runs, m.program = &was, program
	}
}

func TestUpRefusesAnotherRelease(t *testing.T) {
	t.Parallel()
	spec, err := local.FromSettings("lab", local.Flags().Defaults())
	must(t, err)
	one, two := record.Release{Version: "v1"}, record.Release{Version: "v2"}
	target := &local.Target{Spec: spec, Own: two, Release: one}
	for _, tc := range []struct {
		name      string
		record    record.Record
		own       record.Release
		text, fix string
	}{
		{"the same one", record.Record{}, one, "", ""},
		{"a newer one", record.Record{}, two, "cluster lab runs det-deploy v1 and this is v2", "run `det-deploy local upgrade --cluster-id lab` to upgrade the cluster to this version, or use det-deploy v1"},
		{"one under way", record.Record{Upgrade: &record.Upgrade{To: two}}, one, "an upgrade of cluster lab to v2 is in progress", "run `det-deploy upgrade --cluster-id lab` to finish it"},
	} {
		target.Own = tc.own
		err := target.Fits(tc.record)
		text, fix := "", ""
		if h, ok := errors.AsType[interface {
			error
			Hint() string
		}](err); ok {
			text, fix = h.Error(), h.Hint()
		}
		if d := cmp.Diff([]string{text, fix}, []string{tc.text, tc.fix}); d != "" {
			t.Errorf("%s: got -, want +:\n%s", tc.name, d)
		}
	}
}
