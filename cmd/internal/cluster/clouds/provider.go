package clouds

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Provider is a cloud, as the commands about its clusters ask it. Each command has one of
// its own.
type Provider interface {
	Words() Words
	// Settings are the settings that have a flag.
	Settings() spec.Table
	// AddFlags declares the flags of a verb that only this cloud has, such as as whom it is
	// asked.
	AddFlags(v cluster.Verb, f *pflag.FlagSet)
	// Check refuses what these flags, and --region, cannot be.
	Check(region string) error
	// Open prepares a cluster.
	Open(ctx context.Context, s *term.Streams, q wire.CloudRequest) (*wire.CloudCluster, error)
	// OpenRemembered prepares it as it is remembered, where q says that it is.
	OpenRemembered(ctx context.Context, s *term.Streams, q wire.CloudRequest) (*wire.CloudCluster, error)
	// List lists the clusters of the account, and says where it has looked: everywhere
	// when place is empty.
	List(ctx context.Context, region string) (all []wire.ListedCluster, place string, err error)
	// Ask prepares the questions about a new cluster.
	Ask(c *Completion) term.Form
}

// Preparer is a Provider whose cloud may have to be changed before anything can be asked
// about a cluster.
type Preparer interface {
	// Prepare looks what has to be changed, and changes nothing. Where something has,
	// question asks for the consent, and apply changes it.
	Prepare(ctx context.Context, q wire.CloudRequest) (question string, apply func(context.Context) error, err error)
}

// Words is how a cloud is spoken of.
type Words struct {
	// Name is what commands and contexts call it: "aws".
	Name string
	// On is where the clusters run: "AWS".
	On string
	// Account is what has clusters: "account".
	Account string
	// List is the command that lists all of them: "list --all-regions". ListRegion is the
	// region in which list looks otherwise.
	List, ListRegion string
	// Master is what the master's machine of a cluster is called.
	Master func(cluster string) string
	// Console is the command that shows what a machine writes while it boots.
	Console func(in *wire.CloudCluster, id string) string
}
