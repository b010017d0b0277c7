// Package machine provides the Google Cloud services of a cluster's machine: its identity, the
// control bucket, proofs of identity, interruption notices, logs and metrics.
package machine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/attest"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
	"github.com/det-deploy/det-deploy/cloud/host"
	"github.com/det-deploy/det-deploy/cloud/host/follow"
	"github.com/det-deploy/det-deploy/cloud/host/journal"
	"github.com/det-deploy/det-deploy/cloud/host/metrics"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// Config configures Open.
type Config struct {
	// Metadata is the metadata server. The zero value is the instance's own.
	Metadata metadata.Server
	// Transport sends requests to Google. Nil uses the default transport.
	Transport http.RoundTripper
	// HasGPU reports whether the instance has GPUs, for which Google announces host maintenance
	// earlier.
	HasGPU bool
	Log    *slog.Logger
}

// Cloud implements host.Cloud for Google Cloud.
type Cloud struct {
	self    self
	clients api.Clients
	prover  attest.Prover
	notices *Notices
	log     *slog.Logger
}

var _ host.Cloud = (*Cloud)(nil)

// Open reads the identity of the instance and returns its cloud. All calls use the instance's
// service account, even if a user has logged in with gcloud.
func Open(ctx context.Context, c Config) (*Cloud, error) {
	m, err := readSelf(ctx, c.Metadata)
	if err != nil {
		return nil, fmt.Errorf("read this machine's identity: %w", err)
	}
	account := &account{metadata: c.Metadata, now: time.Now}
	client := &http.Client{Transport: api.WithToken(cmp.Or[http.RoundTripper](c.Transport, newTransport()), account.token)}
	clients, err := api.New(ctx, client, api.Options{Project: m.project, Region: m.region(), Log: c.Log})
	if err != nil {
		return nil, err
	}
	return &Cloud{
		self: m, clients: clients, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)),
		prover: attest.Prover{Metadata: c.Metadata}, notices: NewNotices(c.Metadata, c.HasGPU, time.Now),
	}, nil
}

// answerLimit is the timeout for the response to a request that was sent in full. Without it, a
// dead connection would block shipping the journal.
const answerLimit = time.Minute

func newTransport() http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t := standard.Clone()
	t.ResponseHeaderTimeout = answerLimit
	return t
}

// Identity implements host.Cloud. Instances are identified by name.
func (c *Cloud) Identity() host.Identity {
	return host.Identity{Instance: c.self.name, Region: c.self.region()}
}

// Bucket implements host.Cloud.
func (c *Cloud) Bucket(name string) follow.Bucket {
	return Bucket{Name: name, Clients: c.clients}
}

// Prover implements host.Cloud.
func (c *Cloud) Prover() host.Prover {
	return func(ctx context.Context, cluster string) (machine.Proof, error) {
		p, err := c.prover.Prove(ctx, cluster)
		return machine.Proof{Kind: p.Kind, Data: p.Data, Instance: c.self.name}, err
	}
}

// Notices implements host.Cloud. It returns after a change or a timeout.
func (c *Cloud) Notices(ctx context.Context) ([]machine.Notice, error) { return c.notices.Read(ctx) }

// Logs implements host.Cloud. Name is the ID of a log: "det-deploy-lab".
func (c *Cloud) Logs(name string) journal.Sink {
	return &Log{ID: name, self: c.self, clients: c.clients, log: c.log}
}

// Points implements host.Cloud.
func (c *Cloud) Points() metrics.Sink { return Points{self: c.self, clients: c.clients} }
