package workspace

import (
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// mostOfUser limits the objects of one kind of a user, because all of them are in the master's
// memory.
const mostOfUser = 10_000

// CheckCount returns ResourceExhausted if a user already has the maximum number of objects of a
// kind.
func CheckCount(by *apiv1.User, have int, kind string) error {
	if have < mostOfUser {
		return nil
	}
	return status.New(status.ResourceExhausted, "user %s has %d %s, and a user has at most %d; delete some that are no longer needed", by.GetUsername(), have, kind, mostOfUser)
}
