package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/agree"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	target "github.com/det-deploy/det-deploy/installer/target/local"
)

type upOptions struct {
	*term.Streams
	which

	// Given are the settings that were named on the command line.
	Given      map[string]string
	Foreground bool
	DryRun     bool
	Yes        bool
	Output     term.Format
}

func newUp(s *term.Streams, run func(context.Context, *upOptions) error) *cobra.Command {
	o := &upOptions{Streams: s}
	c := &cobra.Command{
		Use:   "up",
		Short: "Create or update a cluster on this machine",
		Long: `Create a cluster on this machine, or bring one to what is asked for: up again
changes what differs, repairs what is broken, and does nothing else. A setting
that is left out keeps the value it had.`,
		Example: `  det-deploy local up
  det-deploy local up --agents 2 --artificial-slots 4
  det-deploy local up --agents 0 --elastic 3
  det-deploy local up --master-config-file policy.yaml
  det-deploy local up --cluster-id second --port 8081 --dry-run`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			o.Given = given(c.Flags())
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	o.addFlag(f)
	f.Int(target.PortSetting, 8080, "port of the master")
	f.Int(target.AgentSetting, 1, "number of agents")
	f.Int(target.SlotSetting, 0, "fake slots per agent, for testing; 0 for real ones")
	f.Int(target.ElasticSetting, 0, "maximum number of agents that the master starts in the pool elastic when tasks wait")
	f.Bool(target.TLSSetting, false, "use TLS with the cluster's own certificate")
	f.String(target.DBSetting, "", "file with the URL of a PostgreSQL database; an embedded one when empty")
	f.Bool(target.TrustSetting, false, "allow tasks of all users even where tasks are not isolated from this machine")
	f.String(target.ConfigSetting, "", "file with master.yaml settings that override the cluster's, such as task_policy and security")
	f.BoolVar(&o.Foreground, "foreground", false, "run in the foreground; Ctrl-C stops the cluster")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	f.BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	o.Output.AddFlag(f)
	return c
}

// given returns the settings whose flags were named.
func given(f *pflag.FlagSet) map[string]string {
	out := make(map[string]string)
	for name := range target.Defaults() {
		if flag := f.Lookup(name); flag != nil && flag.Changed {
			out[name] = flag.Value.String()
		}
	}
	return out
}

func (o *upOptions) validate() error {
	if err := agree.Flags(o.DryRun, o.Yes); err != nil {
		return err
	}
	if file := o.Given[target.ConfigSetting]; file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return usage.Check(fmt.Errorf("read --%s: %w", target.ConfigSetting, err))
		}
		o.Given[target.ConfigSetting] = string(data)
	}
	if file := o.Given[target.DBSetting]; file != "" {
		abs, err := filepath.Abs(file)
		if err != nil {
			return usage.Check(err)
		}
		o.Given[target.DBSetting] = abs
	}
	return o.which.validate()
}

func runUp(ctx context.Context, o *upOptions) error {
	ask := agree.Asker{Streams: o.Streams, Output: o.Output, Yes: o.Yes}
	l, err := wire.NewLocal(ctx, o.Streams, o.Cluster, o.Given, ask.Tell())
	if err != nil {
		return err
	}
	if err := l.Target.Fits(l.Record); err != nil {
		return err
	}
	if err := o.check(ctx, l); err != nil {
		return err
	}
	p, err := l.Plan(ctx)
	if err != nil {
		return err
	}
	if o.DryRun {
		return ask.Plan(p)
	}
	if agreed, err := ask.Up(ctx, p); err != nil || !agreed {
		return err
	}
	if o.Foreground {
		return o.stay(ctx, l)
	}
	if err := l.Up(ctx, p); err != nil {
		return err
	}
	return o.finish(ctx, l)
}

// check makes the checks and shows them.
func (o *upOptions) check(ctx context.Context, l *wire.Local) error {
	r := l.Check(ctx)
	if l.Recovered {
		o.Notef("The record of cluster %s was lost; its settings were read back from its files.", o.Cluster)
	}
	if o.Output == term.Text {
		if err := r.Render(o.Err); err != nil {
			return err
		}
	}
	return r.Err()
}

// upResult is the JSON form of the answer.
type upResult struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	URL     string `json:"url"`
	User    string `json:"user"`
	// PasswordFile is where the password is: the answer itself has no secret.
	PasswordFile string `json:"password_file"`
	// DeterminedPasswordFile is where that of the user determined is.
	DeterminedPasswordFile string `json:"determined_password_file"`
	Runtime                string `json:"runtime"`
	// Isolated says whether tasks are kept from this machine, TrustUsers whether
	// everybody may submit them all the same.
	Isolated   bool `json:"isolated"`
	TrustUsers bool `json:"trust_users"`
}

// finish remembers the cluster and says how to use it.
func (o *upOptions) finish(ctx context.Context, l *wire.Local) error {
	spec, place := l.Target.Spec, l.Target.Place
	loggedIn, err := o.remember(ctx, l.Target)
	if err != nil {
		return err
	}
	r := upResult{
		"det-deploy.local-up/v1", spec.Cluster, spec.URL(), "admin", place.Password(), place.DeterminedPassword(),
		l.Target.Runtime(ctx), spec.Isolated, spec.TrustUsers,
	}
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	o.Printf("Cluster %s is up at %s; tasks run as %s.", r.Cluster, r.URL, tasksAs(r))
	o.Printf("")
	o.Printf("  export DET_MASTER=%s", r.URL)
	if spec.TLS {
		o.Printf("  export DET_MASTER_CERT_FILE=%s", place.CA())
	}
	o.Printf("")
	next := "task run -- echo hello"
	if loggedIn {
		o.Printf("You are logged in as %s; `det-deploy local credentials%s` shows the passwords. Next:", r.User, o.flag())
	} else {
		next = "login " + r.User
		o.Printf("The password of %s was changed, so you are not logged in. Next:", r.User)
	}
	o.Printf("")
	o.Printf("  det-deploy %s", next)
	if !spec.Isolated {
		why, _ := l.Target.Isolated(ctx)
		o.sayWhoOwnsTheMachine(why, spec.TrustUsers)
	}
	return nil
}

// sayWhoOwnsTheMachine is the last thing that is said where tasks are not isolated.
func (o *upOptions) sayWhoOwnsTheMachine(why string, trusted bool) {
	o.Printf("")
	o.Printf("WARNING: users who may submit tasks to this cluster can do whatever you can on this machine:")
	o.Printf("tasks run as your own user, beside your files and the passwords and keys of the cluster,")
	o.Printf("because %s.", why)
	if trusted {
		o.Printf("Every user of the cluster may submit tasks; `det-deploy local up%s --trust-users=false` takes that back.", o.flag())
		return
	}
	o.Printf("So only administrators may; `det-deploy local up%s --trust-users` lets every user of the cluster.", o.flag())
}

// flag is --cluster-id as the next command needs it.
func (w *which) flag() string {
	if w.Cluster == target.DefaultCluster {
		return ""
	}
	return " --cluster-id " + w.Cluster
}

func tasksAs(r upResult) string {
	switch {
	case r.Runtime == "docker":
		return "Docker containers"
	case r.Isolated:
		return "plain processes, each as a Unix user of its own, for no Docker daemon answers"
	default:
		return "plain processes, for no Docker daemon answers"
	}
}
