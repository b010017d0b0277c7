package task

import (
	"cmp"
	"context"
	"crypto/rand"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/directory"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type runOptions struct {
	attended
	wanted
	console

	ConfigFile string
	ContextDir string
	Array      string
	DryRun     bool
	After      []string
	Labels     []string
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
		Short: "Run a program on the cluster and show its output",
		Long: `Run a program on the cluster and show its output.

The program's stdout and stderr go to stdout and stderr, and everything else to stderr. While
the task waits, a line shows the reason, its place in the queue and the time. The exit code is
that of the program, or 125 if det-deploy or the cluster failed. Ctrl-C kills the task and waits
for its end, with exit code 130; a second Ctrl-C does not wait. A single argument is a shell
command line; several arguments are a program and its arguments.

With --after, the task is queued when all named tasks have ended. If one with ":ok" did not
succeed, the task ends without having run.

With --dry-run, the cluster checks the task and prints where it would start now, or why it would
wait. Nothing is started or sent.

With -i the program reads standard input, and with -t it has a terminal, as with "task exec":
the task waits until this command starts the program in it, and both end with it. Ctrl-C is the
program's once it runs. The output is not in the log of the task.

With --array, many tasks are created at once, all or none, and the ID of the array is
printed without waiting for them. The environment of each task contains
DET_TASK_ARRAY_INDEX, DET_TASK_ARRAY_SIZE and DET_TASK_ARRAY_ID. List them with
"task list --array-id", and kill them with "task kill" and the ID of the array.`,
		Example: `  det-deploy task run -- python train.py --epochs 3
  det-deploy task run --slots 8 --pool gpu --context . -- 'make data && make train'
  det-deploy task run --quiet -- cat results.json | jq .accuracy
  det-deploy task run --slots 1 -it -- bash
  tar c . | det-deploy task run --slots 0 -i -- tar t
  det-deploy task run --detach --config job.yaml
  det-deploy task run --dry-run --slots 8 -- python train.py
  det-deploy task run --after train:ok -- python evaluate.py
  det-deploy task run --array 100 -- 'python evaluate.py --part $DET_TASK_ARRAY_INDEX'`,
	})
	f := c.Flags()
	f.SetInterspersed(false) // flags after the command belong to the command
	f.IntVar(&o.Slots, "slots", 0, "number of slots; 0 runs without a device (default 1)")
	f.StringVar(&o.Pool, "pool", "", "resource pool (default the cluster's)")
	f.StringVar(&o.Image, "image", "", "container image (default the cluster's)")
	f.StringVar(&o.ConfigFile, "config", "", "YAML file with the task's configuration; flags override it")
	f.StringVar(&o.ContextDir, "context", "", "directory of files for the task")
	f.StringArrayVarP(&o.Env, "env", "e", nil, "environment variable as KEY=VALUE, or KEY to copy it from here; repeatable")
	f.IntVar(&o.Priority, "priority", 0, "priority from 1 to 99; on agents 1 is served first, on Kubernetes 99 (default the pool's)")
	f.StringVar(&o.Name, "name", "", "name of the task (default generated)")
	f.StringVar(&o.WorkDir, "work-dir", "", "working directory of the program")
	f.StringArrayVarP(&o.Mounts, "mount", "v", nil, "bind mount as HOST:CONTAINER[:ro]; repeatable")
	_ = f.MarkShorthandDeprecated("mount", "use --mount, as -v is --verbose elsewhere") // it fails only for an unknown flag
	f.StringSliceVarP(&o.Labels, "label", "l", nil, "label of the task as KEY=VALUE, by which lists are filtered; repeatable")
	f.StringVar(&o.Array, "array", "", "number of tasks with indices from 0, or FIRST-LAST for the indices")
	f.StringArrayVar(&o.After, "after", nil, "task that must end first, or TASK:ok for one that must succeed; repeatable")
	o.CompleteFlag(c, "pool", client.Pools)
	o.CompleteFlag(c, "after", client.Tasks)
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would change, change nothing")
	o.addAttendedFlags(f)
	o.addConsoleFlags(f)
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
		return usage.Errorf("COMMAND is missing: put it after --, or give a file with an entrypoint by --config")
	case o.Slots < 0:
		return usage.Errorf("--slots %d: must be 0 or more", o.Slots)
	case o.Given("priority") && (o.Priority < 1 || o.Priority > 99):
		return usage.Errorf("--priority %d: must be from 1 to 99", o.Priority)
	case o.DryRun && (o.Array != "" || o.Detach):
		return usage.Errorf("--dry-run: shows one task, which is not started; omit --array and --detach")
	case !o.Output.IsText() && !o.Detach && o.Array == "" && !o.DryRun:
		return usage.Errorf("--output %s: requires --detach, because the output is that of the task", o.Output)
	}
	if err := o.checkShown(o.Detach || o.DryRun || o.Array != ""); err != nil {
		return err
	}
	if err := o.checkConnected(); err != nil {
		return err
	}
	_, labels := readLabels(o.Labels)
	_, array := parseArray(o.Array)
	return cmp.Or(array, labels)
}

// connected reports whether the program gets the input or a terminal of this process.
func (o *runOptions) connected() bool { return o.Interactive || o.TTY }

func (o *runOptions) checkConnected() error {
	if o.connected() && (o.Detach || o.DryRun || o.Array != "" || o.Timestamps || o.Prefix) {
		return usage.Errorf("--interactive and --tty: cannot be combined with --detach, --array, --dry-run, --timestamps and --prefix")
	}
	return o.checkConsole(o.Streams)
}

func runRun(ctx context.Context, o *runOptions) error {
	req, err := o.buildRequest()
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	dir, err := o.scanContext()
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	master, err := o.Dial(o.Streams)
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	defer master.Close()
	if req.After, err = readAfter(ctx, master, o.After); err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	if o.DryRun {
		return nameLines(o.showPreview(ctx, master, req), o.ConfigFile)
	}
	if err := o.sendContext(ctx, master, dir, req); err != nil {
		return err
	}
	if o.connected() {
		return nameLines(o.runConnected(ctx, master, req), o.ConfigFile)
	}
	return nameLines(o.launch(ctx, master, req), o.ConfigFile)
}

// buildRequest returns the launch request.
func (o *runOptions) buildRequest() (*apiv1.LaunchCommandRequest, error) {
	config, err := o.readConfig()
	if err != nil {
		return nil, err
	}
	array, err := parseArray(o.Array)
	if err != nil {
		return nil, err
	}
	labels, err := readLabels(o.Labels)
	if err != nil {
		return nil, err
	}
	// The request ID makes it safe to retry the request if the response was lost.
	return &apiv1.LaunchCommandRequest{Config: config, RequestId: rand.Text(), Array: array, Labels: labels}, nil
}

// scanContext returns the directory of --context, and says what is left out.
func (o *runOptions) scanContext() (*directory.Directory, error) {
	d, err := directory.Scan(o.ContextDir)
	if err != nil {
		return nil, err
	}
	if left := d.LeftOut.String(); left != "" && !o.Quiet {
		o.Notef("%s", left)
	}
	return d, nil
}

// sendContext sends a directory and adds it to a request.
func (o *runOptions) sendContext(ctx context.Context, master *client.Client, dir *directory.Directory, req *apiv1.LaunchCommandRequest) error {
	sent, err := command.SendDirectory(ctx, o.Streams, master, dir)
	req.ContextId, req.Files = sent.ContextID, sent.Files
	if ctx.Err() != nil {
		return exit.With(exit.Canceled, nil)
	}
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	return nil
}
