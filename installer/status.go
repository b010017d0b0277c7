package installer

import (
	"context"
	"slices"

	"github.com/det-deploy/det-deploy/installer/plan"
)

// State is how a cluster is, seen from outside.
//
//	Absent ──up──▶ Running ◀──up──▶ Degraded
//	   ▲              │                │
//	   └─────down─────┴────────────────┘
type State string

// The states.
const (
	// Absent means that nothing of it exists but what was kept on purpose.
	Absent State = "absent"
	// Running means that everything is as it should be.
	Running State = "running"
	// Degraded means that something is missing or differs; `up` closes it.
	Degraded State = "degraded"
)

// Status looks at everything and changes nothing. The plan says what `up` would
// do about it.
func (in *Installer) Status(ctx context.Context) (State, plan.Plan, error) {
	p, err := in.Plan(ctx)
	if err != nil {
		return "", plan.Plan{}, err
	}
	return StateOf(p), p, nil
}

// StateOf is the state of a cluster by what up would do. What was kept on purpose does not make a cluster exist, nor does
// what it shares with others.
func StateOf(p plan.Plan) State {
	exists := slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Found.Exists() && s.Found.Retain == "" && !s.Found.Shared })
	switch {
	case !exists:
		return Absent
	case p.Empty():
		return Running
	}
	return Degraded
}
