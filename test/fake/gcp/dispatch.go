package gcptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// later is returned by an act that waits. The act is called again at that time or earlier.
type later struct{ until time.Time }

func (l *later) Error() string { return "waits until " + l.until.String() }

// serve returns the response to a request, or a connection error.
func (w *World) serve(r *http.Request) (*reply, error) {
	out, err := w.answer(r)
	if err != nil {
		return nil, err
	}
	if out.header == nil {
		out.header = http.Header{}
	}
	out.header.Set("Date", w.Now().Format(http.TimeFormat))
	return out, nil
}

func (w *World) answer(r *http.Request) (*reply, error) {
	c, bad := w.readCall(r)
	if bad != nil {
		return bad.toReply(), nil
	}
	if err := w.travel(r.Context()); err != nil {
		return nil, err
	}
	for {
		out, err := w.do(c)
		retry, ok := errors.AsType[*later](err)
		if !ok {
			return w.reply(c, out, err)
		}
		if err := w.wait(r.Context(), retry.until); err != nil {
			return nil, err
		}
	}
}

// readCall finds the method of a request and validates the request against it.
func (w *World) readCall(r *http.Request) (*call, *refusal) {
	escaped := r.URL.EscapedPath()
	route, params, found := w.docs.find(r.URL.Host, r.Method, escaped)
	if !found {
		w.tb.Errorf("gcptest: Google has no method %s %s%s", r.Method, r.URL.Host, escaped)
		return nil, refuse(404, "notFound", "Not Found")
	}
	c := &call{World: w, route: route, request: r, params: params, query: r.URL.Query()}
	if err := c.readBody(); err != nil {
		return nil, invalid("%v", err)
	}
	w.mu.Lock()
	foreign := w.opt.Foreign
	w.mu.Unlock()
	bad := append(route.checkPath(params), route.checkQuery(c.query, foreign)...)
	if bad = append(bad, route.checkBody(c.body)...); len(bad) > 0 {
		w.tb.Errorf("gcptest: %s: the request is not as Google has it:\n  %s\n%s", c.ID, strings.Join(bad, "\n  "), c.body)
		return nil, invalid("Invalid value: %s", strings.Join(bad, "; "))
	}
	return c, nil
}

func (c *call) readBody() error {
	if c.route.upload != "" {
		return c.readUpload()
	}
	if c.request.Body == nil {
		return nil
	}
	b, err := io.ReadAll(c.request.Body)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	c.body = b
	return nil
}

// travel waits for the latency of a request.
func (w *World) travel(ctx context.Context) error {
	w.mu.Lock()
	d := w.opt.Latency
	w.mu.Unlock()
	if d == 0 {
		return ctx.Err()
	}
	return wait.For(ctx, d)
}

// wait returns when the world's clock reaches a time.
func (w *World) wait(ctx context.Context, until time.Time) error {
	for {
		w.mu.Lock()
		left, moved := until.Sub(w.now()), w.moved
		w.mu.Unlock()
		if left <= 0 {
			return nil
		}
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-moved:
			t.Stop()
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

// do makes one attempt of a call.
func (w *World) do(c *call) (r *reply, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Dead() {
		return nil, faults.ErrKilled
	}
	defer func() {
		if _, waits := errors.AsType[*later](err); !waits {
			w.Record(faults.Entry{Op: c.ID, Changes: c.changes(), Code: reasonOf(err), At: time.Now()})
		}
	}()
	if err := c.before(); err != nil {
		return nil, err
	}
	out, err := w.act(c)
	if _, waits := errors.AsType[*later](err); err != nil && (waits || c.try.fault != faults.KillAfter) {
		return nil, err
	}
	if err := c.after(); err != nil {
		return nil, err
	}
	return toReply(out), nil // encoded under the lock, because out may be stored in the world
}

func (w *World) act(c *call) (any, error) {
	w.settle()
	if err := c.authorize(); err != nil {
		return nil, err
	}
	if o, err := c.replay(); o != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return clone(&o.Operation), nil
	}
	if err := c.checkConstraints(); err != nil {
		return nil, err
	}
	act, found := w.acts[c.ID]
	if !found {
		w.tb.Errorf("gcptest: %s is not built yet", c.ID)
		return nil, refuse(501, "notImplemented", "%s is not built yet", c.ID)
	}
	if c.changes() {
		w.changed++
	}
	w.added = nil
	out, err := act(c)
	if err == nil {
		c.noteCreation()
	}
	return out, err
}

// reply encodes an error as a response, and validates any other response against the method.
func (w *World) reply(c *call, r *reply, err error) (*reply, error) {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.toReply(), nil
	}
	if err != nil || !r.json || w.hasAltered() {
		return r, err
	}
	if bad := c.checkAnswer(r.body); len(bad) > 0 {
		w.tb.Errorf("gcptest: %s: our answer is not as Google has it:\n  %s\n%s", c.ID, strings.Join(bad, "\n  "), r.body)
	}
	return r, nil
}
