package awstest

import (
	"context"
	"net/http"
	"strings"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

type stack = middleware.Stack

// add terminates the SDK's middleware stack in the world: after the retries, where an attempt would
// be signed and sent.
func (s *site) add(st *stack) error {
	// After the SDK's own middleware, which adds idempotency tokens.
	if err := st.Initialize.Add(middleware.InitializeMiddlewareFunc("awstest-call", s.remember), middleware.After); err != nil {
		return err
	}
	return st.Finalize.Insert(middleware.FinalizeMiddlewareFunc("awstest-answer", s.answer), (*retry.Attempt)(nil).ID(), middleware.After)
}

// call is one call with all its attempts.
type call struct {
	op       string
	in       any
	changes  bool
	actions  []string
	attempts int
	fault    faults.Fault
}

type callKey struct{}

func (s *site) remember(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	c := &call{op: operation(ctx), in: in.Parameters}
	if row, found := s.calls[c.op]; found {
		c.changes, c.actions = row.Changes && !isDryRun(c.in), row.Permissions
	}
	return next.HandleInitialize(middleware.WithStackValue(ctx, callKey{}, c), in)
}

func (s *site) answer(ctx context.Context, _ middleware.FinalizeInput, _ middleware.FinalizeHandler) (out middleware.FinalizeOutput, md middleware.Metadata, err error) {
	c, _ := middleware.GetStackValue(ctx, callKey{}).(*call) // stored by remember
	if err := s.travel(ctx); err != nil {
		return out, md, err
	}
	if out.Result, err = s.do(c); err != nil {
		return out, md, err
	}
	md, err = s.clock(ctx)
	return out, md, err
}

// travel waits for the latency of a call.
func (s *site) travel(ctx context.Context) error {
	s.mu.Lock()
	d := s.opt.Latency
	s.mu.Unlock()
	if d == 0 {
		return ctx.Err()
	}
	return wait.For(ctx, d)
}

// clock returns response metadata with the world's time, which the SDK reads from the Date header.
func (s *site) clock(ctx context.Context) (middleware.Metadata, error) {
	date := s.Now().UTC().Format(http.TimeFormat)
	reply := func(context.Context, middleware.DeserializeInput) (middleware.DeserializeOutput, middleware.Metadata, error) {
		r := &http.Response{Header: http.Header{"Date": {date}}}
		return middleware.DeserializeOutput{RawResponse: &smithyhttp.Response{Response: r}}, middleware.Metadata{}, nil
	}
	_, md, err := (&awsmiddleware.RecordResponseTiming{DisableClockSkewCorrection: true}).HandleDeserialize(ctx, middleware.DeserializeInput{}, middleware.DeserializeHandlerFunc(reply))
	return md, err
}

// do makes one attempt of a call.
func (s *site) do(c *call) (out any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.schedule.Dead {
		return nil, faults.ErrKilled
	}
	if c.attempts++; c.attempts == 1 {
		c.fault = s.schedule.Next(c.op, c.changes)
	}
	if s.schedule.Storm != nil {
		c.fault = s.schedule.Storm(c.attempts)
	}
	defer func() {
		s.schedule.Journal = append(s.schedule.Journal, faults.Entry{Op: c.op, Changes: c.changes, Code: codeOf(err), At: time.Now()})
	}()
	if err := s.before(c); err != nil {
		return nil, err
	}
	out, err = s.act(c)
	if err != nil {
		return nil, err
	}
	if err := s.after(c); err != nil {
		return nil, err
	}
	return out, nil
}

func (s *site) act(c *call) (any, error) {
	s.settle()
	if err := s.permitted(c); err != nil {
		return nil, err
	}
	act, found := s.acts[c.op]
	if !found {
		return nil, refuse(501, "NotImplemented", c.op)
	}
	if isDryRun(c.in) {
		return nil, refuse(412, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
	}
	if c.changes {
		s.changed++
	}
	return act(s, c.in)
}

// operation returns the IAM name of a call, like package api.
func operation(ctx context.Context) string {
	short := map[string]string{
		"EC2": "ec2", "IAM": "iam", "STS": "sts", "S3": "s3", "Secrets Manager": "secretsmanager", "SSM": "ssm",
		"Service Quotas": "servicequotas", "CloudWatch Logs": "logs", "CloudWatch": "cloudwatch",
	}
	return short[awsmiddleware.GetServiceID(ctx)] + ":" + awsmiddleware.GetOperationName(ctx)
}

// Deny denies calls that require one of these actions: "iam:PassRole", "s3:*".
func (w *World) Deny(actions ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.denied = append(w.denied, actions...)
}

// Allow reverts all calls of Deny.
func (w *World) Allow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.denied = nil
}

func (s *site) permitted(c *call) error {
	for _, a := range c.actions {
		if a == "iam:PassRole" && !passesRole(c.in) || !s.isDenied(a) && s.grants(a, c.in) {
			continue
		}
		if strings.HasPrefix(c.op, "ec2:") {
			return refuse(403, "UnauthorizedOperation", "You are not authorized to perform this operation. User: "+callerARN+" is not authorized to perform: "+a)
		}
		return refuse(403, "AccessDenied", "User: "+callerARN+" is not authorized to perform: "+a)
	}
	return nil
}

func (w *World) isDenied(action string) bool {
	for _, d := range w.denied {
		if match(d, action) {
			return true
		}
	}
	return false
}
