// Package machine is what an agent may ask of the machine that it runs on: to
// prove which machine it is, and to say when its platform is about to take it
// back. Who answers knows the cloud; the agent does not.
//
// They speak HTTP and JSON over a Unix socket that only root may open:
//
//	GET /v1/proof?audience=CLUSTER   200 Proof
//	GET /v1/notice?after=N           200 Notice, or 204 when none came for a while
//
// A refusal is any other status, with {"error": "…"}.
package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Socket is where a machine that det-deploy set up answers.
const Socket = "/run/det-deploy/machine.sock"

// The paths of the protocol.
const (
	ProofPath  = "/v1/proof"
	NoticePath = "/v1/notice"
)

// Wait is how long the machine keeps a question for notices open. A question
// that is older was lost.
const Wait = 50 * time.Second

// Proof is what a machine shows to a master. Kind names the platform's form,
// Data is opaque to the agent, Instance is which machine it claims to be.
type Proof struct {
	Kind     string `json:"kind"`
	Data     []byte `json:"data"`
	Instance string `json:"instance"`
}

// Kind is what a notice announces.
type Kind string

// The kinds of notices.
const (
	// Interruption is a machine that will be gone at the notice's time.
	Interruption Kind = "interruption"
	// Rebalance is a machine with an elevated risk of interruption.
	Rebalance Kind = "rebalance"
)

// Notice is the platform's word that it may take the machine back.
type Notice struct {
	// N orders notices, also across restarts of who answers.
	N    int64 `json:"n"`
	Kind Kind  `json:"kind"`
	// At is when: of an interruption when the machine will be gone, of a
	// rebalance when it was recommended.
	At time.Time `json:"at"`
	// Reason is the platform's own text, for display.
	Reason string `json:"reason"`
}

// Refusal is an answer that says why there is no other.
type Refusal struct {
	Error string `json:"error"`
}

// Client asks the machine. It is safe for concurrent use.
type Client struct {
	socket string
	http   *http.Client
}

// New returns a client for the socket, which need not exist yet.
func New(socket string) *Client {
	var d net.Dialer
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", socket)
		},
		// A connection that is kept would outlive the one who answers.
		DisableKeepAlives: true,
	}}}
}

// Proof asks for a proof that is good for audience only, a cluster's id. It is
// made for each call, because proofs expire.
func (c *Client) Proof(ctx context.Context, audience string) (Proof, error) {
	var p Proof
	found, err := c.getJSON(ctx, ProofPath+"?"+url.Values{"audience": {audience}}.Encode(), &p)
	if err == nil && !found {
		err = errors.New("the answer is empty")
	}
	if err != nil {
		return Proof{}, fmt.Errorf("ask this machine for a proof of its identity: %w", err)
	}
	return p, nil
}

// Notice waits for the first notice after number after. Found is false when
// none came for a while; then it is asked again.
func (c *Client) Notice(ctx context.Context, after int64) (n Notice, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, Wait+10*time.Second)
	defer cancel()
	found, err = c.getJSON(ctx, NoticePath+"?after="+strconv.FormatInt(after, 10), &n)
	if err != nil {
		return Notice{}, false, fmt.Errorf("ask this machine for notices: %w", err)
	}
	return n, found, nil
}

func (c *Client) getJSON(ctx context.Context, path string, into any) (found bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://machine"+path, nil)
	if err != nil {
		return false, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return false, fmt.Errorf("%w (is det-deploy-host.service running?)", err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	// No answer is near this long.
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return false, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return true, json.Unmarshal(body, into)
	case http.StatusNoContent:
		return false, nil
	}
	var r Refusal
	if json.Unmarshal(body, &r) != nil || r.Error == "" {
		return false, errors.New(resp.Status)
	}
	return false, errors.New(r.Error)
}
