package installer

import "github.com/det-deploy/det-deploy/installer/plan"

// Health is the condition of a cluster, with its problems.
type Health struct {
	// State is running, degraded if there are problems, or absent if only retained objects exist.
	State State
	// Wrong lists the problems, one sentence each.
	Wrong []string
	// Try is the remedy for the first problem that has one.
	Try string
}

// Add adds a problem and its remedy.
func (h *Health) Add(text, try string) {
	h.Wrong = append(h.Wrong, text)
	if h.Try == "" {
		h.Try = try
	}
	if h.State == Running {
		h.State = Degraded
	}
}

// AddSteps adds the changes that `up` would make or refuse.
func (h *Health) AddSteps(p plan.Plan, try string) {
	for _, s := range p.Steps {
		if !s.Verb.Changes() && s.Verb != plan.Refuse {
			continue
		}
		text := s.ID + " " + s.Reason
		for _, d := range s.Diff {
			text += "; " + d.Path + ": " + d.Have
		}
		h.Add(text, try)
	}
}
