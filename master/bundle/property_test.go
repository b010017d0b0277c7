package bundle_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

// Whatever users send, claim and release, and whenever contexts are collected: what is claimed can be
// read, nothing is stored without a reference, and everything goes after the last claim.
func TestCollectionKeepsWhatIsClaimed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 0, 0)
			r := rand.New(rand.NewPCG(seed, 1))
			claimed := map[string]files{}
			for step := range 60 {
				by, holder := user(int32(1+r.IntN(2))), fmt.Sprint("task/", r.IntN(6))
				switch r.IntN(6) {
				case 0, 1:
					f := drawFiles(r)
					id, _ := w.send(by, f)
					if claimed[holder] == nil {
						if err := w.claim(holder, by, id); err != nil {
							t.Fatal(err)
						}
						claimed[holder] = f
					}
				case 2: // interrupted before it has sent everything
					f := drawFiles(r)
					a, err := w.Announce(t.Context(), by, f.list())
					if err != nil {
						t.Fatal(err)
					}
					for name, content := range f {
						if _, err := w.AddPieces(t.Context(), by, a.GetContextId(), files{name: content}.packed(t)); err != nil {
							t.Fatal(err)
						}
						break
					}
				case 3:
					w.release(holder)
					delete(claimed, holder)
				case 4:
					w.now = w.now.Add(time.Duration(r.IntN(90)) * time.Minute)
				case 5:
					if _, err := w.Collect(t.Context(), w.now); err != nil {
						t.Fatal(err)
					}
				}
				w.wantAll(step, claimed)
			}
			for holder := range claimed {
				w.release(holder)
			}
			if _, err := w.Collect(t.Context(), w.now.Add(2*bundle.Keep)); err != nil {
				t.Fatal(err)
			}
			if all, _, err := store.CountBlobs(t.Context(), w.store); err != nil || all != 0 || len(w.quota.Stored(1))+len(w.quota.Stored(2)) != 0 {
				t.Errorf("got %d blobs, %v and %v counted, want nothing", all, w.quota.Stored(1), w.quota.Stored(2))
			}
		})
	}
}

// drawFiles returns files that share contents with others.
func drawFiles(r *rand.Rand) files {
	f := files{}
	for range 1 + r.IntN(5) {
		f[fmt.Sprint("f", r.IntN(5))] = fmt.Sprint("content ", r.IntN(8))
	}
	return f
}

func (w *world) wantAll(step int, claimed map[string]files) {
	w.Helper()
	for holder, f := range claimed {
		if d := cmp.Diff(w.unpacked(holder), f); d != "" {
			w.Fatalf("step %d, %s (-got +want):\n%s", step, holder, d)
		}
	}
	if _, unused, err := store.CountBlobs(w.Context(), w.store); err != nil || unused != 0 {
		w.Fatalf("step %d: got %d blobs without a reference and %v", step, unused, err)
	}
}

// A context that is sent again while it is deleted is complete, or its claim is refused.
func TestSendingRacesDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0, 0)
	f := files{}
	for i := range 100 {
		f[fmt.Sprint(i)] = fmt.Sprint("content ", i)
	}
	w.send(user(1), f)
	late := w.now.Add(2 * bundle.Keep)
	w.now = late
	for round := range 4 {
		holder := fmt.Sprint("task/", round)
		var deleting sync.WaitGroup
		deleting.Go(func() {
			if _, err := w.Collect(t.Context(), late.Add(2*bundle.Keep)); err != nil {
				t.Error(err)
			}
		})
		for tries := 0; ; tries++ {
			a, err := w.Announce(t.Context(), user(1), f.list())
			if err == nil {
				_, err = w.AddPieces(t.Context(), user(1), a.GetContextId(), f.packed(t))
			}
			if err == nil {
				err = w.claim(holder, user(1), a.GetContextId())
			}
			if err == nil {
				break
			}
			if code := status.Of(err); code != status.NotFound && code != status.FailedPrecondition || tries > 100 {
				t.Fatal(err)
			}
		}
		deleting.Wait()
		if d := cmp.Diff(w.unpacked(holder), f); d != "" {
			t.Fatalf("(-got +want):\n%s", d)
		}
		w.release(holder)
	}
	if _, unused, err := store.CountBlobs(t.Context(), w.store); err != nil || unused != 0 {
		t.Errorf("got %d blobs without a reference and %v", unused, err)
	}
	if _, err := w.Collect(t.Context(), late.Add(4*bundle.Keep)); err != nil || w.quota.Stored(1)[quota.Contexts] != 0 {
		t.Errorf("got %v and %v counted, want nothing", err, w.quota.Stored(1))
	}
}
