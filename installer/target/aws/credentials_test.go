package aws_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/api/password"
	"github.com/det-deploy/det-deploy/master/config"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// passwords returns the initial passwords of admin and determined.
func (s *stage) passwords(t *testing.T) (admin, determined string) {
	t.Helper()
	_, target, err := s.operator(t.Context())
	must(t, err)
	c, err := target.Credentials(t.Context())
	must(t, err)
	d, err := target.DeterminedPassword(t.Context())
	must(t, err)
	return c.Password.Reveal(), d.Reveal()
}

// wantTwoPasswords checks that the vault and master.yaml have one password per user.
func (s *stage) wantTwoPasswords(t *testing.T) {
	t.Helper()
	admin, determined := s.passwords(t)
	if admin == determined || !password.Strong(admin) || !password.Strong(determined) {
		t.Error("got one password for admin and determined, or a weak one, want two")
	}
	if text := string(s.onMaster(t, manifest.ConfigFile)); !strings.Contains(text, "initial_determined_password: aws-sm:det-deploy/lab/determined-password") {
		t.Errorf("got a master.yaml that does not name the password of determined:\n%s", text)
	}
}

func TestEachUserHasAPassword(t *testing.T) {
	for name, tc := range map[string]struct {
		flags      []string
		one        bool
		admin, own string
	}{
		"none is given":         {},
		"one is given":          {flags: []string{"initial-password", "env:A"}, one: true, admin: "Secret-1 of A"},
		"determined's is given": {flags: []string{"initial-determined-password", "env:B"}, own: "Secret-1 of B"},
		"both are given":        {flags: []string{"initial-password", "env:A", "initial-determined-password", "env:B"}, admin: "Secret-1 of A", own: "Secret-1 of B"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(inMemory(awstest.Options{}), tc.flags...)
				must(t, s.Up(t.Context()))
				s.WantNothingToDo(t)
				admin, determined := s.passwords(t)
				if (admin == determined) != tc.one || tc.admin != "" && admin != tc.admin || tc.own != "" && determined != tc.own {
					t.Errorf("got the given ones: %v and %v, the same: %v", admin == tc.admin, determined == tc.own, admin == determined)
				}
				if !tc.one {
					s.wantOwnEntry(t)
				}
			})
		})
	}
}

func TestUpRejectsWeakInitialPassword(t *testing.T) {
	for flag, setting := range map[string]string{"initial-password": "initial_password", "initial-determined-password": "initial_determined_password"} {
		t.Run(flag, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(inMemory(awstest.Options{}), flag, "env:SHORT")
				if err := s.Up(t.Context()); err == nil || !strings.Contains(err.Error(), setting+": the password "+password.Rule) {
					t.Errorf("got %v, want the setting and the rule", err)
				}
			})
		})
	}
}

func (s *stage) wantOwnEntry(t *testing.T) {
	t.Helper()
	m, _, err := config.Parse(s.onMaster(t, manifest.ConfigFile), "master.yaml")
	must(t, err)
	if ref, ok := m.Security.DeterminedPassword.Ref(); !ok || ref.Name != "det-deploy/lab/determined-password" {
		t.Errorf("got %s in master.yaml, want the secret of determined", m.Security.DeterminedPassword)
	}
}

// Earlier versions stored a single password for both users.
func TestUpKeepsTheSharedPassword(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		old := &storage.Secret{
			In: &mark.Cluster{ID: "lab", Clients: s.clients(nil)}, Name: "admin-password", OpensData: true,
			Generate: func() (secret.Value, error) { return secret.Literal("dD1-OLD"), nil },
		}
		must(t, old.Create(t.Context()))
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		must(t, s.Upgrade(t.Context()))
		s.WantNothingToDo(t)
		if admin, determined := s.passwords(t); admin != "dD1-OLD" || determined != admin {
			t.Error("got another password, want the one that both users have")
		}
		if _, found := s.world.Secret("det-deploy/lab/determined-password"); found {
			t.Error("got a password of determined, whom the cluster has with another")
		}
		if text := string(s.onMaster(t, manifest.ConfigFile)); strings.Contains(text, "determined_password") {
			t.Errorf("got another master.yaml than before:\n%s", text)
		}
	})
}

// An `up` that is interrupted between the two must not look like a cluster with a single password.
func TestPasswordOfDeterminedIsStoredFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		plan := newStage(inMemory(awstest.Options{})).Plan(t)
		at := func(name string) int {
			return slices.IndexFunc(plan, func(line string) bool { return strings.HasPrefix(line, "create aws/secret/"+name) })
		}
		if first, second := at("determined-password"), at("admin-password"); first < 0 || second < first {
			t.Errorf("got steps %d and %d of:\n%s", first, second, strings.Join(plan, "\n"))
		}
	})
}
