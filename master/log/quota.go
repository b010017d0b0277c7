package log

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

// UserOf returns the user who owns a task, or the zero User for an unknown task.
type UserOf func(ctx context.Context, taskID string) (quota.User, error)

// LimitUsers counts the logs of each user. While a user's quota is exceeded, output of the user's
// tasks is dropped, which a line in the log reports; lines of the master are still stored. It must
// be called before the first append.
func (l *Logs) LimitUsers(q *quota.Quota, of UserOf) { l.users = users{q, of} }

// users provides the owners of logs. Logs of unknown owners have no limit.
type users struct {
	quota *quota.Quota
	of    UserOf
}

// loadOwner looks up the owner of the log.
func (t *task) loadOwner(ctx context.Context) (err error) {
	if t.owner.ID == 0 && t.users.of != nil {
		t.owner, err = t.users.of(ctx, t.id)
	}
	return err
}

// notKept is the beginning of the line that reports dropped output.
const notKept = "further output of the task is not kept: "

// endsUnkept reports whether a log ends with that line.
func endsUnkept(last store.Chunk) bool {
	return last.Container == "" && bytes.Contains(last.Data, []byte(notKept))
}

// checkOwner drops further lines while the owner's quota is exceeded.
func (n *draft) checkOwner(b Batch, now time.Time) {
	q, owner := n.task.users.quota, n.task.owner
	exceeded := q.Exceeded(owner)
	if exceeded && !n.unkept {
		n.sayDropped(b, fmt.Sprintf("%s%v", notKept, q.Check(owner, 0)), now)
	}
	n.unkept = exceeded
}

// count adds the size change of the transaction to the owner's usage.
func (n *draft) count(tx *store.Tx) {
	change := n.size - n.task.size
	if n.remove {
		change = -n.task.size
	}
	n.task.users.quota.Add(tx, n.task.owner.ID, quota.Logs, change)
}
