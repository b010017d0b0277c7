package cloud

import "errors"

// Error is a refusal by a platform. It reads as a path,
// "ec2:RunInstances aws/instance/master: You have requested more …".
type Error struct {
	// Kind is what callers branch on.
	Kind Kind
	// Op is the call in the platform's own words: "ec2:RunInstances".
	Op string
	// Resource is the object it was about, in ours: "aws/instance/master".
	Resource string
	// Fix is what the user can do, naming an existing command or flag. It is
	// empty where nothing helps but waiting.
	Fix string
	// Err is the platform's own answer.
	Err error
}

// Error joins operation, resource and cause, leaving out what is not known.
func (e *Error) Error() string {
	s := e.Op
	if e.Resource != "" {
		if s != "" {
			s += " "
		}
		s += e.Resource
	}
	if e.Err == nil {
		return joinPath(s, string(e.Kind))
	}
	return joinPath(s, e.Err.Error())
}

// Unwrap gives the platform's own answer to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Hint is what to do next; the program prints the first hint of an error once.
func (e *Error) Hint() string { return e.Fix }

// KindOf returns the kind of the first refusal in err's tree, and Unknown when
// there is none. The kind of a nil error is empty.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Kind != "" {
		return e.Kind
	}
	return Unknown
}

func joinPath(path, cause string) string {
	if path == "" {
		return cause
	}
	return path + ": " + cause
}
