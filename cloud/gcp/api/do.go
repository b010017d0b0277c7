package api

import (
	"context"

	"google.golang.org/api/googleapi"

	"github.com/det-deploy/det-deploy/cloud"
)

// request is a call of a generated client before it is made. C is its own type.
type request[C, T any] interface {
	Context(ctx context.Context) C
	Do(options ...googleapi.CallOption) (T, error)
}

// Do makes a call of a generated client. Its error is a *cloud.Error, as are those of the
// other functions here.
func Do[C request[C, T], T any](ctx context.Context, c C) (T, error) {
	ctx, out := withOutcome(ctx)
	result, err := c.Context(ctx).Do()
	return result, out.errorOf(err)
}

// Send makes a call whose answer is not needed.
func Send[C request[C, T], T any](ctx context.Context, c C) error {
	_, err := Do(ctx, c)
	return err
}

// Delete makes a call that answers nothing.
func Delete[C interface {
	Context(ctx context.Context) C
	Do(options ...googleapi.CallOption) error
}](ctx context.Context, c C) error {
	ctx, out := withOutcome(ctx)
	return out.errorOf(c.Context(ctx).Do())
}

// List reads a list to its end. Items returns those of a page.
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

// outcome is what became of a request. The transport leaves it in the context of a call,
// because http.Client wraps a transport's error, and the generated clients replace it once the
// context has ended.
type outcome struct {
	call *call
	err  error
}

// outcomeKey is where a context has its outcome.
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
	case o.call == nil: // it did not come to a request
		return &cloud.Error{Kind: cloud.Invalid, Op: "gcp", Err: err}
	case googleapi.IsNotModified(err):
		return err
	}
	return o.call.translateError(err)
}
