package api

import (
	"context"

	"google.golang.org/api/googleapi"

	"github.com/det-deploy/det-deploy/cloud"
)

// request is an unsent call of a generated client. C is its own type.
type request[C, T any] interface {
	Context(ctx context.Context) C
	Do(options ...googleapi.CallOption) (T, error)
}

// Do makes a call of a generated client. Its error is a *cloud.Error, as are those of the other
// functions in this file.
func Do[C request[C, T], T any](ctx context.Context, c C) (T, error) {
	ctx, out := withOutcome(ctx)
	result, err := c.Context(ctx).Do()
	return result, out.errorOf(err)
}

// Send makes a call and discards the response.
func Send[C request[C, T], T any](ctx context.Context, c C) error {
	_, err := Do(ctx, c)
	return err
}

// Delete makes a call without a response body.
func Delete[C interface {
	Context(ctx context.Context) C
	Do(options ...googleapi.CallOption) error
}](ctx context.Context, c C) error {
	ctx, out := withOutcome(ctx)
	return out.errorOf(c.Context(ctx).Do())
}

// List returns the items of all pages of a list. Items returns those of one page.
func List[C interface {
	Pages(ctx context.Context, f func(P) error) error
}, P, T any](ctx context.Context, c C, items func(P) []T) ([]T, error) {
	var all []T
	ctx, out := withOutcome(ctx)
	err := c.Pages(ctx, func(page P) error {
		all = append(all, items(page)...)
		return nil
	})
	if err != nil {
		return nil, out.errorOf(err)
	}
	return all, nil
}

// outcome holds the error of a request. The transport stores it in the context of the call, because
// http.Client wraps a transport's error and the generated clients replace it once the context is
// done.
type outcome struct {
	call *call
	err  error
}

// outcomeKey is the context key of an outcome.
type outcomeKey struct{}

func withOutcome(ctx context.Context) (context.Context, *outcome) {
	out := new(outcome)
	return context.WithValue(ctx, outcomeKey{}, out), out
}

func outcomeOf(ctx context.Context) *outcome {
	out, found := ctx.Value(outcomeKey{}).(*outcome)
	if !found {
		return new(outcome)
	}
	return out
}

// errorOf returns the error of a call for which a generated client returned err.
func (o *outcome) errorOf(err error) error {
	switch {
	case err == nil:
		return nil
	case o.err != nil:
		return o.err
	case o.call == nil: // no request was made
		return &cloud.Error{Kind: cloud.Invalid, Op: "gcp", Err: err}
	case googleapi.IsNotModified(err):
		return err
	}
	return o.call.translateError(err)
}
