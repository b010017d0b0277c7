package metric

import (
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
)

var (
	// ErrInvalid is what an InvalidError is: a report that no master would store.
	ErrInvalid = errors.New("invalid metrics")
	// ErrConflict is what a ConflictError is: the step has another value already.
	ErrConflict = errors.New("different metrics for the same step")
	// ErrReplaced is what a ReplacedError is: a later run has taken the trial over.
	ErrReplaced = errors.New("metrics of a run that was replaced")
)

// ConflictError is returned for a name that has another value at the same step.
type ConflictError struct {
	Report     Report
	Name       string
	Have, Want any
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("trial %d, group %q, step %d: %s is stored as %s and cannot become %s; "+
		"report another value at another step or under another name",
		e.Report.Trial, e.Report.Group, e.Report.Steps, excerpt.Of(e.Name), show(e.Have), show(e.Want))
}

// Is makes every ConflictError an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// Unwrap is how it is answered.
func (e *ConflictError) Unwrap() error { return status.New(status.AlreadyExists, "%s", e.Error()) }

// ReplacedError is returned for what a later run has replaced.
type ReplacedError struct {
	Report Report
	By     int64 // the later run
	Base   int64 // the step that it continued from
}

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("trial %d, group %q, step %d: run %d was replaced by run %d, which continued from step %d; "+
		"what it reports beyond that is not kept", e.Report.Trial, e.Report.Group, e.Report.Steps, e.Report.Run, e.By, e.Base)
}

// Is makes every ReplacedError an ErrReplaced.
func (e *ReplacedError) Is(target error) bool { return target == ErrReplaced }

// Unwrap is how it is answered.
func (e *ReplacedError) Unwrap() error { return status.New(status.FailedPrecondition, "%s", e.Error()) }

// InvalidError is returned for a report that breaks the rules, all of them at once.
type InvalidError struct {
	Report Report
	Err    error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("metrics of trial %d, group %q, step %d: %v", e.Report.Trial, excerpt.Of(e.Report.Group), e.Report.Steps, e.Err)
}

// Is makes every InvalidError an ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// Unwrap is how it is answered.
func (e *InvalidError) Unwrap() error { return status.New(status.InvalidArgument, "%s", e.Error()) }
