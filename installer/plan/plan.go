// Package plan computes the steps that change the current state of a cluster to the requested one.
// It only reads; package apply executes the steps.
package plan

import (
	"errors"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Verb is the action of a step.
type Verb string

// The verbs.
const (
	// Create creates a missing object.
	Create Verb = "create"
	// Update changes a live object in place.
	Update Verb = "update"
	// Replace deletes a live object and creates it again.
	Replace Verb = "replace"
	// Keep leaves a live object unchanged.
	Keep Verb = "keep"
	// Delete deletes an unwanted live object.
	Delete Verb = "delete"
	// Refuse reports an object that differs but must not be changed. A plan with a refusal is not
	// applied.
	Refuse Verb = "refuse"
)

// Changes reports whether the verb changes an object.
func (v Verb) Changes() bool {
	switch v {
	case Create, Update, Replace, Delete:
		return true
	case Keep, Refuse:
		return false
	}
	panic("plan: unknown verb " + string(v))
}

// Step is the action for one object, and its reason.
type Step struct {
	Verb Verb `json:"verb"`
	// ID is the resource's, or kind/identity for an unwanted object.
	ID string `json:"id"`
	// Reason is a phrase for display, such as "does not exist".
	Reason string `json:"reason"`
	// Makes describes a new object, such as "m6i.large", "100 GB gp3".
	Makes []string `json:"makes,omitempty"`
	// Try is the remedy for a refusal; it may be empty.
	Try string `json:"try,omitempty"`
	// Diff lists the attributes that differ.
	Diff []resource.Drift `json:"diff,omitempty"`
	// Needs lists the steps that must be done before this one.
	Needs []string `json:"needs,omitempty"`
	// Found is the live object; it is zero if the object does not exist.
	Found resource.Found `json:"found,omitzero"`
	// Resource is the wanted resource; it is nil for an unwanted object.
	Resource resource.Resource `json:"-"`
}

// Plan is a list of steps in an order in which they can be executed one by one.
type Plan struct {
	// Cluster is the ID of the cluster.
	Cluster string
	Steps   []Step
}

// Empty reports whether the plan neither changes nor refuses anything.
func (p Plan) Empty() bool {
	return !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Verb.Changes() || s.Verb == Refuse })
}

// Count returns the number of steps with verb v.
func (p Plan) Count(v Verb) int {
	n := 0
	for _, s := range p.Steps {
		if s.Verb == v {
			n++
		}
	}
	return n
}

// Refusal returns an error if the plan refuses something, and nil otherwise.
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

// ErrRefused reports that the plan refuses a change.
var ErrRefused = errors.New("the plan contains a change that is refused")

// RefusedError is ErrRefused with the remedies.
type RefusedError struct{ Try []string }

func (*RefusedError) Error() string { return ErrRefused.Error() }
func (*RefusedError) Unwrap() error { return ErrRefused }

// Hint returns the remedies; it may be empty.
func (e *RefusedError) Hint() string { return strings.Join(e.Try, "; ") }

// Same reports whether q changes the same objects in the same way for the same reasons. Under the
// lock, an operation continues only with the plan that was confirmed.
func (p Plan) Same(q Plan) bool {
	return p.Cluster == q.Cluster && slices.EqualFunc(p.Steps, q.Steps, func(a, b Step) bool {
		return a.Verb == b.Verb && a.ID == b.ID && a.Reason == b.Reason && a.Found == b.Found &&
			slices.Equal(a.Diff, b.Diff) && slices.Equal(a.Needs, b.Needs)
	})
}
