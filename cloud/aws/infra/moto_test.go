package infra_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/record/recordtest"
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

// hurry waits a twentieth of what is asked for: the emulator's machines need no
// time to start.
func hurry(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d / 20):
		return nil
	}
}

// The same life as in memory, over HTTP and with requests that an emulator nobody
// here wrote understands.
func TestALifeOverHTTP(t *testing.T) {
	t.Parallel()
	s := onMoto(t)
	must(t, s.up(t.Context()))
	s.wantNothingToDo(t)
	if d := cmp.Diff(s.live(t), whole); d != "" {
		t.Errorf("inventory: got -, want +:\n%s", d)
	}
	_, err := s.down(t.Context(), true)
	must(t, err)
	if got := s.live(t); len(got) > 0 {
		t.Errorf("got %v left, want nothing", got)
	}
}
