package api

import (
	"context"
	"errors"
	"fmt"
	"path"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
)

// operationDone is the status of a completed operation, successful or not.
const operationDone = "DONE"

// Operation is a Compute Engine operation. The call that starts it succeeds at once; errors such as
// missing capacity or quota are in the operation when it is done.
type Operation struct {
	clients Clients
	call    *call
	last    *compute.Operation
}

// Start makes a call that starts an operation, for a caller that waits for it later.
func Start[C request[C, *compute.Operation]](ctx context.Context, c Clients, r C) (*Operation, error) {
	ctx, out := withOutcome(ctx)
	op, err := r.Context(ctx).Do()
	if err != nil {
		return nil, out.errorOf(err)
	}
	return &Operation{clients: c, call: out.call, last: op}, nil
}

// Begin makes a call that starts an operation and does not wait for it.
func Begin[C request[C, *compute.Operation]](ctx context.Context, c Clients, r C) error {
	o, err := Start(ctx, c, r)
	if err != nil {
		return err
	}
	return o.Err()
}

// Run makes a call that starts an operation and waits for it.
func Run[C request[C, *compute.Operation]](ctx context.Context, c Clients, r C) error {
	o, err := Start(ctx, c, r)
	if err != nil {
		return err
	}
	return o.Wait(ctx)
}

// Wait waits until the operation is done and returns its error. If the outcome cannot be
// determined, it returns an Ambiguous error: as after any lost response, the caller checks whether
// the object exists.
func (o *Operation) Wait(ctx context.Context) error {
	for o.last.Status != operationDone {
		next, err := waitFor(ctx, o.clients, o.last)
		if err != nil {
			return o.outcomeUnknown(err)
		}
		o.last = next
	}
	return o.Err()
}

// waitFor returns an operation once it is done, or its current state after two minutes. Operations
// are zonal, regional or global.
func waitFor(ctx context.Context, c Clients, op *compute.Operation) (*compute.Operation, error) {
	switch {
	case op.Zone != "":
		return Do(ctx, c.Compute.ZoneOperations.Wait(c.Project, path.Base(op.Zone), op.Name))
	case op.Region != "":
		return Do(ctx, c.Compute.RegionOperations.Wait(c.Project, path.Base(op.Region), op.Name))
	}
	return Do(ctx, c.Compute.GlobalOperations.Wait(c.Project, op.Name))
}

// outcomeUnknown returns the error for an operation whose outcome cannot be determined: it no
// longer exists, the caller gave up, or Google does not respond.
func (o *Operation) outcomeUnknown(err error) error {
	e := &cloud.Error{Kind: cloud.Ambiguous, Op: o.call.Op, Err: fmt.Errorf("wait for operation %s: %w", o.last.Name, err)}
	if cause, ok := errors.AsType[*cloud.Error](err); ok {
		e.Fix = cause.Fix
	}
	return e
}

// Err returns the error of the operation as of its last known state.
func (o *Operation) Err() error {
	if o.last.Error == nil || len(o.last.Error.Errors) == 0 {
		return nil
	}
	a, f := operationAnswer(o.call.table.Rules, o.last)
	return o.call.refuse(a, f)
}

func operationAnswer(rules edge.Rules, op *compute.Operation) (edge.Answer, facts) {
	var all []reason
	var text string
	f := make(facts)
	for i, e := range op.Error.Errors {
		if i == 0 {
			text = e.Message
		}
		all = append(all, reason{e.Code, e.Message})
		for _, d := range e.ErrorDetails {
			if d.ErrorInfo != nil {
				all = append(all, reason{d.ErrorInfo.Reason, e.Message})
				f.addMetadata(d.ErrorInfo.Metadatas)
			}
			if q := d.QuotaInfo; q != nil {
				f.addQuota(quotaDetail{MetricName: q.MetricName, LimitName: q.LimitName, Limit: q.Limit, Dimensions: q.Dimensions})
			}
		}
	}
	chosen := chooseReason(rules, all, text)
	return edge.Answer{Code: chosen.code, Message: trimMessage(chosen.message), Status: int(op.HttpErrorStatusCode), Err: &operationFailure{op.Name}}, f
}

// operationFailure is the cause of an operation's error.
type operationFailure struct{ name string }

func (e *operationFailure) Error() string { return "operation " + e.name + " failed" }
