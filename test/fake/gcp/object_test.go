package gcptest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func (c clients) bucket(t *testing.T, name string) {
	t.Helper()
	made[*storage.Bucket](t)(c.storage.Buckets.Insert(project, &storage.Bucket{Name: name, Labels: map[string]string{"det-deploy-cluster": "lab"}}).Do())
}

// write writes an object under a generation. A negative generation means no precondition.
func (c clients) write(ctx context.Context, bucket, name, text string, generation int64) (*storage.Object, error) {
	in := c.storage.Objects.Insert(bucket, &storage.Object{Name: name}).Media(strings.NewReader(text)).Context(ctx).WithRetry(nil, nil)
	if generation >= 0 {
		in.IfGenerationMatch(generation)
	}
	return in.Do()
}

func (c clients) read(t *testing.T, bucket, name string) string {
	t.Helper()
	a, err := c.storage.Objects.Get(bucket, name).Download()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	return string(made[[]byte](t)(io.ReadAll(a.Body)))
}

func TestObjectGenerations(t *testing.T) {
	t.Parallel()
	for where, open := range map[string]func(*testing.T, *gcptest.World) clients{
		"memory":   func(t *testing.T, w *gcptest.World) clients { return clientsOf(t, w, gcptest.Caller{}) },
		"loopback": overLoopback,
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			c := open(t, gcptest.New(t, gcptest.Options{}))
			c.bucket(t, "lease")
			first := made[*storage.Object](t)(c.write(t.Context(), "lease", "dir/lock file", "a", 0))
			_, err := c.write(t.Context(), "lease", "dir/lock file", "b", 0)
			wantStatus(t, err, 412, "conditionNotMet")
			second := made[*storage.Object](t)(c.write(t.Context(), "lease", "dir/lock file", "b", first.Generation))
			if second.Generation == first.Generation || c.read(t, "lease", "dir/lock file") != "b" {
				t.Errorf("got generation %d after %d", second.Generation, first.Generation)
			}
			err = c.storage.Objects.Delete("lease", "dir/lock file").IfGenerationMatch(first.Generation).Do()
			wantStatus(t, err, 412, "conditionNotMet")
			if err := c.storage.Objects.Delete("lease", "dir/lock file").IfGenerationMatch(second.Generation).Do(); err != nil {
				t.Error(err)
			}
			_, err = c.storage.Objects.Get("lease", "dir/lock file").Do()
			wantStatus(t, err, 404, "notFound")
		})
	}
}

func TestOnlyOneOfSixteenAcquiresLease(t *testing.T) {
	t.Parallel()
	_, c := newWorld(t, gcptest.Options{})
	c.bucket(t, "lease")
	var wins int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := c.write(t.Context(), "lease", "lock", "mine", 0); err == nil {
				mu.Lock()
				wins++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if wins != 1 {
		t.Errorf("%d won", wins)
	}
}

// A large object is uploaded in chunks, like by the client library.
func TestResumableUploads(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	c.bucket(t, "large")
	content := bytes.Repeat([]byte("0123456789abcdef"), 3*256<<10/16+7)
	for where, c := range map[string]clients{"memory": c, "loopback": overLoopback(t, w)} {
		in := c.storage.Objects.Insert("large", &storage.Object{Name: where}).Media(bytes.NewReader(content), googleapi.ChunkSize(256<<10))
		o := made[*storage.Object](t)(in.Do())
		if o.Size != uint64(len(content)) || c.read(t, "large", where) != string(content) {
			t.Errorf("%s: got %d bytes, want %d", where, o.Size, len(content))
		}
		get := c.storage.Objects.Get("large", where)
		get.Header().Set("Range", "bytes=16-31")
		a, err := get.Download()
		if err != nil {
			t.Fatal(err)
		}
		if b := made[[]byte](t)(io.ReadAll(a.Body)); string(b) != "0123456789abcdef" || a.StatusCode != 206 {
			t.Errorf("a range is %q, %d", b, a.StatusCode)
		}
		_ = a.Body.Close()
	}
}

func TestListsOfObjectsPage(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	c.bucket(t, "many")
	for _, name := range []string{"a/1", "a/2", "a/3", "a/4", "b/1", "c"} {
		made[*storage.Object](t)(c.write(t.Context(), "many", name, name, -1))
	}
	var names []string
	pages := 0
	if err := c.storage.Objects.List("many").Prefix("a/").Pages(t.Context(), func(o *storage.Objects) error {
		pages++
		for _, item := range o.Items {
			names = append(names, item.Name)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(names, []string{"a/1", "a/2", "a/3", "a/4"}) || pages != 2 {
		t.Errorf("got %v in %d pages", names, pages)
	}
	o := made[*storage.Objects](t)(c.storage.Objects.List("many").Delimiter("/").Do())
	if !slices.Equal(o.Prefixes, []string{"a/", "b/"}) || len(o.Items) != 1 {
		t.Errorf("got %v and %d items", o.Prefixes, len(o.Items))
	}
	err := c.storage.Buckets.Delete("many").Do()
	wantStatus(t, err, 409, "conflict")
	if got := w.Buckets(); !slices.Equal(got, []string{"many"}) {
		t.Errorf("got %v", got)
	}
}

// The client library retries a throttled upload as one call if retries are enabled. It does not
// retry other calls.
func TestObjectWriteRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := newWorld(t, gcptest.Options{ObjectInterval: time.Second, BucketInterval: 2 * time.Second})
		c.bucket(t, "record")
		_, err := c.storage.Buckets.Insert(project, &storage.Bucket{Name: "another"}).Do()
		wantStatus(t, err, 429, "rateLimitExceeded")
		w.Advance(2 * time.Second)
		c.bucket(t, "another")
		began := time.Now()
		first := made[*storage.Object](t)(c.write(t.Context(), "record", "state", "1", 0))
		made[*storage.Object](t)(c.write(t.Context(), "record", "state", "2", first.Generation))
		if took := time.Since(began); took < time.Second {
			t.Errorf("the second write took %v", took)
		}
		if n := w.Calls(); n != 5 {
			t.Errorf("are %d calls, want 5: attempts of one are no calls", n)
		}
	})
}

// After a lost response, the client library repeats a write and finds its own effect.
func TestRetryAfterLostResponseFindsOwnEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := newWorld(t, gcptest.Options{})
		c.bucket(t, "record")
		w.FailOp("storage.objects.insert", gcptest.LoseReplyOnce)
		_, err := c.write(t.Context(), "record", "state", "1", 0)
		wantStatus(t, err, 412, "conditionNotMet")
	})
}

// Each fault has its documented effect on a modifying call.
func TestFaultsOfStorage(t *testing.T) {
	t.Parallel()
	effect := map[faults.Fault]bool{faults.LoseReply: true, faults.KillAfter: true, faults.Stale: true, gcptest.FailOperation: true, gcptest.ForgetOperation: true}
	succeeds := map[faults.Fault]bool{faults.Stale: true, gcptest.FailOperation: true, gcptest.ForgetOperation: true}
	for _, f := range gcptest.Faults() { // the client library does not retry this call
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, c := newWorld(t, gcptest.Options{})
				w.FailOp("storage.buckets.insert", f)
				_, err := c.storage.Buckets.Insert(project, &storage.Bucket{Name: "one"}).Do()
				if (err == nil) != succeeds[f] {
					t.Errorf("got %v", err)
				}
				killed := f == faults.KillBefore || f == faults.KillAfter
				if killed != errors.Is(err, faults.ErrKilled) {
					t.Errorf("got %v", err)
				}
				w.Revive()
				if got := len(w.Buckets()) == 1; got != effect[f] {
					t.Errorf("has an effect: %v", got)
				}
			})
		})
	}
}

// A bucket with versioning is empty once every version was deleted by its generation.
func TestBucketVersioning(t *testing.T) {
	t.Parallel()
	_, c := newWorld(t, gcptest.Options{})
	made[*storage.Bucket](t)(c.storage.Buckets.Insert(project, &storage.Bucket{Name: "kept", Versioning: &storage.BucketVersioning{Enabled: true}}).Do())
	first := made[*storage.Object](t)(c.write(t.Context(), "kept", "x", "one", -1))
	made[*storage.Object](t)(c.write(t.Context(), "kept", "x", "two", -1))
	if err := c.storage.Objects.Delete("kept", "x").Do(); err != nil {
		t.Fatal(err)
	}
	_, err := c.storage.Objects.Get("kept", "x").Do()
	wantStatus(t, err, 404, "notFound")
	old := made[*storage.Object](t)(c.storage.Objects.Get("kept", "x").Generation(first.Generation).Do())
	if old.TimeDeleted == "" || len(made[*storage.Objects](t)(c.storage.Objects.List("kept").Do()).Items) != 0 {
		t.Errorf("got %+v, want a version that is not live", old)
	}
	wantStatus(t, c.storage.Buckets.Delete("kept").Do(), 409, "conflict")
	versions := made[*storage.Objects](t)(c.storage.Objects.List("kept").Versions(true).Do()).Items
	if len(versions) != 2 {
		t.Errorf("got %d versions, want 2", len(versions))
	}
	for _, v := range versions {
		if err := c.storage.Objects.Delete("kept", "x").Generation(v.Generation).Do(); err != nil {
			t.Error(err)
		}
	}
	if err := c.storage.Buckets.Delete("kept").Do(); err != nil {
		t.Error(err)
	}
}
