package api_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// bubble runs a test with a fake clock.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

const (
	busyBody    = `{"error":{"code":429,"message":"slow down","errors":[{"reason":"rateLimitExceeded","message":"slow down"}]}}`
	brokenBody  = `{"error":{"code":503,"message":"sorry","errors":[{"reason":"backendError","message":"sorry"}]}}`
	doneBody    = `{"name":"operation-1","status":"DONE"}`
	runningBody = `{"name":"operation-1","status":"RUNNING","zone":"https://x/zones/us-central1-a"}`
	noneBody    = `{"error":{"code":404,"message":"none","errors":[{"reason":"notFound","message":"none"}]}}`
)

// script returns its responses in order and repeats the last one.
type script struct {
	steps    []roundTrip
	requests []*http.Request
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, r)
	step := s.steps[min(len(s.requests), len(s.steps))-1]
	return step(r)
}

func says(status int, body string) roundTrip {
	return func(r *http.Request) (*http.Response, error) { return answer(r, status, body), nil }
}

func fails(err error) roundTrip {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func TestRetries(t *testing.T) {
	t.Parallel()
	lost := fails(io.ErrUnexpectedEOF)
	unreachable := fails(&net.OpError{Op: "dial", Err: errors.New("refused")})
	read := func(ctx context.Context, c api.Clients) error {
		_, err := api.Do(ctx, c.Compute.Networks.Get(c.Project, "x"))
		return err
	}
	change := func(ctx context.Context, c api.Clients) error {
		return api.Run(ctx, c, c.Compute.Networks.Insert(c.Project, &compute.Network{Name: "x"}))
	}
	once := func(ctx context.Context, c api.Clients) error {
		return api.Send(ctx, c.IAM.Projects.ServiceAccounts.Create("projects/"+c.Project, &iam.CreateServiceAccountRequest{AccountId: "x"}))
	}
	patch := func(ctx context.Context, c api.Clients) error {
		return api.Send(ctx, c.Storage.Buckets.Patch("x", &storage.Bucket{}))
	}
	conditional := func(ctx context.Context, c api.Clients) error {
		return api.Delete(ctx, c.Storage.Objects.Delete("x", "o").IfGenerationMatch(1))
	}
	for _, tc := range []struct {
		name     string
		call     func(context.Context, api.Clients) error
		steps    []roundTrip
		kind     cloud.Kind
		requests int
	}{
		{"a read that came too soon", read, []roundTrip{says(429, busyBody)}, cloud.RateLimited, 10},
		{"a read that came too soon once", read, []roundTrip{says(429, busyBody), says(200, "{}")}, "", 2},
		{"a read that was lost", read, []roundTrip{lost}, cloud.Unavailable, 5},
		{"a read that is refused", read, []roundTrip{says(404, noneBody)}, cloud.NotFound, 1},
		{"a change that came too soon", change, []roundTrip{says(429, busyBody)}, cloud.RateLimited, 10},
		{"a change that was lost", change, []roundTrip{lost}, cloud.Ambiguous, 5},
		{"a change whose answer was lost", change, []roundTrip{lost, says(200, doneBody)}, "", 2},
		{"a change that broke", change, []roundTrip{says(503, brokenBody), says(200, doneBody)}, "", 2},
		{"a read that is answered with status 503", read, []roundTrip{says(503, brokenBody)}, cloud.Unavailable, 10},
		{"a throttled change whose answers are lost", change, []roundTrip{lost, says(429, busyBody), lost, says(429, busyBody), lost, lost, says(200, doneBody)}, "", 7},
		{"a change that never left", change, []roundTrip{unreachable}, cloud.Unavailable, 5},
		{"a write to a bucket that was lost", patch, []roundTrip{lost, says(200, "{}")}, "", 2},
		{"a conditional write that was lost", conditional, []roundTrip{lost}, cloud.Ambiguous, 1},
		{"a change without a requestId that was lost", once, []roundTrip{lost}, cloud.Ambiguous, 1},
		{"a change without a requestId that broke", once, []roundTrip{says(503, brokenBody)}, cloud.Ambiguous, 1},
		{"a change without a requestId that came too soon", once, []roundTrip{says(429, busyBody), says(200, "{}")}, "", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &script{steps: tc.steps}
				err := tc.call(t.Context(), clients(t, s.RoundTrip, api.Options{}))
				if cloud.KindOf(err) != tc.kind || len(s.requests) != tc.requests {
					t.Errorf("got %q of %v after %d requests, want %q after %d", cloud.KindOf(err), err, len(s.requests), tc.kind, tc.requests)
				}
				wantOneCall(t, s.requests)
			})
		})
	}
}

// wantOneCall checks that all requests have the same requestId and consecutive attempt numbers.
func wantOneCall(t *testing.T, requests []*http.Request) {
	t.Helper()
	id, _, _ := strings.Cut(requests[0].Header.Get("X-Goog-Api-Client"), " gccl-attempt-count/")
	for i, r := range requests {
		if got, want := r.URL.Query().Get("requestId"), requests[0].URL.Query().Get("requestId"); got != want {
			t.Errorf("attempt %d: got requestId %q, want that of the first, %q", i+1, got, want)
		}
		want := id + " gccl-attempt-count/" + strconv.Itoa(i+1) + " "
		if got := r.Header.Get("X-Goog-Api-Client"); !strings.HasPrefix(got, want) || !strings.HasPrefix(id, "gccl-invocation-id/") {
			t.Errorf("attempt %d: got %q, want it to begin with %q", i+1, got, want)
		}
		if got := r.Header.Get("User-Agent"); !strings.HasSuffix(got, " det-deploy") {
			t.Errorf("got user agent %q, want ours in it", got)
		}
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		steps    []roundTrip
		kind     cloud.Kind
		requests int
		text     string
	}{
		{"done at once", []roundTrip{says(200, doneBody)}, "", 1, ""},
		{"waited for twice", []roundTrip{says(200, runningBody), says(200, runningBody), says(200, doneBody)}, "", 3, ""},
		{"a wait whose answer was lost is resumed", []roundTrip{says(200, runningBody), fails(io.ErrUnexpectedEOF), says(200, doneBody)}, "", 3, ""},
		{
			"a forgotten operation leaves the outcome unknown",
			[]roundTrip{says(200, runningBody), says(404, noneBody)},
			cloud.Ambiguous, 2,
			"compute.instances.insert: wait for operation operation-1: compute.zoneOperations.wait: none (notFound)",
		},
		{"no response to the wait", []roundTrip{says(200, runningBody), fails(io.ErrUnexpectedEOF)}, cloud.Ambiguous, 6, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &script{steps: tc.steps}
				c := clients(t, s.RoundTrip, api.Options{})
				err := api.Run(t.Context(), c, c.Compute.Instances.Insert(c.Project, "us-central1-a", &compute.Instance{Name: "x"}))
				if cloud.KindOf(err) != tc.kind || len(s.requests) != tc.requests {
					t.Errorf("got %q of %v after %d requests, want %q after %d", cloud.KindOf(err), err, len(s.requests), tc.kind, tc.requests)
				}
				if tc.text != "" && err.Error() != tc.text {
					t.Errorf("got %q, want %q", err, tc.text)
				}
			})
		})
	}
}

// An operation is zonal, regional or global, and must be polled in its scope.
func TestOperationsArePolledInTheirScope(t *testing.T) {
	t.Parallel()
	for where, path := range map[string]string{
		`"zone":"https://x/zones/us-central1-b"`:   "/compute/v1/projects/vision-lab/zones/us-central1-b/operations/operation-1/wait",
		`"region":"https://x/regions/us-central1"`: "/compute/v1/projects/vision-lab/regions/us-central1/operations/operation-1/wait",
		`"kind":"compute#operation"`:               "/compute/v1/projects/vision-lab/global/operations/operation-1/wait",
	} {
		s := &script{steps: []roundTrip{says(200, `{"name":"operation-1","status":"PENDING",`+where+`}`), says(200, doneBody)}}
		c := clients(t, s.RoundTrip, api.Options{})
		err := api.Run(t.Context(), c, c.Compute.Networks.Delete(c.Project, "x"))
		if got := s.requests[1].URL.Path; err != nil || got != path {
			t.Errorf("got %v and a wait at %s, want %s", err, got, path)
		}
	}
}

func TestDeleteDoesNotWait(t *testing.T) {
	t.Parallel()
	s := &script{steps: []roundTrip{says(200, runningBody)}}
	c := clients(t, s.RoundTrip, api.Options{})
	if err := api.Begin(t.Context(), c, c.Compute.Instances.Delete(c.Project, "us-central1-a", "x")); err != nil || len(s.requests) != 1 {
		t.Errorf("got %v after %d requests, want one that is not waited for", err, len(s.requests))
	}
}

func TestCanceledCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{steps: []roundTrip{says(200, runningBody), func(r *http.Request) (*http.Response, error) {
		cancel()
		return nil, r.Context().Err()
	}}}
	c := clients(t, s.RoundTrip, api.Options{})
	err := api.Run(ctx, c, c.Compute.Networks.Insert(c.Project, &compute.Network{Name: "x"}))
	if cloud.KindOf(err) != cloud.Ambiguous || !errors.Is(err, context.Canceled) {
		t.Errorf("while waiting: got %q of %v, want ambiguous and cancelled", cloud.KindOf(err), err)
	}
	before := len(s.requests)
	err = api.Run(ctx, c, c.Compute.Networks.Insert(c.Project, &compute.Network{Name: "x"}))
	if cloud.KindOf(err) == cloud.Ambiguous || !errors.Is(err, context.Canceled) || len(s.requests) != before {
		t.Errorf("before: got %q of %v, want that nothing was sent", cloud.KindOf(err), err)
	}
}

func TestTheGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []roundTrip{says(429, busyBody)}}
		gate := new(resource.Gate)
		c := clients(t, s.RoundTrip, api.Options{Gate: gate})
		err := api.Run(t.Context(), c, c.Compute.Networks.Delete(c.Project, "x"))
		if want := "compute.networks.delete: " + resource.ErrReadOnly.Error(); !errors.Is(err, resource.ErrReadOnly) || err.Error() != want || len(s.requests) != 0 {
			t.Errorf("closed: got %v and %d requests, want %q and none", err, len(s.requests), want)
		}
		if _, err := api.Do(t.Context(), c.Compute.Networks.Get(c.Project, "x")); errors.Is(err, resource.ErrReadOnly) {
			t.Errorf("closed: got %v for a look, want it to pass", err)
		}
		throttled := len(s.requests)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		_, err = api.Do(wait.Outlive(ctx), c.Compute.Networks.Get(c.Project, "x"))
		if !errors.Is(err, context.Canceled) || cloud.KindOf(err) != cloud.RateLimited || len(s.requests) != throttled+1 {
			t.Errorf("stopped by the user: got %v after %d requests, want the refusal of one", err, len(s.requests)-throttled)
		}
		errLost := errors.New("lease lost")
		asked, before := 0, len(s.requests)
		gate.Open(func(context.Context) error {
			if asked++; asked > 1 {
				return errLost
			}
			return nil
		})
		err = api.Run(t.Context(), c, c.Compute.Networks.Delete(c.Project, "x"))
		if !errors.Is(err, errLost) || len(s.requests) != before+1 {
			t.Errorf("lost between two attempts: got %v after %d requests, want %v after 1", err, len(s.requests)-before, errLost)
		}
	})
}

// No object may count as deleted because its zone is unreachable.
func TestIncompleteListFails(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"items":{"zones/us-central1-a":{"instances":[{"name":"x"}]}},"unreachables":["zones/us-central1-b"]}`,
		`{"items":{"zones/us-central1-a":{"instances":[{"name":"x"}]},"zones/us-central1-b":{"warning":{"code":"UNREACHABLE"}}}}`,
	} {
		got, err := clients(t, says(200, body), api.Options{}).ListInstances(t.Context(), "")
		want := "compute.instances.aggregatedList: the list is incomplete: Google cannot reach zones/us-central1-b"
		if len(got) != 0 || cloud.KindOf(err) != cloud.Unavailable || err.Error() != want {
			t.Errorf("got %v and %v, want %q", got, err, want)
		}
	}
	body := `{"items":{"zones/us-central1-a":{"instances":[{"name":"x"}]},"zones/us-central1-b":{"warning":{"code":"NO_RESULTS_ON_PAGE"}}}}`
	if got, err := clients(t, says(200, body), api.Options{}).ListInstances(t.Context(), ""); len(got) != 1 || err != nil {
		t.Errorf("got %v and %v, want the one machine there is", got, err)
	}
}

// A response that is not valid JSON counts as lost.
func TestDamagedResponseIsRetried(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &script{steps: []roundTrip{says(200, `{"name":`), says(200, "<html>"), says(200, `{"name":"x"}`)}}
		c := clients(t, s.RoundTrip, api.Options{})
		got, err := api.Do(t.Context(), c.Compute.Networks.Get(c.Project, "x"))
		if err != nil || got.Name != "x" || len(s.requests) != 3 {
			t.Errorf("got %v after %d requests, want the third answer", err, len(s.requests))
		}
	})
}

// Every request needs an entry in the table, so that no call is made without its permissions.
func TestUnlistedCallFails(t *testing.T) {
	t.Parallel()
	s := &script{steps: []roundTrip{says(200, "{}")}}
	c := clients(t, s.RoundTrip, api.Options{})
	_, err := api.Do(t.Context(), c.Compute.Licenses.Get(c.Project, "x"))
	if cloud.KindOf(err) != cloud.Invalid || len(s.requests) != 0 {
		t.Errorf("got %v after %d requests, want an error and none", err, len(s.requests))
	}
}

func TestListReadsAllPages(t *testing.T) {
	t.Parallel()
	s := &script{steps: []roundTrip{says(200, `{"items":[{"name":"a"}],"nextPageToken":"more"}`), says(200, `{"items":[{"name":"b"}]}`)}}
	c := clients(t, s.RoundTrip, api.Options{})
	got, err := api.List(t.Context(), c.Compute.Networks.List(c.Project).Filter(`name="x"`), func(p *compute.NetworkList) []*compute.Network { return p.Items })
	if err != nil || len(got) != 2 || s.requests[1].URL.Query().Get("pageToken") != "more" || s.requests[1].URL.Query().Get("filter") != `name="x"` {
		t.Errorf("got %d networks and %v with %s, want both pages", len(got), err, s.requests[1].URL)
	}
}
