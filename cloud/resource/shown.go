package resource

// Described is implemented by resources whose name says too little of what a plan is
// about to make: a machine's type, a disk's size, what a firewall opens.
type Described interface {
	// Describe says what Create would make, a phrase each, in a stable order. It is
	// asked after Find, does not look at the platform, and shows no secret.
	Describe() []string
}

// Adviser is implemented by resources that know what a user may say instead of what a
// plan refuses.
type Adviser interface {
	// Advise says what to do about drift that is not closed, or nothing.
	Advise(drift []Drift) string
}
