// Package edge is the part of a platform's edge that names no platform: which
// calls are made, what they need, and which kind of refusal an answer is. A
// platform keeps its tables, and turns its SDK's errors into Answers.
package edge

import (
	"slices"
	"strings"
)

// Call is one call of a platform that det-deploy makes.
type Call struct {
	// Op is the call in the platform's words: "s3:HeadBucket".
	Op string
	// Changes is true when it may change something on the platform.
	Changes bool
	// Permissions is what the caller must be allowed. It is not always the call's
	// own name: s3:HeadBucket needs s3:ListBucket. It has whatever our use of the
	// call needs, such as handing an identity on to a machine. It is empty where
	// the platform asks for nothing.
	Permissions []string
}

// Reads is a call that changes nothing. It needs the permission of its own name
// unless others are given.
func Reads(op string, permissions ...string) Call {
	return Call{Op: op, Permissions: permissionsOf(op, permissions)}
}

// Writes is a call that may change something.
func Writes(op string, permissions ...string) Call {
	return Call{Op: op, Changes: true, Permissions: permissionsOf(op, permissions)}
}

func permissionsOf(op string, permissions []string) []string {
	if len(permissions) == 0 {
		return []string{op}
	}
	return permissions
}

// Calls is every call that one platform's part makes.
type Calls []Call

// Find returns the row of a call.
func (c Calls) Find(op string) (Call, bool) {
	i := slices.IndexFunc(c, func(c Call) bool { return c.Op == op })
	if i < 0 {
		return Call{}, false
	}
	return c[i], true
}

// Index is the rows by their call.
func (c Calls) Index() map[string]Call {
	out := make(map[string]Call, len(c))
	for _, call := range c {
		out[call.Op] = call
	}
	return out
}

// describePermissions lists what a call needs, for a person who may grant it.
func (c Calls) describePermissions(op string) string {
	call, ok := c.Find(op)
	if !ok || len(call.Permissions) == 0 {
		return op
	}
	return strings.Join(call.Permissions, ", ")
}
