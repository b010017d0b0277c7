// Package metadata is a client of the Compute Engine metadata server, which is reachable only from
// the instance itself.
package metadata

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// DefaultURL is the URL of the metadata server on every instance.
const DefaultURL = "http://metadata.google.internal"

// hostVariable is the environment variable that overrides the metadata server, as in Google's
// libraries.
const hostVariable = "GCE_METADATA_HOST"

// answerLimit is the maximum size of a response. Actual values are much smaller.
const answerLimit = 64 << 10

// Server is a metadata server. The zero value is the instance's own.
type Server struct {
	// URL is its URL. If it is empty, GCE_METADATA_HOST or else DefaultURL is used.
	URL string
	// Transport sends the requests. Nil uses a default transport without a proxy.
	Transport http.RoundTripper
}

// Read returns a value: "instance/name". It returns a NotFound error if the instance does not have
// the value, and an Unavailable error if the server does not respond, as on other platforms.
func (s Server) Read(ctx context.Context, key string) (string, error) {
	text, _, err := s.ask(ctx, http.MethodGet, key, "")
	return strings.TrimSpace(text), err
}

// Await returns a value once its ETag differs from tag, or after the wait, and its current ETag. An
// empty tag matches no value. The wait has a resolution of seconds.
func (s Server) Await(ctx context.Context, key, tag string, wait time.Duration) (value, now string, err error) {
	query := url.Values{"wait_for_change": {"true"}, "last_etag": {cmp.Or(tag, "0")}, "timeout_sec": {strconv.Itoa(int(wait.Seconds()))}}
	ctx, cancel := context.WithTimeout(ctx, wait+awaitMargin)
	defer cancel()
	value, now, err = s.ask(ctx, http.MethodGet, key+"?"+query.Encode(), "")
	return strings.TrimSpace(value), now, err
}

// awaitMargin is the additional time for a response after the wait.
const awaitMargin = 15 * time.Second

// Write sets a value that the instance may write: "instance/guest-attributes/…".
func (s Server) Write(ctx context.Context, key, value string) error {
	_, _, err := s.ask(ctx, http.MethodPut, key, value)
	return err
}

func (s Server) ask(ctx context.Context, method, key, value string) (text, tag string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base()+"/computeMetadata/v1/"+key, strings.NewReader(value))
	if err != nil {
		return "", "", refuse(cloud.Invalid, key, err)
	}
	req.Header.Set("Metadata-Flavor", "Google")
	client := http.Client{Transport: s.transport()}
	answer, err := client.Do(req)
	if err != nil {
		return "", "", refuse(cloud.Unavailable, key, err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, answerLimit))
	switch {
	case err != nil:
		return "", "", refuse(cloud.Unavailable, key, err)
	case answer.Header.Get("Metadata-Flavor") != "Google":
		return "", "", refuse(cloud.Unavailable, key, fmt.Errorf("the server at %s is not a Google metadata server", s.base()))
	case answer.StatusCode == http.StatusOK:
		return string(body), answer.Header.Get("Etag"), nil
	}
	return "", "", refuse(kindOf(answer.StatusCode), key, fmt.Errorf("HTTP status %s", answer.Status))
}

func (s Server) base() string {
	if s.URL != "" {
		return strings.TrimSuffix(s.URL, "/")
	}
	if host := os.Getenv(hostVariable); host != "" {
		return "http://" + host
	}
	return DefaultURL
}

// transport never uses a proxy, because the server responds to its own instance only.
func (s Server) transport() http.RoundTripper {
	if s.Transport != nil {
		return s.Transport
	}
	return &http.Transport{DisableKeepAlives: true}
}

func kindOf(status int) cloud.Kind {
	switch status {
	case http.StatusNotFound:
		return cloud.NotFound
	case http.StatusForbidden:
		return cloud.Denied
	case http.StatusTooManyRequests:
		return cloud.RateLimited
	}
	return cloud.Unavailable
}

func refuse(kind cloud.Kind, key string, err error) error {
	key, _, _ = strings.Cut(key, "?")
	return &cloud.Error{Kind: kind, Op: "read the instance metadata: " + key, Err: err}
}
