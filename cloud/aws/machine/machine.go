// Package machine provides the AWS services of a cluster's machine: its identity, the control
// bucket, proofs of identity, interruption notices, logs and metrics.
package machine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/attest"
	"github.com/det-deploy/det-deploy/cloud/host"
	"github.com/det-deploy/det-deploy/cloud/host/follow"
	"github.com/det-deploy/det-deploy/cloud/host/journal"
	"github.com/det-deploy/det-deploy/cloud/host/metrics"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// Config configures Open.
type Config struct {
	// Region is the region. If it is empty, it is read from the instance metadata.
	Region string
	// Endpoint overrides Amazon's endpoint URLs, for tests and closed networks.
	Endpoint string
	Log      *slog.Logger
}

// Cloud implements host.Cloud for AWS.
type Cloud struct {
	id       host.Identity
	endpoint string
	metadata *Metadata
	clients  api.Clients
}

var _ host.Cloud = (*Cloud)(nil)

// Open reads the identity of the instance and returns its cloud.
func Open(ctx context.Context, c Config) (*Cloud, error) {
	m := NewMetadata("")
	id, err := m.Identity(ctx)
	if err != nil {
		return nil, fmt.Errorf("read this machine's identity: %w", err)
	}
	if c.Region != "" {
		id.Region = c.Region
	}
	clients, err := api.Open(ctx, api.Options{Region: id.Region, Endpoint: c.Endpoint, Log: c.Log})
	if err != nil {
		return nil, err
	}
	return &Cloud{id: id, endpoint: c.Endpoint, metadata: m, clients: clients}, nil
}

// Identity implements host.Cloud.
func (c *Cloud) Identity() host.Identity { return c.id }

// Bucket implements host.Cloud.
func (c *Cloud) Bucket(name string) follow.Bucket { return Bucket{Name: name, S3: c.clients.S3} }

// Prover implements host.Cloud. Its proofs are STS requests signed with the instance's role.
func (c *Cloud) Prover() host.Prover {
	role := ec2rolecreds.New(func(o *ec2rolecreds.Options) { o.Client = c.metadata.sdk })
	signer := attest.Machine{Credentials: aws.NewCredentialsCache(role), Region: c.id.Region, Endpoint: c.endpoint, Now: time.Now}
	return func(ctx context.Context, cluster string) (machine.Proof, error) {
		p, err := signer.Sign(ctx, cluster)
		return machine.Proof{Kind: p.Kind, Data: p.Data, Instance: c.id.Instance}, err
	}
}

// Notices implements host.Cloud.
func (c *Cloud) Notices(ctx context.Context) ([]machine.Notice, error) {
	return ReadNotices(ctx, c.metadata)
}

// Logs implements host.Cloud.
func (c *Cloud) Logs(name string) journal.Sink { return &LogGroup{Name: name, Logs: c.clients.Logs} }

// Points implements host.Cloud.
func (c *Cloud) Points() metrics.Sink {
	return Points{Instance: c.id.Instance, Metrics: c.clients.Metrics}
}
