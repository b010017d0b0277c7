package task

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/internal/stream"
	pause "github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// A task with -i or -t runs holdScript, and the program is started in it through a stream by
// startScript. Both share a directory whose name is a secret of this command. The task ends when the
// program has ended, with its exit code, or with it.
const (
	holdScript = `d=/tmp/.det-run-$0
(umask 077; mkdir "$d") || exit 125
trap 'rm -rf "$d"' EXIT
i=0
until [ -e "$d/pid" ]; do
  i=$((i+1))
  [ $i -lt 600 ] || { echo "the input of task run was not connected within two minutes" >&2; exit 125; }
  sleep 0.2
done
pid=$(cat "$d/pid")
until [ -e "$d/code" ]; do
  kill -0 "$pid" 2>/dev/null || { sleep 0.5; [ -e "$d/code" ] || exit 137; }
  sleep 0.1
done
exit "$(cat "$d/code")"`

	startScript = `d=/tmp/.det-run-$0
i=0
until [ -d "$d" ]; do
  i=$((i+1))
  [ $i -lt 300 ] || { echo "the task did not get ready within 30 seconds" >&2; exit 125; }
  sleep 0.1
done
trap : INT QUIT HUP TERM USR1 USR2
echo $$ >"$d/pid.new" && mv "$d/pid.new" "$d/pid"
"$@"
code=$?
echo $code >"$d/code.new" && mv "$d/code.new" "$d/code"
exit $code`
)

// hold makes a configuration wait for its program, and returns the command that starts the program.
func hold(config *structpb.Struct) (argv []string) {
	secret := rand.Text()
	program := entrypointOf(config)
	shown := "# task run -i: " + strings.Join(strings.Fields(strings.Join(program, " ")), " ") + "\n" // what lists begin with
	list, err := structpb.NewList([]any{"sh", "-c", shown + holdScript, secret})
	if err != nil {
		panic(err) // they are texts
	}
	config.Fields["entrypoint"] = structpb.NewListValue(list)
	return append([]string{"/bin/sh", "-c", startScript, secret}, program...)
}

// entrypointOf returns the program of a configuration. A single text is a command line of the shell.
func entrypointOf(config *structpb.Struct) []string {
	e := config.GetFields()["entrypoint"]
	words := []string{e.GetStringValue()}
	if list := e.GetListValue().GetValues(); len(list) > 0 {
		words = nil
		for _, v := range list {
			words = append(words, v.GetStringValue())
		}
	}
	if len(words) == 1 {
		return []string{"/bin/sh", "-c", words[0]}
	}
	return words
}

// slotsAsked returns the slots of a configuration, or 0 if it names none.
func slotsAsked(config *structpb.Struct) float64 {
	return config.GetFields()["resources"].GetStructValue().GetFields()["slots"].GetNumberValue()
}

// runConnected launches a task and runs its program with the input and the terminal of this process.
func (o *runOptions) runConnected(ctx context.Context, master *client.Client, req *apiv1.LaunchCommandRequest) error {
	argv := hold(req.GetConfig())
	launched, err := master.Launch(ctx, req)
	if ctx.Err() != nil {
		o.Notef("The task may have been created. See: det-deploy task list")
		return exit.With(exit.Canceled, nil)
	}
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	o.announceTask(launched)
	id := launched.GetCommand().GetId()
	p, err := o.connect(ctx, master, launched.GetCommand(), argv)
	if err == nil && slotsAsked(req.GetConfig()) > 1 {
		err = checkSingle(ctx, master, id)
	}
	switch {
	case ctx.Err() != nil:
		return errors.Join(o.stopTask(context.WithoutCancel(ctx), master, id), exit.With(exit.Canceled, nil))
	case err != nil:
		_ = o.stopTask(context.WithoutCancel(ctx), master, id) // err is the reason
		return exit.With(exit.NotTheTask, err)
	}
	return exitWith(o.follow(ctx, o.Streams, p, ""))
}

// connectEvery is the time between two attempts to enter a task that does not run yet.
const connectEvery = 200 * time.Millisecond

// connect waits until a task runs, and starts its program.
func (o *runOptions) connect(ctx context.Context, master *client.Client, c *apiv1.Command, argv []string) (stream.Process, error) {
	wait := o.showWait(ctx, master, c)
	defer wait.end()
	for {
		before, askErr := master.Command(ctx, c.GetId()) // before Exec, because it may begin to run in between
		if askErr == nil && hasEnded(before.GetCommand()) {
			return nil, &failedError{id: c.GetId(), status: before.GetCommand().GetExitStatus()}
		}
		p, err := master.Exec(context.WithoutCancel(ctx), client.Process{Task: c.GetId()}, o.program(o.Streams, argv))
		if client.KindOf(err) != client.Invalid || before.GetCommand().GetState() == apiv1.Task_STATE_RUNNING {
			return p, err
		}
		if err := pause.For(ctx, connectEvery); err != nil {
			return nil, err
		}
	}
}

// checkSingle returns an error for a task on several machines, which has several inputs.
func checkSingle(ctx context.Context, master *client.Client, id string) error {
	p, err := master.Exec(ctx, client.Process{Task: id, Rank: 1}, stream.Program{Argv: []string{"true"}})
	if client.KindOf(err) == client.NotFound {
		return nil
	}
	if err == nil {
		_ = p.Close() // it does nothing
	}
	return fmt.Errorf("task %s was placed on several machines, and --interactive and --tty need one; use fewer slots", id)
}
