package cloud

import "errors"

// Error is an error returned by a platform. It formats as a path, "ec2:RunInstances
// aws/instance/master: You have requested more …".
type Error struct {
	// Kind is the class of the error, which callers branch on.
	Kind Kind
	// Op is the API call in the platform's notation: "ec2:RunInstances".
	Op string
	// Resource is the affected object in det-deploy's notation: "aws/instance/master".
	Resource string
	// Fix is the advice for the user, naming an existing command or flag. It is empty if waiting is
	// the only remedy.
	Fix string
	// Err is the platform's error.
	Err error
}

// Error joins operation, resource and cause, omitting empty parts.
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

// Unwrap returns the platform's error.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns the next step for the user. The program prints the first hint of an error, once.
func (e *Error) Hint() string { return e.Fix }

// KindOf returns the kind of the first Error in err's tree, or Unknown if there is none. It returns
// an empty kind for a nil error.
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
