package task

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// readAfter parses the values of --after and replaces names and the beginnings of IDs by IDs.
func readAfter(ctx context.Context, master *client.Client, list []string) ([]*apiv1.TaskDependency, error) {
	var out []*apiv1.TaskDependency
	for _, text := range list {
		name, succeeded := strings.CutSuffix(text, ":ok")
		if name == "" {
			return nil, usage.Errorf("--after %q: must be TASK or TASK:ok", text)
		}
		id, err := command.Resolve(ctx, master, client.Tasks, name)
		if err != nil {
			return nil, err
		}
		out = append(out, &apiv1.TaskDependency{TaskId: id, Succeeded: succeeded})
	}
	return out, nil
}
