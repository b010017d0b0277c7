// Package cluster is the commands for a cluster wherever it runs. Each verb is
// written once and mounted for every platform (`det-deploy aws up`) and, where it
// only needs a cluster's ID, at the top level (`det-deploy down`). docs/adr/0041 says why.
package cluster

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Platform is a place where clusters run.
type Platform interface {
	// Name is what commands and contexts call it: "aws".
	Name() string
	// About describes it to a user who chooses between platforms: "Amazon's cloud".
	About() string
	// Location lists the flags that say where on the platform a cluster is.
	Location() []string
	// Help is the text of a verb; found is false for a verb that the platform does not
	// have.
	Help(v Verb) (h Help, found bool)
	// Select returns the cluster of one command, before its flags are parsed.
	Select(s *term.Streams) Selection
}

// Selection is the cluster that a command is about, as its flags say.
type Selection interface {
	// AddFlags declares the platform's flags of a verb, --cluster-id among them.
	AddFlags(v Verb, f *pflag.FlagSet)
	// Validate checks the flags before anything is tried.
	Validate(r Request) error
	// Open prepares the cluster for r.Verb. It changes nothing.
	Open(ctx context.Context, r Request) (Cluster, error)
	// Logs shows what the parts of the cluster write.
	Logs(ctx context.Context, r Request) error
}

// Request says for what a cluster is opened.
type Request struct {
	Verb Verb
	// Yes skips the confirmation, and DryRun changes nothing.
	Yes, DryRun bool
	// Args are the command's arguments.
	Args []string
	Sink event.Sink
}

// Cluster is one cluster of a platform.
type Cluster interface {
	Operations

	// Fits refuses to bring up a cluster that another command has to change first.
	Fits(ctx context.Context) error
	// Warn notes what the plan of a verb does not show.
	Warn(ctx context.Context, v Verb) error
	// Finish makes the cluster the current context and returns how to use it.
	Finish(ctx context.Context) (Answer, error)
	// Inspect looks at the cluster and changes nothing.
	Inspect(ctx context.Context) (Answer, installer.State, error)
	// Credentials are the passwords that the cluster was created with.
	Credentials(ctx context.Context) (Access, error)
	// Releases are the release that the cluster runs and the one an upgrade would bring.
	Releases(ctx context.Context) (runs, to record.Release, err error)
	// Absent explains that there is nothing to remove.
	Absent(ctx context.Context) []string
	// Kept says how to remove the data that was kept, or nothing.
	Kept() string
	// Forget removes the context of a cluster that is gone.
	Forget(ctx context.Context) error
}

// Operations are those of installer.Installer; a platform may do more around them.
type Operations interface {
	Check(ctx context.Context) doctor.Report
	Survey(ctx context.Context) (doctor.Report, plan.Plan, error)
	Plan(ctx context.Context) (plan.Plan, error)
	Up(ctx context.Context, agreed plan.Plan) error
	PlanDown(ctx context.Context, deleteData bool) (plan.Plan, error)
	Down(ctx context.Context, agreed plan.Plan, deleteData bool) (installer.Receipt, error)
	Upgrade(ctx context.Context, to record.Release) (installer.Upgraded, error)

	// ID is the cluster's ID, which a form may have asked for.
	ID() string
	// Recorded is the cluster's record; found is false when there is none.
	Recorded() (r record.Record, found bool)
}

// Answer is what a command prints: itself as JSON, or its text.
type Answer interface {
	Print(s *term.Streams) error
}

// printAnswer writes an answer in the format that was asked for.
func printAnswer(s *term.Streams, f term.Format, a Answer) error {
	if f == term.JSON {
		return s.PrintJSON(a)
	}
	return a.Print(s)
}
