package api

import (
	"context"
	"errors"
	"fmt"
	"path"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
)

// waitFunc returns an operation of Compute Engine's once it has ended, or after a while
// as it is. It may be repeated.
type waitFunc func(ctx context.Context, op *compute.Operation) (*compute.Operation, error)

// operationDone is the state of an operation that has ended, well or not.
const operationDone = "DONE"

// operate makes a call that begins an operation, and waits for its end. What the
// operation was refused is the refusal of the call.
func operate(ctx context.Context, c *call, do func(...googleapi.CallOption) (*compute.Operation, error)) error {
	op, err := send(ctx, c, do)
	if err != nil {
		return err
	}
	return c.awaitOperation(ctx, op)
}

// startOperation makes a call that begins an operation, and does not wait for its end.
func startOperation(ctx context.Context, c *call, do func(...googleapi.CallOption) (*compute.Operation, error)) error {
	op, err := send(ctx, c, do)
	if err != nil {
		return err
	}
	return c.operationError(op)
}

// awaitOperation waits until an operation has ended. A caller that cannot be told how it
// ended looks whether the object exists, as after any reply that was lost.
func (c *call) awaitOperation(ctx context.Context, op *compute.Operation) error {
	for op.Status != operationDone {
		next, err := c.wait(ctx, op)
		if err != nil {
			return c.outcomeUnknown(op, err)
		}
		op = next
	}
	return c.operationError(op)
}

// outcomeUnknown is an operation that was begun, and whose end cannot be seen: it was
// forgotten, the caller gave up, or Google does not answer.
func (c *call) outcomeUnknown(op *compute.Operation, err error) error {
	e := &cloud.Error{Kind: cloud.Ambiguous, Op: c.op, Err: fmt.Errorf("wait for operation %s: %w", op.Name, err)}
	if cause, ok := errors.AsType[*cloud.Error](err); ok {
		e.Fix = cause.Fix
	}
	return e
}

// operationError is what an operation that has ended was refused, in our words.
func (c *call) operationError(op *compute.Operation) error {
	if op.Error == nil || len(op.Error.Errors) == 0 {
		return nil
	}
	a, f := operationAnswer(c.table.Rules, op)
	return c.refuse(a, f)
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

// operationFailure is what stands behind a refusal of an operation.
type operationFailure struct{ name string }

func (e *operationFailure) Error() string { return "operation " + e.name + " failed" }

// waitOperation waits for an operation where it runs: in a zone, in a region, or
// everywhere.
func (g *gateway) waitOperation(s *compute.Service) waitFunc {
	zones, regions, global := s.ZoneOperations, s.RegionOperations, s.GlobalOperations
	return func(ctx context.Context, op *compute.Operation) (*compute.Operation, error) {
		switch {
		case op.Zone != "":
			ctx, c := g.begin(ctx, "compute.zoneOperations.wait")
			return send(ctx, c, zones.Wait(g.project, path.Base(op.Zone), op.Name).Context(ctx).Do)
		case op.Region != "":
			ctx, c := g.begin(ctx, "compute.regionOperations.wait")
			return send(ctx, c, regions.Wait(g.project, path.Base(op.Region), op.Name).Context(ctx).Do)
		}
		ctx, c := g.begin(ctx, "compute.globalOperations.wait")
		return send(ctx, c, global.Wait(g.project, op.Name).Context(ctx).Do)
	}
}

func operationCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("compute.zoneOperations.wait", "compute.zoneOperations.get"),
		edge.Reads("compute.regionOperations.wait", "compute.regionOperations.get"),
		edge.Reads("compute.globalOperations.wait", "compute.globalOperations.get"),
	}
}
