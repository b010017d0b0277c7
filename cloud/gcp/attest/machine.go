package attest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
)

// MetadataURL is the metadata server of every machine.
const MetadataURL = "http://metadata.google.internal"

// Prover proves which machine this program runs on.
type Prover struct {
	// Endpoint takes the place of MetadataURL; empty otherwise.
	Endpoint string
	// Transport carries the requests; nil is the usual one.
	Transport http.RoundTripper
}

// Prove makes a proof for one cluster: a token, or a guest attribute where the machine
// has no service account.
func (p Prover) Prove(ctx context.Context, cluster string) (cloud.Proof, error) {
	if cluster == "" {
		return cloud.Proof{}, errors.New("prove a machine's identity: for which cluster is not said")
	}
	query := url.Values{"audience": {Audience(cluster, rand.Text())}, "format": {"full"}}
	token, err := p.ask(ctx, http.MethodGet, "service-accounts/default/identity?"+query.Encode(), "")
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return p.proveByGuest(ctx, cluster)
	case err != nil:
		return cloud.Proof{}, err
	}
	return cloud.Proof{Kind: KindToken, Data: []byte(strings.TrimSpace(token))}, nil
}

// proveByGuest writes the commitment to a new secret where only this machine can.
func (p Prover) proveByGuest(ctx context.Context, cluster string) (cloud.Proof, error) {
	name, err := p.ask(ctx, http.MethodGet, "name", "")
	if err != nil {
		return cloud.Proof{}, err
	}
	g := Guest{Name: strings.TrimSpace(name), Secret: rand.Text() + rand.Text()}
	if _, err := p.ask(ctx, http.MethodPut, "guest-attributes/"+GuestKey, Commitment(cluster, g)); err != nil {
		return cloud.Proof{}, err
	}
	data, err := json.Marshal(g)
	return cloud.Proof{Kind: KindGuest, Data: data}, err
}

// ask asks the metadata server for something of this machine, or has it write something.
func (p Prover) ask(ctx context.Context, method, what, value string) (string, error) {
	endpoint := p.Endpoint
	if endpoint == "" {
		endpoint = MetadataURL
	}
	req, err := http.NewRequestWithContext(ctx, method, endpoint+"/computeMetadata/v1/instance/"+what, strings.NewReader(value))
	if err != nil {
		return "", fmt.Errorf("ask the metadata server: %w", err)
	}
	req.Header.Set("Metadata-Flavor", "Google")
	client := http.Client{Transport: p.Transport}
	answer, err := client.Do(req)
	if err != nil {
		return "", metadataError(cloud.Unavailable, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, tokenLimit))
	switch {
	case err != nil:
		return "", metadataError(cloud.Unavailable, err)
	case answer.StatusCode == http.StatusOK:
		return string(text), nil
	}
	return "", metadataError(kindOf(answer.StatusCode), fmt.Errorf("the answer is %s", answer.Status))
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

func metadataError(kind cloud.Kind, err error) error {
	return &cloud.Error{Kind: kind, Op: "ask this machine's metadata server for a proof of identity", Err: err}
}
