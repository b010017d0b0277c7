package workspace

import "github.com/det-deploy/det-deploy/master/config/security"

// Account overrides the Unix account that tasks in a workspace run as. Fields that are nil are taken
// from the user's account.
type Account struct {
	UID   *int32  `json:"uid,omitempty"`
	GID   *int32  `json:"gid,omitempty"`
	User  *string `json:"user,omitempty"`
	Group *string `json:"group,omitempty"`
}

// Over returns the account of a task whose user has the account u.
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

// IsZero reports whether all fields are nil.
func (a Account) IsZero() bool { return a == Account{} }

func (a Account) equal(b Account) bool {
	return sameValue(a.UID, b.UID) && sameValue(a.GID, b.GID) && sameValue(a.User, b.User) && sameValue(a.Group, b.Group)
}

func sameValue[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
