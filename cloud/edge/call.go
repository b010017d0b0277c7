// Package edge classifies the errors of a cloud platform. It is independent of the platform: it
// holds the types for tables of API calls, their required permissions and the meaning of error
// codes. Each platform provides its tables and converts the errors of its SDK to Answers.
package edge

import (
	"slices"
	"strings"
)

// Call describes an API call that det-deploy makes.
type Call struct {
	// Op is the name of the call in the platform's notation: "s3:HeadBucket".
	Op string
	// Changes reports whether the call may modify resources.
	Changes bool
	// Repeatable reports whether a modifying call may be repeated after a lost response, because a
	// second one has no further effect.
	Repeatable bool
	// Permissions lists the permissions that the call requires. They may differ from the name of
	// the call: s3:HeadBucket requires s3:ListBucket. They include the permissions for our use of
	// the call, such as passing a role to an instance. The list is empty if the platform requires
	// none.
	Permissions []string
}

// Reads returns a read-only call. It requires the permission of the same name unless others are
// given.
func Reads(op string, permissions ...string) Call {
	return Call{Op: op, Permissions: permissionsOf(op, permissions)}
}

// Writes returns a call that may modify resources. It requires the permission of the same name
// unless others are given.
func Writes(op string, permissions ...string) Call {
	return Call{Op: op, Changes: true, Permissions: permissionsOf(op, permissions)}
}

// Repeats returns a call like that of Writes that may be repeated after a lost response.
func Repeats(op string, permissions ...string) Call {
	c := Writes(op, permissions...)
	c.Repeatable = true
	return c
}

func permissionsOf(op string, permissions []string) []string {
	if len(permissions) == 0 {
		return []string{op}
	}
	return permissions
}

// Calls lists all API calls that det-deploy makes to a platform.
type Calls []Call

// Find returns the entry of a call.
func (c Calls) Find(op string) (Call, bool) {
	i := slices.IndexFunc(c, func(c Call) bool { return c.Op == op })
	if i < 0 {
		return Call{}, false
	}
	return c[i], true
}

// Index returns the entries by the name of their call.
func (c Calls) Index() map[string]Call {
	out := make(map[string]Call, len(c))
	for _, call := range c {
		out[call.Op] = call
	}
	return out
}

// describePermissions formats the permissions that a call requires, for the user who grants them.
func (c Calls) describePermissions(op string) string {
	call, ok := c.Find(op)
	if !ok || len(call.Permissions) == 0 {
		return op
	}
	return strings.Join(call.Permissions, ", ")
}
