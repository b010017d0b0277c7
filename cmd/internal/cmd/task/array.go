package task

import (
	"context"
	"regexp"
	"strconv"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// arrayForm matches N and FIRST-LAST.
var arrayForm = regexp.MustCompile(`^(\d{1,9})(?:-(\d{1,9}))?$`)

// parseArray parses the value of --array. It returns nil if text is empty.
func parseArray(text string) (*apiv1.TaskArray, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // see above
	}
	m := arrayForm.FindStringSubmatch(text)
	if m == nil {
		return nil, usage.Errorf("--array %q: must be a number of tasks, or FIRST-LAST; lists, steps and concurrency limits are not supported", text)
	}
	first, _ := strconv.Atoi(m[1]) // the expression matches digits only
	if m[2] == "" {
		if first == 0 {
			return nil, usage.Errorf("--array 0: must be at least 1 task")
		}
		return &apiv1.TaskArray{Size: int32(first)}, nil //nolint:gosec // at most nine digits
	}
	last, _ := strconv.Atoi(m[2])
	if last < first {
		return nil, usage.Errorf("--array %s: the last index must not be below the first", text)
	}
	return &apiv1.TaskArray{First: int32(first), Size: int32(last - first + 1)}, nil //nolint:gosec // at most nine digits
}

// announceArray prints the ID of the launched array.
func (o *attended) announceArray(launched *apiv1.LaunchCommandResponse) error {
	if !o.Quiet {
		o.Notef("Launched array %s (%s and following).", launched.GetArrayId(), launched.GetCommand().GetDescription())
		o.tellWarnings(launched)
	}
	return o.AnswerLine(launched, "%s", launched.GetArrayId())
}

// findArray returns the tasks of an array by index. It returns noTask if there is no array with this ID.
func findArray(ctx context.Context, master *client.Client, id string, noTask error) ([]*apiv1.Command, error) {
	list, err := master.ArrayCommands(ctx, id)
	if client.KindOf(err) == client.NotFound {
		return nil, noTask
	}
	return list, err
}
