package task

import (
	"context"
	"crypto/rand"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/directory"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type runOptions struct {
	command.Remote
	wanted

	ConfigFile string
	ContextDir string
	Array      string
	Detach     bool
}

// wanted holds the flags that override keys of the task's configuration. Keys without a flag come from the
// file or from the cluster's defaults.
type wanted struct {
	Slots    int
	Pool     string
	Image    string
	Env      []string
	Priority int
	Name     string
	WorkDir  string
	Mounts   []string
}

func newRun(s *term.Streams) *cobra.Command {
	o := &runOptions{}
	c := command.New(s, o, runRun, &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT…]",
		Short: "Run a program on the cluster and show what it prints",
		Long: `Run a program on the cluster and show what it prints.

It ends with the program's own exit code, or with 125 when not the program but
det-deploy or the cluster went wrong. Ctrl-C asks whether to kill the task, and
kills it where there is no terminal to ask on. One argument is a shell command line, several
are a program and its arguments.

With --array as many tasks are made in one call, all or none, and the array's ID
is printed: they are not waited for. Each finds its index in DET_TASK_ARRAY_INDEX,
beside DET_TASK_ARRAY_SIZE and DET_TASK_ARRAY_ID. "task list --array-id" shows them
and "task kill" with the array's ID ends them.`,
		Example: `  det-deploy task run -- python train.py --epochs 3
  det-deploy task run --slots 8 --pool gpu --context . -- 'make data && make train'
  det-deploy task run --detach --config job.yaml
  det-deploy task run --array 100 -- 'python evaluate.py --part $DET_TASK_ARRAY_INDEX'`,
	})
	f := c.Flags()
	f.SetInterspersed(false) // flags after the command belong to the command
	f.IntVar(&o.Slots, "slots", 0, "number of slots; 0 runs without a device (default 1)")
	f.StringVar(&o.Pool, "pool", "", "resource pool (default the cluster's)")
	f.StringVar(&o.Image, "image", "", "container image (default the cluster's)")
	f.StringVar(&o.ConfigFile, "config", "", "YAML file with the task's configuration; flags override it")
	f.StringVar(&o.ContextDir, "context", "", "directory of files for the task")
	f.StringArrayVarP(&o.Env, "env", "e", nil, "environment variable, KEY=VALUE, or KEY to copy it from here")
	f.IntVar(&o.Priority, "priority", 0, "priority from 1 to 99; on agents 1 is served first, on Kubernetes 99 (default the pool's)")
	f.StringVar(&o.Name, "name", "", "name of the task (default generated)")
	f.StringVar(&o.WorkDir, "work-dir", "", "working directory of the program")
	f.StringArrayVarP(&o.Mounts, "mount", "v", nil, "bind mount, HOST:CONTAINER[:ro]")
	f.StringVar(&o.Array, "array", "", "run many tasks: N for the indices 0 to N-1, or FIRST-LAST")
	f.BoolVarP(&o.Detach, "detach", "d", false, "print the task ID and exit")
	return c
}

// Validate checks the command line. Its errors have an exit code that no task uses.
func (o *runOptions) Validate() error {
	if err := o.checkFlags(); err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	return nil
}

func (o *runOptions) checkFlags() error {
	switch {
	case len(o.Args) == 0 && o.ConfigFile == "":
		return usage.Errorf("COMMAND is missing: put it behind --, or name a file with its entrypoint by --config")
	case o.Slots < 0:
		return usage.Errorf("--slots %d: must be 0 or more", o.Slots)
	case o.Given("priority") && (o.Priority < 1 || o.Priority > 99):
		return usage.Errorf("--priority %d: must be from 1 to 99", o.Priority)
	case o.Array != "" && o.ContextDir != "":
		return usage.Errorf("--context and --array exclude each other: put the files into the image, or into a directory that the tasks mount")
	case o.Output == term.JSON && !o.Detach && o.Array == "":
		return usage.Errorf("--output json needs --detach: without it the answer is what the task prints")
	}
	_, err := parseArray(o.Array)
	return err
}

func runRun(ctx context.Context, o *runOptions) error {
	req, err := o.buildRequest()
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	master, err := o.Dial(o.Streams)
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	defer master.Close()
	launched, err := master.Launch(ctx, req)
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	if launched.GetArrayId() != "" {
		return o.announceArray(launched)
	}
	o.announceTask(launched)
	if o.Detach {
		return o.detached(launched)
	}
	return o.attendTask(ctx, master, launched.GetCommand().GetId())
}

// buildRequest returns the launch request.
func (o *runOptions) buildRequest() (*apiv1.LaunchCommandRequest, error) {
	config, err := o.readConfig()
	if err != nil {
		return nil, err
	}
	files, err := directory.Read(o.ContextDir)
	if err != nil {
		return nil, err
	}
	array, err := parseArray(o.Array)
	if err != nil {
		return nil, err
	}
	// The request ID makes it safe to retry the request if the response was lost.
	return &apiv1.LaunchCommandRequest{Config: config, Files: files, RequestId: rand.Text(), Array: array}, nil
}

// announceTask prints the launched task to stderr, because stdout is the task's output.
func (o *runOptions) announceTask(launched *apiv1.LaunchCommandResponse) {
	c := launched.GetCommand()
	o.Notef("Launched task %s (%s).", c.GetId(), c.GetDescription())
	o.tellWarnings(launched)
}

func (o *runOptions) tellWarnings(launched *apiv1.LaunchCommandResponse) {
	for _, w := range launched.GetWarnings() {
		if w == apiv1.LaunchWarning_LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED {
			o.Notef("warning: there are not as many slots now; the task waits until there are.")
		}
	}
}

func (o *runOptions) detached(launched *apiv1.LaunchCommandResponse) error {
	if o.Output == term.JSON {
		return o.PrintMessage(launched)
	}
	o.Printf("%s", launched.GetCommand().GetId())
	return nil
}
