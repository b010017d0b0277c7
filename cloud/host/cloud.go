package host

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud/host/follow"
	"github.com/det-deploy/det-deploy/cloud/host/journal"
	"github.com/det-deploy/det-deploy/cloud/host/metrics"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// Identity identifies the machine on its platform.
type Identity struct {
	Instance string
	Region   string
}

// Prover returns a proof of the machine's identity for the master of a cluster.
type Prover = func(ctx context.Context, cluster string) (machine.Proof, error)

// Cloud provides the platform's services to a machine.
type Cloud interface {
	Identity() Identity
	// Bucket returns the control bucket with a name.
	Bucket(name string) follow.Bucket
	Prover() Prover
	// Notices returns the pending notices for this machine, at once or after a change. On an error
	// it also returns the notices that could be read. It may be called again after an error.
	Notices(ctx context.Context) ([]machine.Notice, error)
	// Logs returns the sink for the log streams of a name.
	Logs(name string) journal.Sink
	// Points returns the sink for the machine's metrics.
	Points() metrics.Sink
}
