// Package machine defines the protocol between an agent and its machine: the agent requests proofs
// of the machine's identity and interruption notices. The server depends on the cloud; the agent
// does not.
//
// The protocol is JSON over HTTP on a Unix socket that only root can open:
//
//	GET /v1/proof?audience=CLUSTER   200 Proof
//	GET /v1/notice?after=N           200 Notice, or 204 if none arrived for a while
//
// Any other status is an error, with the body {"error": "…"}.
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

// Socket is the path of the socket on machines set up by det-deploy.
const Socket = "/run/det-deploy/machine.sock"

// The paths of the protocol.
const (
	ProofPath  = "/v1/proof"
	NoticePath = "/v1/notice"
)

// Wait is the maximum time for which the machine holds a request for notices. A client considers an
// older request lost.
const Wait = 50 * time.Second

// Proof is a proof of a machine's identity for a master. Kind is the proof type of the platform,
// Data is opaque to the agent, Instance is the claimed instance ID.
type Proof struct {
	Kind     string `json:"kind"`
	Data     []byte `json:"data"`
	Instance string `json:"instance"`
}

// Kind is the type of a notice.
type Kind string

// The notice types.
const (
	// Interruption means that the machine is going to be terminated or stopped at the notice's
	// time.
	Interruption Kind = "interruption"
	// Rebalance means that the machine is at an elevated risk of interruption.
	Rebalance Kind = "rebalance"
)

// Notice is an interruption notice or a rebalance recommendation of the platform.
type Notice struct {
	// N orders notices. It increases across restarts of the server.
	N    int64 `json:"n"`
	Kind Kind  `json:"kind"`
	// At is the time of the interruption, or the time at which a rebalance was recommended.
	At time.Time `json:"at"`
	// Reason is the platform's text, for display.
	Reason string `json:"reason"`
}

// Refusal is the body of an error response.
type Refusal struct {
	Error string `json:"error"`
}

// Client is a client of the machine protocol. It is safe for concurrent use.
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
		// A kept-alive connection would outlive the server.
		DisableKeepAlives: true,
	}}}
}

// Proof requests a proof that is valid only for audience, a cluster ID. Each call returns a new
// proof, because proofs expire.
func (c *Client) Proof(ctx context.Context, audience string) (Proof, error) {
	var p Proof
	found, err := c.getJSON(ctx, ProofPath+"?"+url.Values{"audience": {audience}}.Encode(), &p)
	if err == nil && !found {
		err = errors.New("the response is empty")
	}
	if err != nil {
		return Proof{}, fmt.Errorf("get a proof of identity from this machine: %w", err)
	}
	return p, nil
}

// Notice waits for the first notice with a number greater than after. Found is false if none
// arrived for a while; the caller then calls it again.
func (c *Client) Notice(ctx context.Context, after int64) (n Notice, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, Wait+10*time.Second)
	defer cancel()
	found, err = c.getJSON(ctx, NoticePath+"?after="+strconv.FormatInt(after, 10), &n)
	if err != nil {
		return Notice{}, false, fmt.Errorf("get notices from this machine: %w", err)
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
	// Responses are much smaller.
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
