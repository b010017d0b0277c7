package task

import (
	"context"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/master/api/client"
)

type execOptions struct {
	command.Remote
	console

	Rank     int
	AllRanks bool
}

func newExec(s *term.Streams) *cobra.Command {
	o := &execOptions{Remote: command.Remote{Nouns: []client.Noun{client.Tasks}, Open: true}}
	c := command.New(s, o, runExec, &cobra.Command{
		Use:   "exec TASK [--rank N | --all-ranks] [-i] [-t] -- COMMAND [ARGUMENT…]",
		Args:  cobra.ArbitraryArgs,
		Short: "Run a program in a running task",
		Long: `Run a program in the container of a running task, as the task's user, with its environment
variables and in its directory. TASK may be the task of a trial, or the trial itself: its
number or EXPERIMENT.N.

The program's stdout and stderr go to stdout and stderr. With -i it reads standard input, and
with -t it has a terminal, which "-it" makes a session like that of ssh. Without -t, Ctrl-C
interrupts the program. The exit code is that of the program, or 125 if det-deploy or the
cluster failed. When this command or its connection ends, the program ends.

--all-ranks runs the program in all processes of a task at once; each line begins with the
rank, and the exit code is that of the first rank that failed.`,
		Example: `  det-deploy task exec 5d1f6f2e -- nvidia-smi
  det-deploy task exec -it 5d1f6f2e -- bash
  det-deploy task exec --all-ranks 7.1 -- py-spy dump --pid 1`,
	})
	f := c.Flags()
	f.IntVar(&o.Rank, "rank", 0, "rank of the process whose container is entered")
	f.BoolVar(&o.AllRanks, "all-ranks", false, "run the program in the containers of all processes")
	o.addConsoleFlags(f)
	return c
}

// Validate checks the command line. Its errors have an exit code that no program uses.
func (o *execOptions) Validate() error {
	if err := o.checkExec(); err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	return nil
}

func (o *execOptions) checkExec() error {
	switch {
	case len(o.Args) == 0:
		return usage.Errorf("TASK is missing: det-deploy task exec TASK -- COMMAND")
	case len(o.Args) == 1:
		return usage.Errorf("COMMAND is missing: put it after --, such as -- bash")
	case !o.Output.IsText():
		return usage.Errorf("--output %s: the output is that of the program", o.Output)
	case o.Rank < 0:
		return usage.Errorf("--rank %d: must be 0 or more", o.Rank)
	case o.AllRanks && (o.Given("rank") || o.Interactive || o.TTY):
		return usage.Errorf("--all-ranks: cannot be combined with --rank, --interactive and --tty")
	}
	return o.checkConsole(o.Streams)
}

func runExec(ctx context.Context, o *execOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	defer master.Close()
	id, err := resolveTask(ctx, master, o.Args[0])
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	if o.AllRanks {
		return o.execAll(ctx, master, id)
	}
	p, err := o.start(ctx, master, client.Process{Task: id, Rank: o.Rank})
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	return exitWith(o.follow(ctx, o.Streams, p, ""))
}

// start starts the program. It ends with its stream, and not with ctx.
func (o *execOptions) start(ctx context.Context, master *client.Client, in client.Process) (stream.Process, error) {
	return master.Exec(context.WithoutCancel(ctx), in, o.program(o.Streams, o.Args[1:]))
}

// execAll runs the program in all ranks at once.
func (o *execOptions) execAll(ctx context.Context, master *client.Client, id string) error {
	var all []stream.Process
	defer func() {
		for _, p := range all {
			_ = p.Close() // it has ended, or is not wanted any more
		}
	}()
	for rank := 0; ; rank++ {
		p, err := o.start(ctx, master, client.Process{Task: id, Rank: rank})
		if rank > 0 && client.KindOf(err) == client.NotFound {
			break // there are no more
		}
		if err != nil {
			return exit.With(exit.NotTheTask, err)
		}
		all = append(all, p)
	}
	results := make([]error, len(all))
	var work sync.WaitGroup
	for rank, p := range all {
		work.Go(func() { results[rank] = exitWith(o.follow(ctx, o.Streams, p, fmt.Sprintf("[rank=%d] ", rank))) })
	}
	work.Wait()
	for _, err := range results {
		if err != nil {
			return err
		}
	}
	return nil
}
