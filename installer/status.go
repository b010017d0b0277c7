package installer

import (
	"context"
	"slices"

	"github.com/det-deploy/det-deploy/installer/plan"
)

// State is the overall state of a cluster.
//
//	Absent ──up──▶ Running ◀──up──▶ Degraded
//	   ▲              │                │
//	   └─────down─────┴────────────────┘
type State string

// The states.
const (
	// Absent means that only retained objects exist.
	Absent State = "absent"
	// Running means that nothing is missing or differs.
	Running State = "running"
	// Degraded means that something is missing or differs; `up` repairs it.
	Degraded State = "degraded"
)

// Status returns the state of the cluster and the plan of `up`. It changes nothing.
func (in *Installer) Status(ctx context.Context) (State, plan.Plan, error) {
	p, err := in.Plan(ctx)
	if err != nil {
		return "", plan.Plan{}, err
	}
	return StateOf(p), p, nil
}

// StateOf derives the state of a cluster from the plan of `up`. Retained objects, and those shared
// with other clusters, do not make a cluster exist.
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
