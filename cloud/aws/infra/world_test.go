package infra_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/record"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// memory is a stage with an in-memory AWS.
type memory struct {
	*stage
	world *awstest.World
}

func inMemory(o awstest.Options) *memory {
	w := awstest.New(o)
	return &memory{
		stage: &stage{
			account: awstest.Account, image: awstest.ImageAMD64, store: new(recordtest.Memory), settle: 10 * time.Second, wish: modest(),
			clients: func(gate *resource.Gate) api.Clients { return w.Clients(gate) },
		},
		world: w,
	}
}

// resume lets the next operator continue at once, without waiting for the lease of the killed one.
func (m *memory) resume() {
	m.world.Revive()
	m.dead = func(record.Holder) bool { return true }
}

func (m *memory) downAll(ctx context.Context) error {
	_, err := m.down(ctx, true)
	return err
}

// bubble runs a test with a fake clock.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// slow returns a world with Amazon's delays.
func slow() awstest.Options {
	return awstest.Options{
		Boot: 20 * time.Second, Shutdown: 30 * time.Second, Linger: 40 * time.Second,
		Lag: 3 * time.Second, Shy: 2, FreshProfile: 2,
	}
}

// settleDown waits until lists are up to date.
func (m *memory) settleDown() {
	time.Sleep(10 * time.Second) //nolint:forbidigo // synctest's clock
}
