package checkpoint

import (
	"context"
	"fmt"
	"sync"

	"github.com/det-deploy/det-deploy/master/store"
)

// uses is what is being read now. It is lost with the process, as the readers are.
type uses struct {
	mu    sync.Mutex
	count map[string]int
}

func newUses() *uses { return &uses{count: map[string]int{}} }

// UsedBy implements Uses.
func (u *uses) UsedBy(uuid string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch n := u.count[uuid]; n {
	case 0:
		return nil
	case 1:
		return []string{"it is being downloaded"}
	default:
		return []string{fmt.Sprintf("it is being downloaded %d times", n)}
	}
}

func (u *uses) add(uuid string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count[uuid] += n; u.count[uuid] == 0 {
		delete(u.count, uuid)
	}
}

// Hold makes a checkpoint stay until release is called, which must be. It refuses what
// CheckSource refuses. It looks inside a transaction, so that no deletion is marked between the look
// and the hold.
func (c *Checkpoints) Hold(ctx context.Context, uuid string) (rec Record, release func(), err error) {
	held := false
	err = c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if rec, err = CheckSource(ctx, tx, uuid); err != nil {
			return err
		}
		c.uses.add(uuid, 1)
		held = true
		return nil
	})
	if err != nil {
		if held {
			c.uses.add(uuid, -1)
		}
		return Record{}, nil, err
	}
	return rec, sync.OnceFunc(func() { c.uses.add(uuid, -1) }), nil
}
