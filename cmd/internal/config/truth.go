package config

// truth is the value of a boolean flag. It keeps the text unparsed, so that the document's decoder reports
// an invalid value in the same way as for a file.
type truth string

// String returns the text, or "" if the flag is not set.
func (t *truth) String() string { return string(*t) }

// Set stores s.
func (t *truth) Set(s string) error { *t = truth(s); return nil }

// Type returns "bool", so that the help shows the flag without a value.
func (t *truth) Type() string { return "bool" }
