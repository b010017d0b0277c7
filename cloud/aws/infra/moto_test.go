package infra_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/resource"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

func onMoto(t *testing.T) *stage {
	t.Helper()
	a := motest.Open(t)
	return &stage{
		account: a.ID, image: motest.ImageAMD64, store: new(recordtest.Memory), settle: time.Second, wish: modest(),
		pause:   hurry,
		clients: func(gate *resource.Gate) api.Clients { return api.New(a.Config(), api.Options{Gate: gate}) },
	}
}

// hurry waits a twentieth of the duration, because the emulator's instances start immediately.
func hurry(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d / 20):
		return nil
	}
}

// The same lifecycle as in memory, over HTTP with requests to a third-party emulator.
func TestLifecycleOverHTTP(t *testing.T) {
	t.Parallel()
	s := onMoto(t)
	must(t, s.up(t.Context()))
	s.wantNothingToDo(t)
	s.wantLive(t, whole)

	s.wish.inbound, s.wish.days, s.wish.policy, s.wish.versioning = "198.51.100.0/24", 7, "ec2:RunInstances", true
	s.wish.volumeGiB, s.wish.machine, s.wish.tags, s.wish.keepLogs = 200, "m6i.xlarge", map[string]string{"team": "vision"}, true
	must(t, s.up(t.Context()))
	s.wantNothingToDo(t)
	s.wantLive(t, whole)

	_, err := s.down(t.Context(), false)
	must(t, err)
	s.wantLive(t, []string{"bucket/det-deploy-lab-data", "log-group//det-deploy/lab", "secret/admin-password", "volume/data"})

	s.wish.given = "postgres://u:p@h/d"
	must(t, s.up(t.Context()))
	s.wantNothingToDo(t)
	s.wish.cidr, s.wish.given = "10.64.0.0/16", "postgres://u:q@h/d"
	must(t, s.up(t.Context()))
	s.wantNothingToDo(t)

	_, err = s.down(t.Context(), true)
	must(t, err)
	s.wantLive(t, []string{})
}

func (s *stage) wantLive(t *testing.T, want []string) {
	t.Helper()
	if d := cmp.Diff(s.live(t), want); d != "" {
		t.Errorf("inventory: got -, want +:\n%s", d)
	}
}
