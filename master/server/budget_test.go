package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/server/body"
	"github.com/det-deploy/det-deploy/master/server/guard"
)

// patience is the time limit for operations that take milliseconds on an idle machine.
const patience = time.Minute

// answer sends a request whose body ends under the control of the test.
func (w *world) answer(t testing.TB, path, token string, from io.Reader, length int64) <-chan *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, from)
	r.ContentLength = length
	r.Header.Set("Authorization", "Bearer "+token)
	got := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, r)
		got <- rec
	}()
	return got
}

func await[T any](t testing.TB, from <-chan T, what string) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(patience):
		t.Fatalf("%s: nothing within %s", what, patience)
	}
	return got
}

func await503(t testing.TB, from <-chan *httptest.ResponseRecorder, what string) {
	t.Helper()
	if rec := await(t, from, what); rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" {
		t.Errorf("%s: got %d %s, want 503 with Retry-After", what, rec.Code, rec.Body)
	}
}

// contextOf returns a request with a file of n bytes.
func contextOf(n int) string {
	return `{"config":{"entrypoint":["true"]},"files":[{"path":"a","type":48,"content":"` +
		base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("abc"), n/3)) + `"},{"path":"b","type":53}]}`
}

func TestBodiesInMemoryAreLimitedInTotal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Limits.Bodies = 1 << 20 })
	w.room.Bodies.Wait = 100 * time.Millisecond
	slow, hold := io.Pipe()
	const length = 500 << 10 // which counts twice
	first := w.answer(t, "/api/v1/job-queues", w.user, slow, length)
	if _, err := hold.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	body := `{"updates":[` + strings.Repeat(" ", 100<<10) + "]}"
	await503(t, w.answer(t, "/api/v1/job-queues", w.user, strings.NewReader(body), int64(len(body))), "a body for which there is no room")
	if rec := w.ask(t, "GET", "/api/v1/me", w.user, ""); rec.Code != http.StatusOK {
		t.Errorf("a call without a body: got %d, want 200", rec.Code)
	}
	if _, err := fmt.Fprint(hold, strings.Repeat(" ", length-2)+"}"); err != nil {
		t.Fatal(err)
	}
	if rec := await(t, first, "the slow body"); rec.Code != http.StatusOK {
		t.Errorf("the slow body: got %d %s, want 200", rec.Code, rec.Body)
	}
	if rec := w.ask(t, "POST", "/api/v1/job-queues", w.user, body); rec.Code != http.StatusOK {
		t.Errorf("after it: got %d %s, want 200", rec.Code, rec.Body)
	}
}

func TestSmallRequestsDoNotWaitForLargeOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Limits.Bodies = 4 << 20 })
	w.cluster.launching, w.cluster.goOn = make(chan struct{}), make(chan struct{})
	w.room.Decoding.Wait = 100 * time.Millisecond
	large := contextOf(2 << 20)
	var under []<-chan *httptest.ResponseRecorder
	for range guard.Decodings {
		under = append(under, w.answer(t, "/api/v1/commands", w.user, strings.NewReader(large), int64(len(large))))
	}
	for range guard.Decodings {
		await(t, w.cluster.launching, "a launch")
	}
	await503(t, w.answer(t, "/api/v1/commands", w.user, strings.NewReader(large), int64(len(large))), "one context too many")
	if rec := w.ask(t, "POST", "/api/v1/job-queues", w.user, `{"updates":[]}`); rec.Code != http.StatusOK {
		t.Errorf("a small request: got %d %s, want 200", rec.Code, rec.Body)
	}
	close(w.cluster.goOn)
	for _, u := range under {
		if rec := await(t, u, "a launch"); rec.Code != http.StatusOK {
			t.Errorf("got %d %s, want 200", rec.Code, rec.Body)
		}
	}
	for _, r := range w.cluster.launched {
		if got := r.GetFiles(); len(got) != 2 || len(got[0].GetContent()) != 2<<20/3*3 || got[1].GetPath() != "b" {
			t.Errorf("got %d files, want both with their contents", len(got))
		}
	}
}

func TestDecodedSmallBodiesAreLimitedInTotal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cluster.launching, w.cluster.goOn = make(chan struct{}), make(chan struct{})
	w.room.Values.Wait = 100 * time.Millisecond
	const each = 100_000
	body := `{"config":{"entrypoint":[1` + strings.Repeat(",1", each) + `]}}`
	var under []<-chan *httptest.ResponseRecorder
	for range guard.MostValueBytes / (each * guard.ValueBytes) {
		under = append(under, w.answer(t, "/api/v1/commands", w.user, strings.NewReader(body), int64(len(body))))
		await(t, w.cluster.launching, "a launch")
	}
	await503(t, w.answer(t, "/api/v1/commands", w.user, strings.NewReader(body), int64(len(body))), "values for which there is no room")
	if rec := w.ask(t, "POST", "/api/v1/job-queues", w.user, `{"updates":[]}`); rec.Code != http.StatusOK {
		t.Errorf("a request of few values: got %d %s, want 200", rec.Code, rec.Body)
	}
	close(w.cluster.goOn)
	for _, u := range under {
		if rec := await(t, u, "a launch"); rec.Code != http.StatusOK {
			t.Errorf("got %d %.200s, want 200", rec.Code, rec.Body)
		}
	}
}

func TestLargeBodiesInFilesAreLimitedInTotal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Limits.Spooled = 3 << 20 })
	w.room.Spooled.Wait = 100 * time.Millisecond
	slow, hold := io.Pipe()
	large := contextOf(1500 << 10)
	first := w.answer(t, "/api/v1/commands", w.user, slow, int64(len(large)))
	if _, err := fmt.Fprint(hold, large[:1]); err != nil {
		t.Fatal(err)
	}
	await503(t, w.answer(t, "/api/v1/commands", w.user, strings.NewReader(large), int64(len(large))), "a body for which there is no room")
	if names, err := os.ReadDir(w.room.Place.Dir); err != nil || len(names) > 0 {
		t.Errorf("got %v, %v, want no file that outlives the process", names, err)
	}
	if _, err := fmt.Fprint(hold, large[1:]); err != nil {
		t.Fatal(err)
	}
	_ = hold.Close()
	if rec := await(t, first, "the slow body"); rec.Code != http.StatusOK {
		t.Errorf("the slow body: got %d %s, want 200", rec.Code, rec.Body)
	}
}

func TestLargeBodiesPerUserAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	large := contextOf(2 << 20)
	var ends []*io.PipeWriter
	for range guard.LargeEach {
		slow, hold := io.Pipe()
		w.answer(t, "/api/v1/commands", w.user, slow, int64(len(large)))
		if _, err := hold.Write([]byte("{")); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, hold)
	}
	await503(t, w.answer(t, "/api/v1/commands", w.user, strings.NewReader(large), int64(len(large))), "one more")
	if rec := await(t, w.answer(t, "/api/v1/commands", w.admin, strings.NewReader(large), int64(len(large))), "another user's"); rec.Code != http.StatusOK {
		t.Errorf("another user's: got %d %s, want 200", rec.Code, rec.Body)
	}
	for _, end := range ends {
		_ = end.CloseWithError(io.ErrUnexpectedEOF)
	}
}

func TestSiftLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := strings.Repeat("1,", mostValues+1) + "1"
	for name, body := range map[string]string{
		"values in a small body": `{"config":{"entrypoint":[` + many + `]}}`,
		"values in a large body": `{"config":{"entrypoint":[` + many + `]},"data":"` + strings.Repeat("A", 2<<20) + `"}`,
		"files":                  `{"files":[{}` + strings.Repeat(",{}", mostFiles) + strings.Repeat(" ", 1<<20) + `]}`,
		"no base64":              `{"files":[{"content":"` + strings.Repeat("?", 2<<20) + `"}]}`,
	} {
		if rec := w.ask(t, "POST", "/api/v1/commands", w.user, body); rec.Code != http.StatusBadRequest {
			t.Errorf("%s: got %d %.200s, want 400", name, rec.Code, rec.Body)
		}
	}
}

// deaf is a client that does not read its response until it is allowed to.
type deaf struct {
	*httptest.ResponseRecorder
	writes, goOn chan struct{}
}

func (d deaf) Write(b []byte) (int, error) {
	d.writes <- struct{}{}
	<-d.goOn
	return d.ResponseRecorder.Write(b)
}

func TestSlowReaderHoldsNoResources(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		fail error
		body string
		code int
	}{
		{"a launch", nil, contextOf(2 << 20), http.StatusOK},
		{"a refusal", status.New(status.InvalidArgument, "not this one"), contextOf(2 << 20), http.StatusBadRequest},
		{"a body that is not taken", nil, contextOf(2<<20) + "}", http.StatusBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *Config) { c.Limits.Spooled = 6 << 20 })
			w.cluster.fail = tt.fail
			w.room.Decoding.Wait, w.room.Spooled.Wait = patience/2, patience/2
			writes, goOn := make(chan struct{}), make(chan struct{})
			codes := make(chan int)
			for range 2 * guard.Decodings {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/commands", strings.NewReader(tt.body))
				r.Header.Set("Authorization", "Bearer "+w.user)
				own := deaf{httptest.NewRecorder(), writes, goOn}
				go func() { w.handler.ServeHTTP(own, r); codes <- own.Code }()
			}
			for i := range 2 * guard.Decodings {
				await(t, writes, fmt.Sprintf("answer %d, while the others are not read", i+1))
			}
			close(goOn)
			for range 2 * guard.Decodings {
				if code := await(t, codes, "the end of a call"); code != tt.code {
					t.Errorf("got %d, want %d: it waited for unread responses", code, tt.code)
				}
			}
		})
	}
}

func TestLoginLimitFitsLongestPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct {
		name, password string
		code           int
	}{
		{"the longest that is compared", strings.Repeat("a", 4<<10), http.StatusUnauthorized},
		{"a longer body", strings.Repeat("a", loginLimit), http.StatusRequestEntityTooLarge},
		{"many values", `","x":[1` + strings.Repeat(",1", guard.FewValues+1) + `],"y":"`, http.StatusBadRequest},
	} {
		if rec := w.ask(t, "POST", "/api/v1/auth/login", "", `{"username":"admin","password":"`+tt.password+`"}`); rec.Code != tt.code {
			t.Errorf("%s: got %d %.200s, want %d", tt.name, rec.Code, rec.Body, tt.code)
		}
	}
}

func TestOversizedContentLengthIsRejectedUnread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Limits.Bodies, c.Limits.Spooled = small*guard.Copies, large })
	for path, length := range map[string]int64{"commands": 4e15, "job-queues": 10 << 30, "auth/login": loginLimit + 1} {
		slow, hold := io.Pipe() // nothing ever arrives
		got := w.answer(t, "/api/v1/"+path, w.user, slow, length)
		if rec := await(t, got, path); rec.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: got %d %s, want 413", path, rec.Code, rec.Body)
		}
		_ = hold.Close()
	}
}

func TestLargeBodiesLeaveDiskSpaceForDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.room.Place.Keep = 1 << 60 // more than any disk has
	body := contextOf(2 << 20)
	await503(t, w.answer(t, "/api/v1/commands", w.user, strings.NewReader(body), int64(len(body))), "a body for which the disk has no room")
	if rec := w.ask(t, "POST", "/api/v1/job-queues", w.user, `{"updates":[]}`); rec.Code != http.StatusOK {
		t.Errorf("a small request: got %d %s, want 200", rec.Code, rec.Body)
	}
	w = newWorld(t)
	if w.room.Place.Keep < 256<<20 {
		t.Errorf("%d bytes stay free for the database, want 256 MiB", w.room.Place.Keep)
	}
}

func TestFullDiskReturnsUnavailable(t *testing.T) {
	t.Parallel()
	err := asRefusal(&body.DiskError{Err: os.ErrPermission})
	if got := httpOf(err); got != http.StatusServiceUnavailable {
		t.Errorf("got %d for %v, want 503", got, err)
	}
}

func TestInterruptedContextDownloadIsTruncated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rec := w.ask(t, "GET", "/api/v1/tasks/t1/context_directory", w.user, "")
	if rec.Code != http.StatusOK || rec.Body.String() != `{"b64Tgz":"AQIDBAU="}` {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
	w.cluster.torn = true
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.serve(t).URL+"/api/v1/tasks/t1/context_directory", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.user)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	if b, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("got %s as if it were whole", b)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestFollowedLogsPerUserAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Limits.Streams = 2 })
	hs := w.serve(t)
	follow := func(ctx context.Context, token string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, hs.URL+"/api/v1/tasks/t1/logs?follow=true", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := hs.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	leaving, leave := context.WithCancel(t.Context())
	defer leave()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, c := range []context.Context{leaving, ctx} {
		if res := follow(c, w.user); res.StatusCode != http.StatusOK {
			t.Fatalf("got %s, want 200", res.Status)
		}
	}
	if res := follow(ctx, w.user); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("the third: got %s, want 429 with Retry-After", res.Status)
	}
	if res := follow(ctx, w.admin); res.StatusCode != http.StatusOK {
		t.Errorf("another user's: got %s, want 200", res.Status)
	}
	leave()
	for end := time.Now().Add(patience); follow(ctx, w.user).StatusCode != http.StatusOK; {
		if time.Now().After(end) {
			t.Fatal("one that ended still counts")
		}
	}
}
