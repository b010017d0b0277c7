package cloudtest

// Act makes a changing call whose effect is f, for what a test adds to a world: it
// counts and fails among the others.
func (w *World) Act(op string, f func() error) error { return w.change(op, f) }
