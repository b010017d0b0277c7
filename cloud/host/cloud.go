package host

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud/host/follow"
	"github.com/det-deploy/det-deploy/cloud/host/journal"
	"github.com/det-deploy/det-deploy/cloud/host/metrics"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// Identity is which machine this is.
type Identity struct {
	Instance string
	Region   string
}

// Prover proves to a cluster's master which machine this is.
type Prover = func(ctx context.Context, cluster string) (machine.Proof, error)

// Cloud is what a machine asks of the cloud that it runs in.
type Cloud interface {
	Identity() Identity
	// Bucket is a control bucket.
	Bucket(name string) follow.Bucket
	Prover() Prover
	// Notices lists what the cloud announces for this machine, at once or when that has
	// changed. Those that could be read are returned beside an error. It may be repeated.
	Notices(ctx context.Context) ([]machine.Notice, error)
	// Logs is where the streams of that name are kept.
	Logs(name string) journal.Sink
	// Points is where this machine's use is kept.
	Points() metrics.Sink
}
