package record_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/record"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	recordtest.Suite(t, func(*testing.T) record.Store { return new(recordtest.Memory) })
}

func TestDirKeepsTheContract(t *testing.T) {
	t.Parallel()
	recordtest.Suite(t, func(t *testing.T) record.Store {
		return record.Dir{Path: filepath.Join(t.TempDir(), "control")}
	})
}

func ask(s record.Store, who string) record.Request {
	return record.Request{
		Cluster: "lab", Store: s,
		Holder: record.Holder{Owner: who, Host: "h", Action: "up", Nonce: who, Lasts: time.Minute},
	}
}

func acquire(t *testing.T, req record.Request) *record.Lease {
	t.Helper()
	l, err := record.Acquire(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Release(t.Context()); err != nil {
			t.Log(err)
		}
	})
	return l
}

func TestOneOperatorAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(recordtest.Memory)
		ann := acquire(t, ask(s, "ann"))
		time.Sleep(10 * time.Minute) //nolint:forbidigo // synctest's clock: renewed all the while
		_, err := record.Acquire(t.Context(), ask(s, "bob"))
		held, ok := errors.AsType[*record.HeldError](err)
		if !ok || held.Holder.Owner != "ann" {
			t.Fatalf("got %v, want that ann holds it", err)
		}
		if event.Hint(err) == "" {
			t.Error("got no hint")
		}
		if err := ann.Check(t.Context()); err != nil {
			t.Errorf("got %v, want ann to hold it still", err)
		}
		if err := ann.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		acquire(t, ask(s, "bob"))
	})
}

func TestLeaseExpiresWithoutRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cut atomic.Bool
		errCut := &cloud.Error{Kind: cloud.Unavailable, Op: "put"}
		behind := new(recordtest.Memory)
		// Ann's connection to the store breaks later.
		line := &cuttable{Memory: behind, err: func() error {
			if cut.Load() {
				return errCut
			}
			return nil
		}}
		ann := acquire(t, ask(line, "ann"))
		cut.Store(true)
		time.Sleep(50 * time.Second) //nolint:forbidigo // synctest's clock
		if err := ann.Check(t.Context()); err != nil {
			t.Errorf("after 50 s: got %v, want the lease to hold", err)
		}
		if _, err := record.Acquire(t.Context(), ask(behind, "bob")); err == nil {
			t.Error("after 50 s: bob got the lease, want it held")
		}
		time.Sleep(20 * time.Second) //nolint:forbidigo // synctest's clock
		if err := ann.Check(t.Context()); !errors.Is(err, record.ErrLost) {
			t.Errorf("after 70 s: got %v, want %v", err, record.ErrLost)
		}
		bob := acquire(t, ask(behind, "bob"))
		cut.Store(false)
		time.Sleep(time.Minute) //nolint:forbidigo // synctest's clock: ann tries to renew
		if err := ann.Check(t.Context()); !errors.Is(err, record.ErrLost) {
			t.Errorf("back again: got %v, want %v", err, record.ErrLost)
		}
		if err := ann.Release(t.Context()); err != nil {
			t.Errorf("release of a lost lease: got %v, want nil", err)
		}
		if err := bob.Check(t.Context()); err != nil {
			t.Errorf("got %v, want bob to hold it", err)
		}
	})
}

// cuttable fails writes while err returns an error.
type cuttable struct {
	*recordtest.Memory
	err func() error
}

func (c *cuttable) Put(ctx context.Context, key string, data []byte, was string) (string, error) {
	if err := c.err(); err != nil {
		return "", err
	}
	return c.Memory.Put(ctx, key, data, was)
}

// The lease is released while a renewal is in progress that reaches the store.
func TestReleaseAfterRenewalInProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		behind := new(recordtest.Memory)
		ann := acquire(t, ask(&slow{Memory: behind}, "ann"))
		time.Sleep(30 * time.Second) //nolint:forbidigo // synctest's clock: the first renewal has begun
		if err := ann.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		bob := acquire(t, ask(behind, "bob"))
		if err := ann.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := record.Acquire(t.Context(), ask(behind, "cleo")); err == nil {
			t.Error("cleo got the lease, want it held by bob")
		}
		if err := bob.Check(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// slow answers the first write at once, and later ones when their context ends.
type slow struct {
	*recordtest.Memory
	puts atomic.Int32
}

func (s *slow) Put(ctx context.Context, key string, data []byte, was string) (string, error) {
	version, err := s.Memory.Put(ctx, key, data, was)
	if s.puts.Add(1) == 1 || err != nil {
		return version, err
	}
	<-ctx.Done()
	return "", ctx.Err()
}

func TestLeaseOfDeadProcessIsTakenOver(t *testing.T) {
	t.Parallel()
	s := new(recordtest.Memory)
	acquire(t, ask(s, "ann"))
	req := ask(s, "bob")
	req.Dead = func(h record.Holder) bool { return h.Owner == "ann" }
	acquire(t, req)
}

func blank() record.Record {
	return record.Record{Cluster: "lab", Target: "test", Settings: map[string]string{"agents": "2"}}
}

func TestBookStoresChanges(t *testing.T) {
	t.Parallel()
	s := new(recordtest.Memory)
	l := acquire(t, ask(s, "ann"))
	b, err := record.Open(t.Context(), s, l, blank())
	if err != nil {
		t.Fatal(err)
	}
	first := must(t)(b.Intend(t.Context(), "x/net", "x/vm"))
	if first["x/net"].Tried || first["x/net"].Nonce == "" || first["x/net"].Nonce == first["x/vm"].Nonce {
		t.Errorf("got %v, want two new nonces", first)
	}
	if err := b.Settle(t.Context(), "x/net", "x/never"); err != nil {
		t.Fatal(err)
	}

	again, err := record.Open(t.Context(), s, l, record.Record{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(again.Record().Settings, blank().Settings); d != "" {
		t.Errorf("settings: got -, want +:\n%s", d)
	}
	second := must(t)(again.Intend(t.Context(), "x/net", "x/vm"))
	want := map[string]resource.Intent{
		"x/net": {Nonce: first["x/net"].Nonce, Tried: true, Made: true},
		"x/vm":  {Nonce: first["x/vm"].Nonce, Tried: true},
	}
	if d := cmp.Diff(second, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	renewed := must(t)(again.Renew(t.Context(), "x/net"))
	if got := renewed["x/net"]; got.Nonce == first["x/net"].Nonce || got.Tried || got.Made {
		t.Errorf("got %v, want a new nonce", got)
	}
	if err := again.Forget(t.Context(), "x/net", "x/vm"); err != nil {
		t.Fatal(err)
	}
	if got := len(again.Record().Intents); got != 0 {
		t.Errorf("got %d intents, want none", got)
	}
	if err := b.Settle(t.Context(), "x/vm"); cloud.KindOf(err) != cloud.Conflict {
		t.Errorf("a second book on an old version: got %v, want a conflict", err)
	}
}

func TestUnchangedRecordIsNotWritten(t *testing.T) {
	t.Parallel()
	puts := 0
	s := &recordtest.Memory{}
	l := acquire(t, ask(s, "ann"))
	b, err := record.Open(t.Context(), s, l, blank())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Intend(t.Context(), "x/net"); err != nil {
		t.Fatal(err)
	}
	s.Before = func(string) error { puts++; return nil }
	if _, err := b.Intend(t.Context(), "x/net"); err != nil {
		t.Fatal(err)
	}
	if err := b.Settle(t.Context(), "x/other"); err != nil {
		t.Fatal(err)
	}
	if puts != 0 {
		t.Errorf("got %d calls, want none", puts)
	}
}

// Taking a free lease needs one call, and noted changes are stored with the next write.
func TestAcquireNeedsFewCalls(t *testing.T) {
	t.Parallel()
	var calls []string
	s := &recordtest.Memory{Before: func(op string) error { calls = append(calls, op); return nil }}
	l := acquire(t, ask(s, "ann"))
	b, err := record.Open(t.Context(), s, l, record.Record{Cluster: "lab", Target: "test"})
	if err != nil {
		t.Fatal(err)
	}
	b.Note(func(r *record.Record) { r.Settings = blank().Settings })
	if _, err := b.Intend(t.Context(), "x/net"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(calls, []string{"make", "put lease.json", "get record.json", "put record.json"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	b.Note(func(r *record.Record) { r.Settings["agents"] = "3" })
	if _, err := b.Intend(t.Context()); err != nil { // no new intents, but noted changes to write
		t.Fatal(err)
	}
	again, err := record.Open(t.Context(), s, l, record.Record{})
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Record(); got.Settings["agents"] != "3" || got.Intents["x/net"].Nonce == "" {
		t.Errorf("got %v, want the noted setting and the intent", got)
	}
}

func TestReadRejectsOtherSchema(t *testing.T) {
	t.Parallel()
	s := new(recordtest.Memory)
	if err := s.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), record.Key, []byte(`{"schema":"det-deploy.record/v9"}`), ""); err != nil {
		t.Fatal(err)
	}
	_, _, _, err := record.Read(t.Context(), s)
	if _, ok := errors.AsType[*record.SchemaError](err); !ok || event.Hint(err) == "" {
		t.Errorf("got %v, want an error with a hint", err)
	}
}

func must(t *testing.T) func(map[string]resource.Intent, error) map[string]resource.Intent {
	return func(m map[string]resource.Intent, err error) map[string]resource.Intent {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// lossy makes writes whose replies are lost: the first ones have no effect, or an effect.
type lossy struct {
	*recordtest.Memory

	lost, void int
}

func (l *lossy) Put(ctx context.Context, key string, data []byte, was string) (string, error) {
	errLost := &cloud.Error{Kind: cloud.Ambiguous, Op: "put", Err: errors.New("connection reset")}
	if l.void--; l.void >= 0 {
		return "", errLost
	}
	version, err := l.Memory.Put(ctx, key, data, was)
	if l.lost--; err == nil && l.lost >= 0 {
		return "", errLost
	}
	return version, err
}

func (l *lossy) Delete(ctx context.Context, key, was string) error {
	if err := l.Memory.Delete(ctx, key, was); err != nil {
		return err
	}
	return &cloud.Error{Kind: cloud.Ambiguous, Op: "delete", Err: errors.New("connection reset")}
}

// A conditional write whose reply was lost is compared with what the store holds.
func TestLostRepliesOfWritesAreResolved(t *testing.T) {
	t.Parallel()
	s := &lossy{Memory: new(recordtest.Memory), lost: 1, void: 2}
	l, err := record.Acquire(t.Context(), ask(s, "ann"))
	if err != nil {
		t.Fatal(err)
	}
	s.lost, s.void = 1, 1
	b, err := record.Open(t.Context(), s, l, blank())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		must(t)(b.Renew(t.Context(), "x/net"))
	}
	if _, err := record.Acquire(t.Context(), ask(s, "bob")); err == nil {
		t.Error("bob got the lease, want it held by ann")
	}
	if err := l.Release(t.Context()); err != nil {
		t.Errorf("release: got %v, want that the lost reply is resolved", err)
	}
}
