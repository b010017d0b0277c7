package api

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// interceptor wraps the SDK's handling of a call:
//
//	caller ─▶ handleCall: log, translate ─▶ SDK: retries ─▶ handleAttempt: gate, retry rule ─▶ SDK: sign, send
//
// The gate is checked at each attempt, because the lease may be lost while a retry waits.
type interceptor struct {
	gate  *resource.Gate
	log   *slog.Logger
	calls map[string]edge.Call
	table edge.Table
	// region and profile are those of the clients, for the advice on errors.
	region, profile string
}

func (i interceptor) addMiddleware(s *middleware.Stack) error {
	// Before the others, so that it also handles the SDK's own validation errors.
	if err := s.Initialize.Add(middleware.InitializeMiddlewareFunc("det-deploy-whole", i.handleCall), middleware.Before); err != nil {
		return err
	}
	return s.Finalize.Insert(middleware.FinalizeMiddlewareFunc("det-deploy-attempt", i.handleAttempt), (*retry.Attempt)(nil).ID(), middleware.After)
}

// pending is one call with all its attempts.
type pending struct {
	dryRun, conditional bool
	// failed is the number of attempts that failed otherwise than by throttling.
	failed int
}

// pendingKey is the key under which an attempt finds its call.
type pendingKey struct{}

// Attempts is the maximum number of attempts of a throttled call: with the SDK's pauses, they take a
// minute. Failures of other kinds end a call sooner, because users wait for the error of a network
// that is down.
const (
	Attempts = 10
	failures = 5
)

func (i interceptor) handleCall(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, md middleware.Metadata, err error) {
	op := opOf(ctx)
	if err := ctx.Err(); err != nil {
		return out, md, &notSentError{op, err}
	}
	ctx = middleware.WithStackValue(ctx, pendingKey{}, &pending{dryRun: isDryRun(in.Parameters), conditional: isConditional(in.Parameters)})
	began := time.Now()
	out, md, err = next.HandleInitialize(ctx, in)
	err = i.translateError(op, i.mayChange(ctx, op), err)
	if stopped := wait.Unwanted(ctx); stopped != nil && cloud.KindOf(err).Transient() { // it was not retried
		err = errors.Join(err, stopped)
	}
	i.traceCall(ctx, op, md, time.Since(began), err)
	return out, md, err
}

func (i interceptor) traceCall(ctx context.Context, op string, md middleware.Metadata, took time.Duration, err error) {
	attempts := 1
	if results, ok := retry.GetAttemptResults(md); ok {
		attempts = len(results.Results)
	}
	refusal := ""
	if err != nil && Allowed(err) != nil {
		refusal = edge.CodeOf(err)
	}
	i.log.DebugContext(ctx, "aws call", "call", op, "took", took, "attempts", attempts, "refusal", refusal)
}

// handleAttempt rejects calls that the gate does not permit. It prevents the SDK from retrying a
// call that may have had an effect, and any call after the user has interrupted the operation.
func (i interceptor) handleAttempt(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (out middleware.FinalizeOutput, md middleware.Metadata, err error) {
	op := opOf(ctx)
	changes := i.mayChange(ctx, op)
	if changes && i.gate != nil {
		if err := i.gate.Pass(ctx, op); err != nil {
			return out, md, &gateError{err}
		}
	}
	out, md, err = next.HandleFinalize(ctx, in)
	if err != nil && (wait.Unwanted(ctx) != nil || !i.isWorthAnother(pendingIn(ctx), op, changes, i.table.KindOf(changes, answerOf(err)))) {
		err = &finalError{err}
	}
	return out, md, err
}

// isWorthAnother counts an attempt that failed, and reports whether another one may be made without
// applying the call's effect twice. Whether it may succeed is decided by the SDK.
func (i interceptor) isWorthAnother(c *pending, op string, changes bool, kind cloud.Kind) bool {
	if kind == cloud.RateLimited {
		return true
	}
	c.failed++
	switch {
	case c.failed >= failures:
		return false
	case changes && kind == cloud.Ambiguous:
		return i.calls[op].Repeatable && !c.conditional
	}
	return !changes || kind.Transient()
}

// pendingIn returns the call of an attempt.
func pendingIn(ctx context.Context) *pending {
	if c, ok := middleware.GetStackValue(ctx, pendingKey{}).(*pending); ok {
		return c
	}
	return &pending{}
}

// mayChange reports whether a call may modify resources. It returns true for unknown calls.
func (i interceptor) mayChange(ctx context.Context, op string) bool {
	if pendingIn(ctx).dryRun {
		return false
	}
	c, found := i.calls[op]
	return !found || c.Changes
}

// isDryRun reports whether an input has DryRun set. It uses reflection, because the input types of
// the services share no interface.
func isDryRun(params any) bool {
	v := reflect.ValueOf(params)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false
	}
	f := v.Elem().FieldByName("DryRun")
	if !f.IsValid() {
		return false
	}
	b, _ := f.Interface().(*bool) // a field of another type is not the DryRun flag
	return aws.ToBool(b)
}

// opOf returns the IAM name of a call: "ec2:RunInstances".
func opOf(ctx context.Context) string {
	id := awsmiddleware.GetServiceID(ctx)
	if short, ok := policyPrefixes()[id]; ok {
		id = short
	}
	return id + ":" + awsmiddleware.GetOperationName(ctx)
}

// policyPrefixes maps the SDK's service IDs to the services' prefixes in IAM actions.
func policyPrefixes() map[string]string {
	return map[string]string{
		"EC2": "ec2", "IAM": "iam", "STS": "sts", "S3": "s3", "Secrets Manager": "secretsmanager", "SSM": "ssm",
		"Service Quotas": "servicequotas", "CloudWatch Logs": "logs", "CloudWatch": "cloudwatch",
	}
}

// finalError stops the SDK from retrying a call that may have had an effect or is no longer wanted.
type finalError struct{ err error }

func (e *finalError) Error() string        { return e.err.Error() }
func (e *finalError) Unwrap() error        { return e.err }
func (e *finalError) RetryableError() bool { return false }

// gateError wraps an error of the gate, which is returned to the caller unchanged.
type gateError struct{ err error }

func (e *gateError) Error() string        { return e.err.Error() }
func (e *gateError) Unwrap() error        { return e.err }
func (e *gateError) RetryableError() bool { return false }

// notSentError is returned for a call that was abandoned before a request was sent.
type notSentError struct {
	op  string
	err error
}

func (e *notSentError) Error() string { return e.op + ": " + e.err.Error() }
func (e *notSentError) Unwrap() error { return e.err }

// errAllowed is returned for a dry run whose call would have succeeded.
var errAllowed = errors.New("would have been allowed")

// Allowed converts the error of a dry run: it returns nil if the call would have succeeded, and the
// reason otherwise.
func Allowed(err error) error {
	if errors.Is(err, errAllowed) {
		return nil
	}
	return err
}
