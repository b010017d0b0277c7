package metric

import (
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
)

var (
	// ErrInvalid matches an InvalidError: the report is invalid in any state of the store.
	ErrInvalid = errors.New("invalid metrics")
	// ErrConflict matches a ConflictError: the step already has a different value.
	ErrConflict = errors.New("different metrics for the same step")
	// ErrReplaced matches a ReplacedError: a later run has replaced the run.
	ErrReplaced = errors.New("metrics of a run that was replaced")
)

// ConflictError reports a name that has a different value at the same step.
type ConflictError struct {
	Report     Report
	Name       string
	Have, Want any
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("trial %d, group %q, step %d: %s has the value %s, which cannot be changed to %s; "+
		"report a different value at another step or under another name",
		e.Report.Trial, e.Report.Group, e.Report.Steps, excerpt.Of(e.Name), show(e.Have), show(e.Want))
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// Unwrap returns the error for the client.
func (e *ConflictError) Unwrap() error { return status.New(status.AlreadyExists, "%s", e.Error()) }

// ReplacedError reports metrics that a later run has replaced.
type ReplacedError struct {
	Report Report
	By     int64 // the later run
	Base   int64 // the step from which it continued
}

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("trial %d, group %q, step %d: run %d was replaced by run %d, which continued from step %d; "+
		"its reports beyond that step are discarded", e.Report.Trial, e.Report.Group, e.Report.Steps, e.Report.Run, e.By, e.Base)
}

// Is reports whether target is ErrReplaced.
func (e *ReplacedError) Is(target error) bool { return target == ErrReplaced }

// Unwrap returns the error for the client.
func (e *ReplacedError) Unwrap() error { return status.New(status.FailedPrecondition, "%s", e.Error()) }

// InvalidError reports all errors of an invalid report.
type InvalidError struct {
	Report Report
	Err    error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("metrics of trial %d, group %q, step %d: %v", e.Report.Trial, excerpt.Of(e.Report.Group), e.Report.Steps, e.Err)
}

// Is reports whether target is ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// Unwrap returns the error for the client.
func (e *InvalidError) Unwrap() error { return status.New(status.InvalidArgument, "%s", e.Error()) }
