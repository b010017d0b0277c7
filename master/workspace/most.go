package workspace

import (
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// mostOfUser bounds the objects of one kind that a user has: all of them are in the master's memory.
const mostOfUser = 10_000

// CheckCount refuses one more object of a kind of a user who has so many. The error has the code ResourceExhausted.
func CheckCount(by *apiv1.User, have int, kind string) error {
	if have < mostOfUser {
		return nil
	}
	return status.New(status.ResourceExhausted, "user %s has %d %s, and a user has at most %d; delete some that are no longer needed", by.GetUsername(), have, kind, mostOfUser)
}
