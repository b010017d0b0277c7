// Package infra implements the common parts of all clouds' resources: references between resources,
// lookup by mark or name, waiting for asynchronous changes, and the inventory. It is independent of
// the platform.
package infra

// Ref is a reference to another resource or to an existing object.
type Ref interface {
	// ID returns the ID of the resource that must exist first, or "" for an existing object.
	ID() string
	// Identity returns the platform's ID ("subnet-0ab1"), or "" if it is not known yet.
	Identity() string
}

// Existing is the platform's ID of an object of the user: "vpc-0ab1". It is never changed or
// deleted.
type Existing string

// ID returns "", because nothing must be created first.
func (Existing) ID() string { return "" }

// Identity returns the ID given by the user.
func (e Existing) Identity() string { return string(e) }

// Learned stores the identity of a resource once it was found or created. It is the only mutable
// part of a resource.
type Learned struct{ identity string }

// Identity returns the platform's ID of the object, or "" if it is not known yet.
func (l *Learned) Identity() string { return l.identity }

// Learn stores the identity.
func (l *Learned) Learn(identity string) { l.identity = identity }

// NeedsOf returns the resource IDs of refs. It skips existing objects and nil.
func NeedsOf(refs ...Ref) []string {
	var out []string
	for _, r := range refs {
		if r != nil && r.ID() != "" {
			out = append(out, r.ID())
		}
	}
	return out
}

// NameOf returns the name of a reference for drift: its identity, or its resource ID if it does not
// exist yet.
func NameOf(r Ref) string {
	if id := r.Identity(); id != "" {
		return id
	}
	return r.ID()
}
