// Package machine is what a machine of a cluster on Google's has of its cloud: who it is,
// the control bucket, the proof of which machine it is, notices of its interruption, and
// where its logs and its use are reported.
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

// Config is what is known of a machine before it is asked.
type Config struct {
	// Metadata is the machine's metadata server; the zero value is its own.
	Metadata metadata.Server
	// Transport carries requests to Google; nil is the usual one.
	Transport http.RoundTripper
	// HasGPU is whether the machine has GPUs: Google announces its maintenance earlier.
	HasGPU bool
	Log    *slog.Logger
}

// Cloud is Google, as the machine sees it.
type Cloud struct {
	self    self
	clients api.Clients
	prover  attest.Prover
	notices *Notices
	log     *slog.Logger
}

var _ host.Cloud = (*Cloud)(nil)

// Open finds out which machine this is. It makes its calls as the machine's service
// account, also where a user has logged in with gcloud.
func Open(ctx context.Context, c Config) (*Cloud, error) {
	m, err := readSelf(ctx, c.Metadata)
	if err != nil {
		return nil, fmt.Errorf("find out which machine this is: %w", err)
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

// answerLimit is for a request that was sent in full; without a limit a dead connection
// would hold up the journal.
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

// Identity implements host.Cloud. Machines are known by their name.
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

// Notices implements host.Cloud. It returns when there is something new, or after a while.
func (c *Cloud) Notices(ctx context.Context) ([]machine.Notice, error) { return c.notices.Read(ctx) }

// Logs implements host.Cloud. Name is a log of the project: "det-deploy-lab".
func (c *Cloud) Logs(name string) journal.Sink {
	return &Log{ID: name, self: c.self, clients: c.clients, log: c.log}
}

// Points implements host.Cloud.
func (c *Cloud) Points() metrics.Sink { return Points{self: c.self, clients: c.clients} }
