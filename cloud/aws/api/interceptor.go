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

// interceptor stands between a call and the SDK:
//
//	caller ─▶ handleCall: log, translate ─▶ SDK: retries ─▶ handleAttempt: gate, retry rule ─▶ SDK: sign, send
//
// The gate is asked at each attempt, because a lease may be lost while an
// earlier one waits for its turn.
type interceptor struct {
	gate  *resource.Gate
	log   *slog.Logger
	calls map[string]edge.Call
	table edge.Table
}

func (i interceptor) addMiddleware(s *middleware.Stack) error {
	// Before: it sees what the SDK itself finds wrong with a request, too.
	if err := s.Initialize.Add(middleware.InitializeMiddlewareFunc("det-deploy-whole", i.handleCall), middleware.Before); err != nil {
		return err
	}
	return s.Finalize.Insert(middleware.FinalizeMiddlewareFunc("det-deploy-attempt", i.handleAttempt), (*retry.Attempt)(nil).ID(), middleware.After)
}

// dry is the key under which an attempt learns that the call only asks whether
// it would be allowed.
type dry struct{}

func (i interceptor) handleCall(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, md middleware.Metadata, err error) {
	op := opOf(ctx)
	if err := ctx.Err(); err != nil {
		return out, md, &notSentError{op, err}
	}
	ctx = middleware.WithStackValue(ctx, dry{}, asksOnly(in.Parameters))
	began := time.Now()
	out, md, err = next.HandleInitialize(ctx, in)
	err = translateError(i.table, op, i.mayChange(ctx, op), err)
	if stopped := wait.Unwanted(ctx); stopped != nil && cloud.KindOf(err).Transient() { // it was not tried again
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

// handleAttempt stops calls that are not allowed, and forbids the SDK to retry what may have
// been done, or anything after the user has stopped the work.
func (i interceptor) handleAttempt(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (out middleware.FinalizeOutput, md middleware.Metadata, err error) {
	op := opOf(ctx)
	changes := i.mayChange(ctx, op)
	if changes && i.gate != nil {
		if err := i.gate.Pass(ctx, op); err != nil {
			return out, md, &shutError{err}
		}
	}
	out, md, err = next.HandleFinalize(ctx, in)
	if err != nil && (wait.Unwanted(ctx) != nil || changes && !i.table.KindOf(true, answerOf(err)).Transient()) {
		err = &finalError{err}
	}
	return out, md, err
}

// mayChange reports whether a call may change something. One that is in no table
// is taken to.
func (i interceptor) mayChange(ctx context.Context, op string) bool {
	if asks, _ := middleware.GetStackValue(ctx, dry{}).(bool); asks {
		return false
	}
	c, found := i.calls[op]
	return !found || c.Changes
}

// asksOnly reports whether an input says DryRun. The inputs of all services have
// only field names in common, hence the reflection.
func asksOnly(params any) bool {
	v := reflect.ValueOf(params)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false
	}
	f := v.Elem().FieldByName("DryRun")
	if !f.IsValid() {
		return false
	}
	b, _ := f.Interface().(*bool) // not a *bool: not that field
	return aws.ToBool(b)
}

// opOf is a call in our words: "ec2:RunInstances".
func opOf(ctx context.Context) string {
	id := awsmiddleware.GetServiceID(ctx)
	if short, ok := policyPrefixes()[id]; ok {
		id = short
	}
	return id + ":" + awsmiddleware.GetOperationName(ctx)
}

// policyPrefixes are the services' prefixes in policies, by the SDK's name.
func policyPrefixes() map[string]string {
	return map[string]string{
		"EC2": "ec2", "IAM": "iam", "STS": "sts", "S3": "s3", "Secrets Manager": "secretsmanager", "SSM": "ssm",
		"Service Quotas": "servicequotas", "CloudWatch Logs": "logs", "CloudWatch": "cloudwatch",
	}
}

// finalError keeps the SDK from repeating a call that may have had its effect, or is not wanted any more.
type finalError struct{ err error }

func (e *finalError) Error() string        { return e.err.Error() }
func (e *finalError) Unwrap() error        { return e.err }
func (e *finalError) RetryableError() bool { return false }

// shutError is the gate's refusal; it is handed on as the gate said it.
type shutError struct{ err error }

func (e *shutError) Error() string        { return e.err.Error() }
func (e *shutError) Unwrap() error        { return e.err }
func (e *shutError) RetryableError() bool { return false }

// notSentError is a call that was given up before anything left the machine.
type notSentError struct {
	op  string
	err error
}

func (e *notSentError) Error() string { return e.op + ": " + e.err.Error() }
func (e *notSentError) Unwrap() error { return e.err }

// errAllowed is the answer to a call that only asked, when it would have been
// carried out.
var errAllowed = errors.New("would have been allowed")

// Allowed turns the error of a call with DryRun into the answer: nil when the
// call would have been carried out, otherwise why not.
func Allowed(err error) error {
	if errors.Is(err, errAllowed) {
		return nil
	}
	return err
}
