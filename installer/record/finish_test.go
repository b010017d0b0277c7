package record_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/installer/record"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
)

// unfinished is a store whose Finish waits for let.
type unfinished struct {
	*recordtest.Memory

	let chan struct{}
	err error
}

func (u unfinished) Finish(ctx context.Context) error {
	select {
	case <-u.let:
		return u.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func acquireIn(t *testing.T, s record.Store) *record.Lease {
	t.Helper()
	l, err := record.Acquire(t.Context(), record.Request{Cluster: "lab", Store: s, Holder: record.Holder{Owner: "ann", Nonce: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The lease is taken before the store is finished, and the record waits for that.
func TestOpenWaitsUntilTheStoreIsFinished(t *testing.T) {
	t.Parallel()
	s := unfinished{Memory: new(recordtest.Memory), let: make(chan struct{})}
	l := acquireIn(t, s)
	b, err := record.Open(t.Context(), s, l, record.Record{Cluster: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		written <- b.Change(t.Context(), func(r *record.Record) { r.Settings = map[string]string{"a": "b"} })
	}()
	if _, _, found, err := record.Read(t.Context(), s); found || err != nil {
		t.Errorf("got a record %v and %v in a place that is not finished", found, err)
	}
	close(s.let)
	if err := <-written; err != nil {
		t.Error(err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOpenFailsIfTheStoreCannotBeFinished(t *testing.T) {
	t.Parallel()
	s := unfinished{Memory: new(recordtest.Memory), let: make(chan struct{}), err: errors.New("not allowed")}
	close(s.let)
	l := acquireIn(t, s)
	b, err := record.Open(t.Context(), s, l, record.Record{Cluster: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	err = b.Change(t.Context(), func(r *record.Record) { r.Settings = map[string]string{"a": "b"} })
	if err == nil || !strings.Contains(err.Error(), "cluster lab: not allowed") {
		t.Errorf("got %v, want why the place is not finished", err)
	}
	if _, _, found, _ := record.Read(t.Context(), s); found {
		t.Error("got a record, want none")
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
