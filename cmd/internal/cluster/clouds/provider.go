package clouds

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Provider implements a cloud for the cluster commands. Each command has its own instance.
type Provider interface {
	Words() Words
	// Settings returns the settings that have a flag.
	Settings() spec.Table
	// AddFlags declares the flags specific to this cloud, such as the credentials to use.
	AddFlags(v cluster.Verb, f *pflag.FlagSet)
	// Check validates these flags and --region.
	Check(region string) error
	// Open opens a cluster.
	Open(ctx context.Context, s *term.Streams, q wire.CloudRequest) (*wire.CloudCluster, error)
	// OpenRemembered opens the cluster as it is recorded, at the location that q gives.
	OpenRemembered(ctx context.Context, s *term.Streams, q wire.CloudRequest) (*wire.CloudCluster, error)
	// List lists the clusters of the account. It returns the searched region in place, or "" if it
	// searched all of them.
	List(ctx context.Context, region string) (all []wire.ListedCluster, place string, err error)
	// Known lists the clusters of the account, or of the project if there is one, in all regions, without
	// their records.
	Known(ctx context.Context, project string) ([]wire.ListedCluster, error)
	// Ask returns the form for a new cluster.
	Ask(c *Completion) term.Form
}

// Preparer is a Provider whose account may need changes before its API can answer questions about a
// cluster.
type Preparer interface {
	// Prepare returns the required changes without making them: question asks for consent, and apply makes
	// them. question is empty if none are needed.
	Prepare(ctx context.Context, q wire.CloudRequest) (question string, apply func(context.Context) error, err error)
}

// Explainer is a Provider that knows more about an error than the call that failed.
type Explainer interface {
	// Explain returns the error of opening a cluster with its reasons.
	Explain(ctx context.Context, q wire.CloudRequest, err error) error
}

// Words holds the terms used for a cloud.
type Words struct {
	// Name is its name in commands and contexts, such as "aws".
	Name string
	// On is its name in help texts, such as "AWS".
	On string
	// Account is the cloud's word for an account, such as "account" or "project".
	Account string
	// List is the command that lists all clusters, such as "list --all-regions". ListRegion describes the
	// default region of list.
	List, ListRegion string
	// Regions are the known regions, each with its place after a tab.
	Regions []string
	// Master returns the name of the master's machine.
	Master func(cluster string) string
	// Console returns the command that shows the boot log of a machine.
	Console func(in *wire.CloudCluster, id string) string
}
