// Package infra is what the resources of every cloud have in common: they point at
// each other, are found by a mark or by their name, wait for what the platform has
// not finished, and are listed side by side. It names no platform.
package infra

// Ref is something that a resource points at: another resource, or something that
// existed before.
type Ref interface {
	// ID is the resource that has to be there first, or empty when nothing has.
	ID() string
	// Identity is what the platform calls it ("subnet-0ab1"), or empty while that is
	// not known.
	Identity() string
}

// Existing is the identity of something of the user's: "vpc-0ab1". It is never
// changed and never removed.
type Existing string

// ID is empty: nothing has to be made first.
func (Existing) ID() string { return "" }

// Identity is what the user said.
func (e Existing) Identity() string { return string(e) }

// Learned is the only part of a resource that changes: its identity, known once it
// was found or made.
type Learned struct{ identity string }

// Identity is what the platform calls it, or empty while that is not known.
func (l *Learned) Identity() string { return l.identity }

// Learn notes the identity.
func (l *Learned) Learn(identity string) { l.identity = identity }

// NeedsOf lists the resources among refs, without what existed before and without
// what is not set.
func NeedsOf(refs ...Ref) []string {
	var out []string
	for _, r := range refs {
		if r != nil && r.ID() != "" {
			out = append(out, r.ID())
		}
	}
	return out
}

// NameOf is how drift shows something that may not be there yet.
func NameOf(r Ref) string {
	if id := r.Identity(); id != "" {
		return id
	}
	return r.ID()
}
