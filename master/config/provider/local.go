package provider

import (
	"github.com/det-deploy/det-deploy/internal/document"
)

// Local launches agents as processes on the master's machine.
type Local struct {
	Elastic         `yaml:",inline"`
	ArtificialSlots int               `yaml:"artificial_slots" doc:"Slots of each agent"`
	StartDelay      document.Duration `yaml:"start_delay" doc:"Delay before an agent starts, to simulate a booting machine"`
	FailureRate     float64           `yaml:"failure_rate" doc:"Share of launches that fail, 0 to 1, for testing"`
}

// SetDefaults sets p to the defaults.
func (p *Local) SetDefaults() {
	*p = Local{Elastic: DefaultElastic(), ArtificialSlots: 1}
}

// Validate checks the numbers.
func (p Local) Validate(path string) document.Errors {
	var e document.Errors
	e.Check(p.Proxy == Proxy{}, document.Join(path, "proxy"), "has no effect on processes of the master's own machine; set it in the environment of the master")
	e.Check(p.ArtificialSlots >= 0, document.Join(path, "artificial_slots"), "must be at least 0 (is %d)", p.ArtificialSlots)
	e.Check(p.StartDelay >= 0, document.Join(path, "start_delay"), "must be at least 0 (is %v)", p.StartDelay)
	e.Check(p.FailureRate >= 0 && p.FailureRate <= 1, document.Join(path, "failure_rate"), "must be between 0 and 1 (is %v)", p.FailureRate)
	return e
}
