package config

// truth is a flag that reads as one that is true or false, and keeps what was
// typed: whether that is either is for the document's decoder to say, in the same
// words as for a file.
type truth string

// String is what was typed, or empty.
func (t *truth) String() string { return string(*t) }

// Set keeps s.
func (t *truth) Set(s string) error { *t = truth(s); return nil }

// Type makes the help show the flag without a value.
func (t *truth) Type() string { return "bool" }
