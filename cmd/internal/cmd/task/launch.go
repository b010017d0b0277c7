package task

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// attended holds the options of a command that launches a task and shows its output.
type attended struct {
	command.Remote
	shown

	Detach bool
}

func (o *attended) addAttendedFlags(f *pflag.FlagSet) {
	f.BoolVarP(&o.Detach, "detach", "d", false, "print the task ID and exit")
	o.addShownFlags(f)
}

// launch launches a task, prints its output and returns its exit code. It prints only the ID of an array or
// a detached task.
func (o *attended) launch(ctx context.Context, master *client.Client, req *apiv1.LaunchCommandRequest) error {
	launched, err := master.Launch(ctx, req)
	if ctx.Err() != nil {
		o.Notef("The task may have been created. See: det-deploy task list")
		return exit.With(exit.Canceled, nil)
	}
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
	return o.attendTask(ctx, master, launched.GetCommand())
}

// announceTask prints the launched task to stderr, because stdout is the task's output.
func (o *attended) announceTask(launched *apiv1.LaunchCommandResponse) {
	c := launched.GetCommand()
	if o.Quiet {
		return
	}
	if strings.HasPrefix(c.GetDescription(), generatedName) {
		o.Notef("Launched task %s.", c.GetId())
	} else {
		o.Notef("Launched task %s (%s).", c.GetId(), c.GetDescription())
	}
	o.tellWarnings(launched)
}

func (o *attended) tellWarnings(launched *apiv1.LaunchCommandResponse) {
	for _, w := range launched.GetWarnings() {
		if w == apiv1.LaunchWarning_LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED {
			o.Notef("warning: there are fewer slots than requested; the task waits for more.")
		}
	}
}

func (o *attended) detached(launched *apiv1.LaunchCommandResponse) error {
	return o.AnswerLine(launched, "%s", launched.GetCommand().GetId())
}
