// Package client is the Go client for the master API. It has typed calls, certificate pinning,
// retries of calls that had no effect, and log streams that survive a restart of the master.
//
// Of this module, it imports only the API's messages.
package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config configures a Client.
type Config struct {
	// URL is the master's base address, such as "https://10.0.0.5:8443".
	URL string
	// Token is the token of a session or an agent; it is empty before a login.
	Token string
	// CA is a PEM bundle of the CA that signs the master's certificate. If it is empty, the
	// system's CAs apply.
	CA []byte
	// ServerName is the expected name in the certificate if it differs from the host of URL.
	ServerName string
	// Fingerprint is the SHA-256 of the master's certificate in hex. If it is set, only that
	// certificate is accepted, regardless of its CA.
	Fingerprint string
	// RetryFor limits the retries of one call while the master is unreachable or starting. Zero
	// means DefaultRetryFor.
	RetryFor time.Duration
	// Retrying is called once for each call that has been retried for a second, with its latest error.
	// It may be nil.
	Retrying func(err error)
	// Cluster is the ID of the master's cluster if `det-deploy status` finds it by that. It may be empty.
	Cluster string
	// Transport sends the requests instead of connections to URL, if it is not nil.
	Transport http.RoundTripper
	// Away is called each time when a followed log has waited RetryFor for a master that had
	// answered before; the log keeps waiting. It may be nil.
	Away func(err error)
}

// DefaultRetryFor outlasts the restart of a master on the same machine without trying the patience
// of a user.
const DefaultRetryFor = 10 * time.Second

// Client calls one master. It is safe for concurrent use.
type Client struct {
	*transport
	sessions
	users
	tasks
	contexts
	experiments
	trials
	machines
	queue
	logs
	checkpoints
	models
	workspaces
	projects
	templates
	resources
	names
	entries
}

// transport sends calls to one master and reads the responses.
type transport struct {
	base     *url.URL
	cluster  string
	token    string
	retryFor time.Duration
	retrying func(error)
	away     func(error)
	http     *http.Client
}

// New returns a client. It does not connect yet.
func New(cfg Config) (*Client, error) {
	base, err := ParseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	tlsConfig, err := pinned(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to master %s: %w", base, err)
	}
	if cfg.RetryFor == 0 {
		cfg.RetryFor = DefaultRetryFor
	}
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			TLSClientConfig:       tlsConfig,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: time.Minute, // a launch with a large context has to be stored first
			ForceAttemptHTTP2:     true,
		}
	}
	t := &transport{
		base:     base,
		cluster:  cfg.Cluster,
		token:    cfg.Token,
		retryFor: cfg.RetryFor,
		retrying: cfg.Retrying,
		away:     cfg.Away,
		http:     &http.Client{Transport: cfg.Transport},
	}
	return &Client{
		transport: t, sessions: sessions{t}, users: users{t}, tasks: tasks{t}, contexts: contexts{t}, experiments: experiments{t}, trials: trials{t},
		checkpoints: checkpoints{t}, models: models{t}, workspaces: workspaces{t}, projects: projects{t}, templates: templates{t}, resources: resources{t}, machines: machines{t}, queue: queue{t}, logs: logs{t}, names: names{t}, entries: entries{t},
	}, nil
}

// URL returns the master's base address.
func (t *transport) URL() string { return t.base.String() }

// Close closes idle connections.
func (t *transport) Close() { t.http.CloseIdleConnections() }

// ParseURL parses the address of a master. A host or host:port without a scheme means http and port
// 8080, as in the det client.
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
