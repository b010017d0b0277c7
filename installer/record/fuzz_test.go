package record_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer/record"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
)

// Any content of the record is either rejected and left unchanged, or read, and then a later write
// keeps all its information.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"schema":"det-deploy.record/v1","cluster":"lab","target":"aws","settings":{"a":"b"},"intents":{"x":{"nonce":"n","made":true}},` +
		`"release":{"version":"1","programs":{"amd64":"0a"}},"upgrade":{"from":{"version":"1"},"to":{"version":"2"},"committed":true},"ready":"2030-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"schema":"det-deploy.record/v2"}`))
	f.Add([]byte(`{"schema":"det-deploy.record/v1","intents":null,"upgrade":{}}`))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, s := t.Context(), new(recordtest.Memory)
		lease := acquire(t, ask(s, "ann"))
		if _, err := s.Put(ctx, record.Key, data, ""); err != nil {
			t.Fatal(err)
		}
		before, _, found, err := record.Read(ctx, s)
		book, berr := record.Open(ctx, s, lease, record.Record{Cluster: "blank"})
		if (err == nil) != (berr == nil) || found != (err == nil) {
			t.Fatalf("reading gives %v, %v and opening %v", found, err, berr)
		}
		if err != nil {
			if o, err := s.Get(ctx, record.Key); err != nil || string(o.Data) != string(data) {
				t.Errorf("a rejected record changed to %q, %v", o.Data, err)
			}
			return
		}
		if _, err := book.Intend(ctx, "a new thing"); err != nil {
			t.Fatalf("a record that was read cannot be written: %v", err)
		}
		if err := book.Forget(ctx, "a new thing"); err != nil {
			t.Fatal(err)
		}
		after, _, _, err := record.Read(ctx, s)
		if err != nil {
			t.Fatalf("a written record cannot be read: %v", err)
		}
		delete(before.Intents, "a new thing")
		if len(before.Intents) == 0 {
			before.Intents = nil
		}
		if d := cmp.Diff(after, before); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
	})
}

// With any content of the lease, a process either acquires it or gets the name of the holder, and
// never do two processes hold it.
func FuzzLease(f *testing.F) {
	f.Add([]byte(`{"owner":"ann","host":"h","action":"up","nonce":"n","lasts":60000000000}`))
	f.Add([]byte(`{"lasts":-1}`))
	f.Add([]byte(`{"lasts":9223372036854775807}`))
	f.Add([]byte("half"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, s := t.Context(), new(recordtest.Memory)
		if err := s.Make(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(ctx, record.LeaseKey, data, ""); err != nil {
			t.Fatal(err)
		}
		first, err := record.Acquire(ctx, ask(s, "bob"))
		if err != nil {
			return
		}
		defer func() {
			if err := first.Release(ctx); err != nil {
				t.Error(err)
			}
		}()
		if _, err := record.Acquire(ctx, ask(s, "cid")); err == nil {
			t.Errorf("two hold the lease over %q", data)
		}
	})
}
