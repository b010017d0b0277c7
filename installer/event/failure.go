package event

import "github.com/det-deploy/det-deploy/cloud"

// Fail returns e as a failed event with the text, kind and first hint of err.
func (e Event) Fail(err error) Event {
	e.Type = Failed
	e.Error = err.Error()
	if k := cloud.KindOf(err); k != cloud.Unknown {
		e.Kind = string(k)
	}
	e.Hint = Hint(err)
	return e
}

// Hint returns the first non-empty hint in err's tree.
func Hint(err error) string {
	switch x := err.(type) { //nolint:errorlint // walks the tree itself: errors.As would stop at a hint that is empty
	case interface{ Hint() string }:
		if h := x.Hint(); h != "" {
			return h
		}
	}
	switch x := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		return Hint(x.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			if h := Hint(e); h != "" {
				return h
			}
		}
	}
	return ""
}
