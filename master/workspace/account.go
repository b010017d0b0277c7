package workspace

import "github.com/det-deploy/det-deploy/master/config/security"

// Account is what a workspace says of the Unix account that tasks in it run as. What is nil
// is left to the user's own account.
type Account struct {
	UID   *int32  `json:"uid,omitempty"`
	GID   *int32  `json:"gid,omitempty"`
	User  *string `json:"user,omitempty"`
	Group *string `json:"group,omitempty"`
}

// Over is the account that a task runs as whose user has the account u.
func (a Account) Over(u security.AgentUser) security.AgentUser {
	if a.UID != nil {
		u.UID = int(*a.UID)
	}
	if a.GID != nil {
		u.GID = int(*a.GID)
	}
	if a.User != nil {
		u.User = *a.User
	}
	if a.Group != nil {
		u.Group = *a.Group
	}
	return u
}

// IsZero reports whether it says nothing.
func (a Account) IsZero() bool { return a == Account{} }

func (a Account) equal(b Account) bool {
	return sameValue(a.UID, b.UID) && sameValue(a.GID, b.GID) && sameValue(a.User, b.User) && sameValue(a.Group, b.Group)
}

func sameValue[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
