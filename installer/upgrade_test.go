package installer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

var (
	oldRelease = record.Release{Version: "v1", Programs: map[string]string{"linux-amd64": "11"}}
	newRelease = record.Release{Version: "v2", Programs: map[string]string{"linux-amd64": "22"}}
)

// machine is a fake of the master's machine.
type machine struct {
	world   *cloudtest.World
	release record.Release
	mode    installer.Mode
	offered []string
	// unable is a release whose master cannot serve.
	unable string
	// story lists the events of the store: which release served or tested it, and backups.
	story []string
}

func (m *machine) tell(what string) {
	if len(m.story) == 0 || m.story[len(m.story)-1] != what {
		m.story = append(m.story, what)
	}
}

// upgradable is a deployment with a machine.
type upgradable struct {
	deployment

	m *machine
}

var _ installer.Upgradable = upgradable{}

func (u upgradable) Runs(context.Context) (record.Release, installer.Mode, error) {
	return u.m.release, u.m.mode, nil
}

func (u upgradable) act(ctx context.Context, op string, f func()) error {
	if err := u.Gate.Pass(ctx, op); err != nil {
		return err
	}
	return u.m.world.Act(op, func() error { f(); return nil })
}

func (u upgradable) UploadPrograms(ctx context.Context, r record.Release, _ func(string)) error {
	return u.act(ctx, "offer", func() { u.m.offered = append(u.m.offered, r.Version) })
}

func (u upgradable) SetMode(ctx context.Context, r record.Release, mode installer.Mode, _ func(string)) error {
	err := u.act(ctx, "turn", func() {
		u.m.release, u.m.mode = r, mode
		if mode != installer.Stop {
			u.m.tell(r.Version + " " + string(mode) + "s")
		}
	})
	if err == nil && mode == installer.Hold && u.m.unable == r.Version {
		return errors.New("it cannot read the store")
	}
	return err
}

func (u upgradable) Backup(ctx context.Context, of record.Release, _ func(string)) (string, error) {
	return "backup-1", u.act(ctx, "backup", func() { u.m.tell("kept as " + of.Version + " left it") })
}

func (u upgradable) WaitForAgents(context.Context, record.Release, func(string)) error { return nil }

// running returns a stage whose cluster runs the old release.
func running(t *testing.T) (*stage, *machine) {
	t.Helper()
	s := newStage()
	must(t, s.up(t.Context()))
	return s, &machine{world: s.world, release: oldRelease, mode: installer.Serve, story: []string{"v1 serves"}}
}

func (s *stage) upgrade(ctx context.Context, m *machine, to record.Release) (installer.Upgraded, error) {
	in := s.operator("ann")
	in.Deployment = upgradable{in.Deployment.(deployment), m}
	return in.Upgrade(ctx, to)
}

func (s *stage) record(t *testing.T) record.Record {
	t.Helper()
	r, _, _, err := record.Read(t.Context(), s.store)
	must(t, err)
	return r
}

var smooth = []string{"v1 serves", "kept as v1 left it", "v2 holds", "v2 serves"}

func TestUpgrade(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m := running(t)
		got, err := s.upgrade(t.Context(), m, newRelease)
		must(t, err)
		if want := (installer.Upgraded{From: oldRelease, To: newRelease, Backup: "backup-1", Changed: true}); !cmp.Equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if !slices.Equal(m.story, smooth) {
			t.Errorf("got %q, want %q", m.story, smooth)
		}
		if r := s.record(t); !r.Release.Same(newRelease) || r.Upgrade != nil || r.Ready.IsZero() {
			t.Errorf("got the record %+v, want the new release and no upgrade under way", r)
		}
		got, err = s.upgrade(t.Context(), m, newRelease)
		if err != nil || got.Changed || len(m.story) != len(smooth) {
			t.Errorf("again: got %+v, %v and %q, want that nothing was to do", got, err, m.story)
		}
	})
}

func TestUpgradeRestoresTheOldMaster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m := running(t)
		m.unable = "v2"
		if _, err := s.upgrade(t.Context(), m, newRelease); err == nil {
			t.Fatal("got no error, want that it cannot read the store")
		}
		want := []string{"v1 serves", "kept as v1 left it", "v2 holds", "v1 serves"}
		if !slices.Equal(m.story, want) {
			t.Errorf("got %q, want %q", m.story, want)
		}
		if r := s.record(t); r.Upgrade != nil {
			t.Errorf("got %+v under way, want nothing", r.Upgrade)
		}
		m.unable = ""
		m.story = m.story[:1]
		_, err := s.upgrade(t.Context(), m, newRelease)
		must(t, err)
		if !slices.Equal(m.story, smooth) {
			t.Errorf("later: got %q, want %q", m.story, smooth)
		}
	})
}

// After any fault before the commit, the old master serves again or, after a kill, the same command
// finishes. The new master never serves a store that it has not tested, or without a backup of the
// old master's last state.
func TestUpgradeContinuesAfterAnyFaultAtEveryCall(t *testing.T) {
	t.Parallel()
	n := 0
	synctest.Test(t, func(t *testing.T) {
		s, m := running(t)
		before := s.world.Calls()
		_, err := s.upgrade(t.Context(), m, newRelease)
		must(t, err)
		n = s.world.Calls() - before
	})
	for _, fault := range cloudtest.Faults() {
		for i := 1; i <= n; i++ {
			t.Run(fmt.Sprintf("%s at call %d", fault, i), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s, m := running(t)
					s.world.FailAt(s.world.Calls()+i, fault)
					_, first := s.upgrade(t.Context(), m, newRelease)
					s.resume()
					killed := fault == faults.KillBefore || fault == faults.KillAfter
					committed := m.story[len(m.story)-1] == "v2 serves" || s.record(t).Upgrade != nil && s.record(t).Upgrade.Committed
					if first != nil && !killed && !committed && (m.mode != installer.Serve || !m.release.Same(oldRelease)) {
						t.Errorf("after %v the machine has %s %s, want v1 to serve", first, m.release, m.mode)
					}
					_, err := s.upgrade(t.Context(), m, newRelease)
					must(t, err)
					if m.mode != installer.Serve || !m.release.Same(newRelease) {
						t.Errorf("got %s %s, want v2 to serve", m.release, m.mode)
					}
					wantKeptAndTried(t, m.story)
					if r := s.record(t); r.Upgrade != nil || !r.Release.Same(newRelease) {
						t.Errorf("got the record %+v, want the new release and no upgrade under way", r)
					}
					_, err = s.down(t.Context(), true)
					must(t, err)
				})
			})
		}
	}
}

// wantKeptAndTried checks that the store was backed up and then tested after the old master last
// served and before the new one first did.
func wantKeptAndTried(t *testing.T, story []string) {
	t.Helper()
	served := slices.Index(story, "v2 serves")
	if served < 0 || slices.Contains(story[served:], "v1 serves") {
		t.Errorf("got %q, want v2 to serve, and v1 not to after it", story)
		return
	}
	last := 0
	for i, what := range story[:served] {
		if what == "v1 serves" {
			last = i
		}
	}
	between := story[last:served]
	if !slices.Contains(between, "kept as v1 left it") || !slices.Contains(between, "v2 holds") {
		t.Errorf("got %q before v2 serves, want the store kept and tried", between)
	}
}

func TestUpgradeToAnotherReleaseDuringUpgrade(t *testing.T) {
	third := record.Release{Version: "v3"}
	for _, tc := range []struct {
		name string
		was  record.Upgrade
		mode installer.Mode
		runs record.Release
		fail string
	}{
		{"before the commit it starts from the same old one", record.Upgrade{From: oldRelease, To: newRelease, Backup: "backup-1"}, installer.Hold, newRelease, ""},
		{"behind it the first is to be finished", record.Upgrade{From: oldRelease, To: newRelease, Committed: true}, installer.Serve, newRelease, "read the cluster's state: the upgrade to v2 was committed and is not finished"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, m := running(t)
				m.release, m.mode = tc.runs, tc.mode
				s.remember(t, func(r *record.Record) { r.Upgrade = &tc.was })
				got, err := s.upgrade(t.Context(), m, third)
				if tc.fail != "" {
					if err == nil || err.Error() != tc.fail {
						t.Errorf("got %v, want %q", err, tc.fail)
					}
					return
				}
				must(t, err)
				if !got.From.Same(oldRelease) || got.Backup != "backup-1" || !m.release.Same(third) {
					t.Errorf("got %+v and %s, want from v1 to v3 with the first backup", got, m.release)
				}
			})
		})
	}
}

// remember changes the record under the lease.
func (s *stage) remember(t *testing.T, edit func(*record.Record)) {
	t.Helper()
	lease, err := record.Acquire(t.Context(), record.Request{Cluster: "lab", Store: s.store, Holder: record.Holder{Owner: "ann", Nonce: "x"}})
	must(t, err)
	book, err := record.Open(t.Context(), s.store, lease, record.Record{Cluster: "lab"})
	must(t, err)
	must(t, book.Change(t.Context(), edit))
	must(t, lease.Release(t.Context()))
}

func TestUpgradeWithoutCluster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		_, err := s.upgrade(t.Context(), &machine{world: s.world}, newRelease)
		if absent, ok := errors.AsType[*installer.AbsentError](err); !ok || absent.Hint() == "" {
			t.Errorf("got %v, want that there is no master", err)
		}
		if _, err := s.operator("ann").Upgrade(t.Context(), newRelease); err == nil {
			t.Error("got no error for a platform that cannot, want one")
		}
	})
}

// After the record is lost during an upgrade, the upgrade can only be finished.
func TestUpgradeAfterLostRecord(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m := running(t)
		m.release, m.mode = newRelease, installer.Hold
		_, err := s.upgrade(t.Context(), m, newRelease)
		must(t, err)
		if m.mode != installer.Serve || !m.release.Same(newRelease) {
			t.Errorf("got %s %s, want v2 to serve", m.release, m.mode)
		}
	})
}

func TestAdoptWritesARecordOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		must(t, s.up(t.Context()))
		must(t, s.store.Destroy(t.Context()))
		in := s.operator("ann")
		in.Release = oldRelease
		must(t, in.Adopt(t.Context()))
		if r := s.record(t); r.Settings["machines"] != "2" || !r.Release.Same(oldRelease) {
			t.Errorf("got %+v, want the settings and the release", r)
		}
		wantLive(t, s, whole)
		if err := s.operator("bob").Adopt(t.Context()); !errors.Is(err, installer.ErrRecorded) {
			t.Errorf("again: got %v, want %v", err, installer.ErrRecorded)
		}
		must(t, s.up(t.Context()))
	})
}

// `up` must not make a master on hold serve.
func TestUpFailsDuringUpgrade(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, _ := running(t)
		s.remember(t, func(r *record.Record) { r.Upgrade = &record.Upgrade{From: oldRelease, To: newRelease} })
		err := s.up(t.Context())
		if under, ok := errors.AsType[*installer.UnderWayError](err); !ok || under.Hint() == "" {
			t.Errorf("got %v, want that an upgrade is under way", err)
		}
		s.remember(t, func(r *record.Record) { r.Upgrade = nil })
		must(t, s.up(t.Context()))
	})
}
