package container

import (
	"regexp"

	"github.com/det-deploy/det-deploy/internal/document"
)

// LogPolicy is an action for log lines that match a pattern.
type LogPolicy struct {
	Name    string       `yaml:"name" doc:"Shown on the task when it matches"`
	Pattern string       `yaml:"pattern" doc:"Regular expression"`
	Action  PolicyAction `yaml:"action" doc:"cancel_retries or exclude_node; absent to only show the name"`
}

// PolicyAction is cancel_retries or exclude_node. Older files use {type: …}.
type PolicyAction string

// UnmarshalDocument reads text or an object with a type.
func (a *PolicyAction) UnmarshalDocument(v document.Value) {
	if v.IsMapping() {
		var o struct {
			Type string `yaml:"type"`
		}
		if v.Decode(&o) {
			*a = PolicyAction(o.Type)
		}
		return
	}
	var s string
	if v.Decode(&s) {
		*a = PolicyAction(s)
	}
}

// DocumentShape implements document.Shaper.
func (PolicyAction) DocumentShape() string { return "text" }

// Validate checks the pattern and the action.
func (p LogPolicy) Validate(path string) document.Errors {
	e := document.OneOf(document.Join(path, "action"), string(p.Action), []string{"", "cancel_retries", "exclude_node"})
	_, err := regexp.Compile(p.Pattern)
	e.Check(err == nil, document.Join(path, "pattern"), "must be a regular expression: %v", err)
	e.Check(p.Name != "" || p.Pattern != "", path, "needs a name or a pattern")
	return e
}
