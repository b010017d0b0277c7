// Package cluster implements the commands that manage clusters. Each verb is implemented once and mounted
// for every platform (`det-deploy aws up`) and, if the cluster ID is sufficient, at the top level
// (`det-deploy down`). See docs/adr/0041 for the reasons.
package cluster

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Platform is an environment that runs clusters.
type Platform interface {
	// Name returns its name in commands and contexts, such as "aws".
	Name() string
	// About returns a description for a user who chooses a platform, such as "Amazon's cloud".
	About() string
	// Location lists the flags that locate a cluster on the platform.
	Location() []string
	// Help returns the texts of a verb. found is false if the platform does not support the verb.
	Help(v Verb) (h Help, found bool)
	// Select returns a selection for a single command. It is called before flags are parsed.
	Select(s *term.Streams) Selection
}

// Selection is the cluster that the flags of a command select.
type Selection interface {
	// AddFlags declares the platform's flags for a verb, including --cluster-id.
	AddFlags(v Verb, f *pflag.FlagSet)
	// Validate checks the flags before any call is made.
	Validate(r Request) error
	// Open opens the cluster for r.Verb. It changes nothing.
	Open(ctx context.Context, r Request) (Cluster, error)
	// Logs prints the logs of the cluster's parts.
	Logs(ctx context.Context, r Request) error
}

// Request describes the operation for which a cluster is opened.
type Request struct {
	Verb Verb
	// Yes skips the confirmation. DryRun changes nothing.
	Yes, DryRun bool
	// Args holds the command's arguments.
	Args []string
	Sink event.Sink
}

// Cluster is an opened cluster.
type Cluster interface {
	Operations

	// Fits returns an error if the cluster has to be changed by another command before up.
	Fits(ctx context.Context) error
	// Warn prints the effects of a verb that its plan does not show.
	Warn(ctx context.Context, v Verb) error
	// Finish makes the cluster the current context and returns the instructions for using it.
	Finish(ctx context.Context) (Answer, error)
	// Session returns a context of the master with a valid session, or without one if the initial password
	// was changed. It stores nothing. runs is false if there is no master to ask.
	Session(ctx context.Context) (k contexts.Context, runs bool, err error)
	// Inspect returns the status of the cluster. It changes nothing.
	Inspect(ctx context.Context) (Answer, installer.State, error)
	// Credentials returns the passwords with which the cluster was created.
	Credentials(ctx context.Context) (Access, error)
	// Releases returns the current release and the one that upgrade would install.
	Releases(ctx context.Context) (runs, to record.Release, err error)
	// Absent returns the message for a cluster that does not exist.
	Absent(ctx context.Context) []string
	// Kept returns the command that deletes the remaining data, or "".
	Kept() string
	// Memory describes the settings that outlive the cluster, and DropSettings deletes them.
	Memory() Memory
	DropSettings(ctx context.Context) error
	// Forget deletes the context of a removed cluster.
	Forget(ctx context.Context) error
}

// Operations are the operations of installer.Installer. A platform may extend them.
type Operations interface {
	Check(ctx context.Context) doctor.Report
	Survey(ctx context.Context) (doctor.Report, plan.Plan, error)
	Plan(ctx context.Context) (plan.Plan, error)
	Up(ctx context.Context, agreed plan.Plan) error
	PlanDown(ctx context.Context, deleteData bool) (plan.Plan, error)
	Down(ctx context.Context, agreed plan.Plan, deleteData bool) (installer.Receipt, error)
	Upgrade(ctx context.Context, to record.Release) (installer.Upgraded, error)

	// ID returns the cluster ID, which may come from the form.
	ID() string
	// Recorded returns the cluster's record; found is false if there is none.
	Recorded() (r record.Record, found bool)
}

// Answer is the output of a command. It is encoded as JSON, or printed as text.
type Answer interface {
	Print(s *term.Streams) error
}

// printAnswer writes an answer in the requested format.
func printAnswer(s *term.Streams, f term.Format, a Answer) error {
	if f.IsText() {
		return a.Print(s)
	}
	return s.PrintObject(f, a)
}
