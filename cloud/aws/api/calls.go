package api

import "slices"

// Call is one call of Amazon's that det-deploy makes.
type Call struct {
	// Op is the call: "s3:HeadBucket".
	Op string
	// Changes is true when it may change something on the platform.
	Changes bool
	// Actions is what the caller must be allowed, in the words of policies. It
	// is not always the call's own name: HeadBucket needs s3:ListBucket. It has
	// whatever our use of the call needs, such as iam:PassRole for machines
	// with a role. It is empty where Amazon asks for nothing.
	Actions []string
}

// Calls is every call of the interfaces of this package, checked by hand against
// Amazon's service authorization reference. A test holds both lists together.
func Calls() []Call {
	return slices.Concat(ec2Looks(), ec2Changes(), iamCalls(), s3Looks(), s3Changes(), secretsCalls(), logsCalls(), otherCalls())
}

// Find returns the row of a call.
func Find(op string) (Call, bool) {
	calls := Calls()
	i := slices.IndexFunc(calls, func(c Call) bool { return c.Op == op })
	if i < 0 {
		return Call{}, false
	}
	return calls[i], true
}

// looks is a call that changes nothing and needs the action of its own name,
// unless others are given.
func looks(op string, actions ...string) Call { return row(op, false, actions) }

// alters is a call that may change something.
func alters(op string, actions ...string) Call { return row(op, true, actions) }

func row(op string, changing bool, actions []string) Call {
	if len(actions) == 0 {
		actions = []string{op}
	}
	return Call{Op: op, Changes: changing, Actions: actions}
}
