package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"google.golang.org/api/googleapi"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// gateway is what every call goes through:
//
//	caller ─▶ send: log, translate, try again ─▶ gate ─▶ SDK ─▶ transport: credentials, attempt
//
// The SDK tries nothing again by itself. Calls are held as functions and never as the
// SDK's services: a service in an interface makes the linker keep all its calls.
type gateway struct {
	project, region string
	gate            *resource.Gate
	log             *slog.Logger
	calls           map[string]edge.Call
	table           edge.Table
	// wait returns an operation once it has ended, or after a while.
	wait waitFunc
}

// attempts is how often a call is made that had no effect.
const attempts = 3

// firstPause is how long a refused call waits before it is made again; each further
// time is twice as long. Google takes one write a second to an object.
const firstPause = time.Second

// call is one call, from its first attempt to its last.
type call struct {
	*gateway

	op string
	// id is the same for all attempts.
	id      string
	attempt int
	// repeatable is true when Google knows by the id that it has done the call already.
	repeatable bool
}

// callKey is where the transport finds the call that a request belongs to.
type callKey struct{}

// begin begins a call.
func (g *gateway) begin(ctx context.Context, op string) (context.Context, *call) {
	c := &call{gateway: g, op: op, id: uuid.NewString()}
	return context.WithValue(ctx, callKey{}, c), c
}

// beginRepeatable begins a call that takes its id as the requestId.
func (g *gateway) beginRepeatable(ctx context.Context, op string) (context.Context, *call) {
	ctx, c := g.begin(ctx, op)
	c.repeatable = true
	return ctx, c
}

// changes reports whether the call may change something. One that is in no table is
// taken to.
func (c *call) changes() bool {
	row, found := c.calls[c.op]
	return !found || row.Changes
}

// send makes a call, again where the first had no effect.
func send[T any](ctx context.Context, c *call, do func(...googleapi.CallOption) (T, error)) (T, error) {
	began := time.Now()
	for {
		out, err := sendOnce(ctx, c, do)
		if !c.isWorthAnother(ctx, err) {
			c.traceCall(ctx, time.Since(began), err)
			return out, err
		}
		if stopped := wait.ForWanted(ctx, firstPause<<(c.attempt-1)); stopped != nil {
			return out, errors.Join(err, stopped)
		}
	}
}

// sendOnce is one attempt. The gate is asked each time, because a lease may be lost
// while an earlier attempt waits for its turn.
func sendOnce[T any](ctx context.Context, c *call, do func(...googleapi.CallOption) (T, error)) (out T, err error) {
	if err := ctx.Err(); err != nil {
		return out, fmt.Errorf("%s: %w", c.op, err)
	}
	if c.changes() && c.gate != nil {
		if err := c.gate.Pass(ctx, c.op); err != nil {
			return out, err
		}
	}
	c.attempt++
	out, err = do()
	return out, c.translateError(err)
}

// isWorthAnother reports whether the call may succeed when it is made again, and is
// known not to have its effect twice.
func (c *call) isWorthAnother(ctx context.Context, err error) bool {
	kind := cloud.KindOf(err)
	if c.attempt >= attempts || ctx.Err() != nil {
		return false
	}
	return kind.Transient() || kind == cloud.Ambiguous && c.repeatable
}

func (c *call) traceCall(ctx context.Context, took time.Duration, err error) {
	refusal := ""
	if err != nil {
		refusal = edge.CodeOf(err)
	}
	c.log.DebugContext(ctx, "gcp call", "call", c.op, "took", took, "attempts", c.attempt, "refusal", refusal)
}

// done is the result of a call that returns nothing of interest.
func done[T any](_ T, err error) error { return err }

// readPages reads a list to its end. Each page is a call of its own.
func readPages[T any](page func(token string) (items []T, next string, err error)) ([]T, error) {
	var out []T
	for token := ""; ; {
		items, next, err := page(token)
		if err != nil {
			return nil, err
		}
		out = append(out, items...)
		if token = next; token == "" {
			return out, nil
		}
	}
}
