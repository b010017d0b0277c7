// Package client is a Go program's way to a master: typed calls of its HTTP
// API, a pinned certificate, retries of what had no effect, and log streams
// that survive a restart of the master.
//
// It is a leaf: it imports the API's messages and nothing else of ours.
package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config says which master to talk to, and as whom.
type Config struct {
	// URL is the master's base address: "https://10.0.0.5:8443".
	URL string
	// Token is a session's or an agent's token; empty before a login.
	Token string
	// CA is a PEM bundle that signs the master's certificate. Empty means the
	// system's authorities.
	CA []byte
	// ServerName is the name to expect in the certificate where it is not the
	// host of URL.
	ServerName string
	// Fingerprint is the SHA-256 of the master's certificate in hex. With it
	// exactly that certificate is accepted, whichever authority signed it.
	Fingerprint string
	// RetryFor limits how long one call is tried again while the master is out of
	// reach or starting. Zero means DefaultRetryFor.
	RetryFor time.Duration
	// Away is called each time that a followed log has waited for RetryFor for a
	// master that had answered before; it keeps waiting. It may be nil.
	Away func(err error)
}

// DefaultRetryFor outlasts the restart of a master on the same machine, and not
// the patience of a person at a terminal.
const DefaultRetryFor = 10 * time.Second

// Client talks to one master. It may be used by several goroutines.
type Client struct {
	*transport
	sessions
	users
	tasks
	experiments
	trials
	machines
	queue
	logs
	checkpoints
	models
	resources
}

// transport sends calls to one master and reads the answers.
type transport struct {
	base     *url.URL
	token    string
	retryFor time.Duration
	away     func(error)
	http     *http.Client
}

// New returns a client. Nothing is sent yet.
func New(cfg Config) (*Client, error) {
	base, err := ParseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	tlsConfig, err := pinned(cfg)
	if err != nil {
		return nil, fmt.Errorf("talk to master %s: %w", base, err)
	}
	if cfg.RetryFor == 0 {
		cfg.RetryFor = DefaultRetryFor
	}
	t := &transport{
		base:     base,
		token:    cfg.Token,
		retryFor: cfg.RetryFor,
		away:     cfg.Away,
		http: &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			TLSClientConfig:       tlsConfig,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: time.Minute, // a launch with a large context has to be stored first
			ForceAttemptHTTP2:     true,
		}},
	}
	return &Client{
		transport: t, sessions: sessions{t}, users: users{t}, tasks: tasks{t}, experiments: experiments{t}, trials: trials{t},
		checkpoints: checkpoints{t}, models: models{t}, resources: resources{t}, machines: machines{t}, queue: queue{t}, logs: logs{t},
	}, nil
}

// URL is the master's base address.
func (t *transport) URL() string { return t.base.String() }

// Close lets go of idle connections.
func (t *transport) Close() { t.http.CloseIdleConnections() }

// ParseURL reads the address of a master. A host or host:port alone means http
// and port 8080, as the det client has it.
func ParseURL(s string) (*url.URL, error) {
	if s == "" {
		return nil, errors.New("the address of the master is empty")
	}
	full := s
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not the address of a master, such as https://host:8443", s)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the address of a master begins with http:// or https://, not with %s://", u.Scheme)
	}
	if u.Port() == "" && !strings.Contains(s, "://") {
		u.Host += ":8080"
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}
