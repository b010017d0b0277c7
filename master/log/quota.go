package log

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

// UserOf returns the user whose task a log is of; the zero User for a task that is not known.
type UserOf func(ctx context.Context, taskID string) (quota.User, error)

// LimitUsers counts the logs of each user, and drops what is printed while the user may store nothing more, with
// a line that says so; the master's own lines are kept. It is called before anything is appended.
func (l *Logs) LimitUsers(q *quota.Quota, of UserOf) { l.users = users{q, of} }

// users are those who own logs. The zero users are not known, and have no limit.
type users struct {
	quota *quota.Quota
	of    UserOf
}

// loadOwner finds out whose log it is.
func (t *task) loadOwner(ctx context.Context) (err error) {
	if t.owner.ID == 0 && t.users.of != nil {
		t.owner, err = t.users.of(ctx, t.id)
	}
	return err
}

// notKept begins the line that says that further lines are dropped.
const notKept = "what the task prints from here on is not kept: "

// endsUnkept reports whether a log ends with that line.
func endsUnkept(last store.Chunk) bool {
	return last.Container == "" && bytes.Contains(last.Data, []byte(notKept))
}

// checkOwner drops lines from here on while the owner may store nothing more.
func (n *draft) checkOwner(b Batch, now time.Time) {
	q, owner := n.task.users.quota, n.task.owner
	exceeded := q.Exceeded(owner)
	if exceeded && !n.unkept {
		n.sayDropped(b, fmt.Sprintf("%s%v", notKept, q.Check(owner, 0)), now)
	}
	n.unkept = exceeded
}

// count adds what a transaction changes to what the owner has stored.
func (n *draft) count(tx *store.Tx) {
	change := n.size - n.task.size
	if n.remove {
		change = -n.task.size
	}
	n.task.users.quota.Add(tx, n.task.owner.ID, quota.Logs, change)
}
