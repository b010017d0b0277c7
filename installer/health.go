package installer

import "github.com/det-deploy/det-deploy/installer/plan"

// Health is how a cluster is, and what is not as it should be.
type Health struct {
	// State is running, degraded when something is not as it should be, or absent when
	// only what was kept is there.
	State State
	// Wrong lists what is not as it should be, a sentence each.
	Wrong []string
	// Try is what to do about the first of it.
	Try string
}

// Add notes something that is not as it should be, and what to do about it.
func (h *Health) Add(text, try string) {
	h.Wrong = append(h.Wrong, text)
	if h.Try == "" {
		h.Try = try
	}
	if h.State == Running {
		h.State = Degraded
	}
}

// AddSteps notes what up would change, or would refuse to.
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
