package resource

// Described is implemented by resources with details for the plan: a machine's type, a disk's size,
// the ports of a firewall rule.
type Described interface {
	// Describe returns the details of the object that Create would create, one phrase each, in a
	// stable order. It is called after Find, makes no API calls, and returns no secrets.
	Describe() []string
}

// Adviser is implemented by resources that can suggest a remedy for drift that a plan rejects.
type Adviser interface {
	// Advise returns the advice for drift that cannot be corrected, or "".
	Advise(drift []Drift) string
}

// Noted is implemented by resources that may be kept although they differ from what was requested.
type Noted interface {
	// Note returns how the kept object differs, or "". It is called after Find.
	Note() string
}
