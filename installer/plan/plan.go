// Package plan says what would have to be done so that what exists becomes what
// is wanted. It looks and judges; it changes nothing, and a dry run is a plan
// that is not applied.
package plan

import (
	"errors"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Verb says what is to be done about one object.
type Verb string

// The verbs.
const (
	// Create makes what is wanted and not there.
	Create Verb = "create"
	// Update changes a live object in place.
	Update Verb = "update"
	// Replace deletes a live object and makes it again.
	Replace Verb = "replace"
	// Keep leaves a live object as it is.
	Keep Verb = "keep"
	// Delete removes a live object that is not wanted.
	Delete Verb = "delete"
	// Refuse says that the object is not as wanted and that it would be wrong
	// to change it. A plan with a refusal is not applied.
	Refuse Verb = "refuse"
)

// Changes reports whether the verb changes something.
func (v Verb) Changes() bool {
	switch v {
	case Create, Update, Replace, Delete:
		return true
	case Keep, Refuse:
		return false
	}
	panic("plan: unknown verb " + string(v))
}

// Step is what is to be done about one object, and why.
type Step struct {
	Verb Verb `json:"verb"`
	// ID is the resource's, or kind/identity of an object that is not wanted.
	ID string `json:"id"`
	// Reason is a phrase for people: "does not exist".
	Reason string `json:"reason"`
	// Makes says what is created, a phrase each: "m6i.large", "100 GB gp3".
	Makes []string `json:"makes,omitempty"`
	// Try is what to do about a refusal; it may be empty.
	Try string `json:"try,omitempty"`
	// Diff lists the attributes that are not as wanted.
	Diff []resource.Drift `json:"diff,omitempty"`
	// Needs lists the steps that must be done before this one.
	Needs []string `json:"needs,omitempty"`
	// Found is the live object; it is zero when there is none.
	Found resource.Found `json:"found,omitzero"`
	// Resource is what is wanted; it is nil when nothing is.
	Resource resource.Resource `json:"-"`
}

// Plan is a list of steps in an order in which they can be done one by one.
type Plan struct {
	// Cluster is the id of the cluster the plan is for.
	Cluster string
	Steps   []Step
}

// Empty reports whether nothing is to be done.
func (p Plan) Empty() bool {
	return !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Verb.Changes() || s.Verb == Refuse })
}

// Count returns how many steps have verb v.
func (p Plan) Count(v Verb) int {
	n := 0
	for _, s := range p.Steps {
		if s.Verb == v {
			n++
		}
	}
	return n
}

// Refusal is nil, or the error of a plan that is not applied because it refuses
// something.
func (p Plan) Refusal() error {
	if p.Count(Refuse) == 0 {
		return nil
	}
	e := &RefusedError{}
	for _, s := range p.Steps {
		if s.Verb == Refuse && s.Try != "" && !slices.Contains(e.Try, s.Try) {
			e.Try = append(e.Try, s.Try)
		}
	}
	return e
}

// ErrRefused is a plan that says that something must not be changed.
var ErrRefused = errors.New("the plan refuses to change what differs")

// RefusedError is ErrRefused with what to do instead.
type RefusedError struct{ Try []string }

func (*RefusedError) Error() string { return ErrRefused.Error() }
func (*RefusedError) Unwrap() error { return ErrRefused }

// Hint is what to do instead; it may be empty.
func (e *RefusedError) Hint() string { return strings.Join(e.Try, "; ") }

// Same reports whether q does the same to the same objects for the same
// reasons. Under the lock, an operation continues only with the plan that was
// confirmed.
func (p Plan) Same(q Plan) bool {
	return p.Cluster == q.Cluster && slices.EqualFunc(p.Steps, q.Steps, func(a, b Step) bool {
		return a.Verb == b.Verb && a.ID == b.ID && a.Reason == b.Reason && a.Found == b.Found &&
			slices.Equal(a.Diff, b.Diff) && slices.Equal(a.Needs, b.Needs)
	})
}
