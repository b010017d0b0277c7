// Package metadata asks the metadata server of a Compute Engine machine, which answers
// only on that machine.
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

// DefaultURL is the metadata server of every machine.
const DefaultURL = "http://metadata.google.internal"

// hostVariable names another metadata server, for Google's libraries and for us.
const hostVariable = "GCE_METADATA_HOST"

// answerLimit is far above what is asked for.
const answerLimit = 64 << 10

// Server is a metadata server. The zero value is the machine's own.
type Server struct {
	// URL is where it is; empty is DefaultURL, or what GCE_METADATA_HOST says.
	URL string
	// Transport carries the requests; nil is the usual one, without a proxy.
	Transport http.RoundTripper
}

// Read returns a value: "instance/name". NotFound means that the machine has none,
// Unavailable that the server does not answer, as on machines of other platforms.
func (s Server) Read(ctx context.Context, key string) (string, error) {
	text, _, err := s.ask(ctx, http.MethodGet, key, "")
	return strings.TrimSpace(text), err
}

// Await returns a value once it differs from the one with that tag, or after the wait, and
// the tag of what it returns. An empty tag is of no value. The wait counts whole seconds.
func (s Server) Await(ctx context.Context, key, tag string, wait time.Duration) (value, now string, err error) {
	query := url.Values{"wait_for_change": {"true"}, "last_etag": {cmp.Or(tag, "0")}, "timeout_sec": {strconv.Itoa(int(wait.Seconds()))}}
	ctx, cancel := context.WithTimeout(ctx, wait+awaitMargin)
	defer cancel()
	value, now, err = s.ask(ctx, http.MethodGet, key+"?"+query.Encode(), "")
	return strings.TrimSpace(value), now, err
}

// awaitMargin is how much later than asked for an answer may come.
const awaitMargin = 15 * time.Second

// Write sets a value that the machine itself may set: "instance/guest-attributes/…".
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
		return "", "", refuse(cloud.Unavailable, key, fmt.Errorf("what answers at %s is not a metadata server of Google", s.base()))
	case answer.StatusCode == http.StatusOK:
		return string(body), answer.Header.Get("Etag"), nil
	}
	return "", "", refuse(kindOf(answer.StatusCode), key, fmt.Errorf("the answer is %s", answer.Status))
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

// transport never goes through a proxy: the server answers its own machine alone.
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
	return &cloud.Error{Kind: kind, Op: "ask this machine's metadata server for " + key, Err: err}
}
