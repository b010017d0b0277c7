package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/api/logging/v2"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// Cloud Logging deduplicates entries with the same timestamp and insertId, therefore they are sent
// again after a lost response.
func TestLogEntriesAreRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		c := clients(t, func(*http.Request) (*http.Response, error) {
			sent++
			return nil, io.ErrUnexpectedEOF
		}, api.Options{})
		in := &logging.WriteLogEntriesRequest{Entries: []*logging.LogEntry{{InsertId: "1", Timestamp: "2026-11-22T10:00:00Z"}}}
		err := api.Send(t.Context(), c.Logging.Entries.Write(in))
		if cloud.KindOf(err) != cloud.Ambiguous || sent != 5 {
			t.Errorf("got %v after %d requests, want 5", err, sent)
		}
	})
}

// Fetch returns an error if the response is truncated or the destination cannot be written.
func TestFetchFailsOnTruncatedObject(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	c := clients(t, func(r *http.Request) (*http.Response, error) {
		out := answer(r, 200, "")
		out.ContentLength = -1
		out.Body = io.NopCloser(io.MultiReader(strings.NewReader("half"), failing{broken}))
		return out, nil
	}, api.Options{})
	var got bytes.Buffer
	if err := c.Fetch(t.Context(), "control", "bin/x", &got); !errors.Is(err, broken) || got.String() != "half" || !strings.Contains(err.Error(), "read bin/x of bucket control") {
		t.Errorf("got %q, %v", got.String(), err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// closed records that a body was closed.
type closed struct {
	io.Reader

	done bool
}

func (c *closed) Close() error {
	c.done = true
	return nil
}

func TestNoRequestWithoutToken(t *testing.T) {
	t.Parallel()
	next := roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("got a request")
		return nil, io.EOF
	})
	body := &closed{Reader: strings.NewReader("x")}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://logging.googleapis.com/", body)
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.WithToken(next, tokenError).RoundTrip(r)
	if !errors.Is(err, errNoToken) || !body.done {
		t.Errorf("got %v, body closed: %v", err, body.done)
	}
}

var errNoToken = errors.New("this machine has no service account")

func tokenError(context.Context) (string, error) { return "", errNoToken }
