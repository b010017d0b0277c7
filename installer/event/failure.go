package event

import "github.com/det-deploy/det-deploy/cloud"

// Fail returns e as the failure err, with its kind and the first hint in it.
func (e Event) Fail(err error) Event {
	e.Type = Failed
	e.Error = err.Error()
	if k := cloud.KindOf(err); k != cloud.Unknown {
		e.Kind = string(k)
	}
	e.Hint = Hint(err)
	return e
}

// Hint returns the first hint in err's tree that says something.
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
