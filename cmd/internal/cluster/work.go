package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// mostWork is the number of tasks, and of experiments, that are named.
const mostWork = 10

// workLimit is the timeout of asking the master for its work.
const workLimit = 10 * time.Second

// warnWork names the tasks and experiments that end with the cluster, or the reason why they are unknown.
// It prints nothing if no master runs.
func warnWork(ctx context.Context, s *term.Streams, c Cluster) {
	ctx, cancel := context.WithTimeout(ctx, workLimit)
	defer cancel()
	k, runs, err := c.Session(ctx)
	var w work
	if err == nil && runs {
		w, err = askWork(ctx, k)
	}
	if err != nil && runs {
		s.Notef("Running tasks are not listed: %v.", err)
	}
	nameWork(s, "These tasks run or wait, and end with the cluster:", w.tasks)
	nameWork(s, "These experiments are active, and stop with the cluster:", w.experiments)
}

// work is the unfinished work of a cluster, in phrases.
type work struct{ tasks, experiments []string }

var errNoSession = errors.New("nobody is logged in, and the initial password was changed")

// askWork reads the work from the master of k.
func askWork(ctx context.Context, k contexts.Context) (work, error) {
	if k.Token == "" {
		return work{}, errNoSession
	}
	master, err := k.Client()
	if err != nil {
		return work{}, err
	}
	defer master.Close()
	tasks, err := master.Tasks(ctx)
	if err != nil {
		return work{}, err
	}
	found := work{tasks: taskNames(tasks)}
	active, err := master.Experiments(ctx, client.ExperimentQuery{States: []string{"ACTIVE"}, Limit: mostWork + 1})
	for _, x := range active {
		found.experiments = append(found.experiments, fmt.Sprintf("%d %s (%s)", x.GetId(), x.GetName(), x.GetUsername()))
	}
	return found, err
}

// taskNames returns the names and IDs of tasks, of which each may have several allocations.
func taskNames(all map[string]*apiv1.AllocationSummary) []string {
	var out []string
	for _, a := range all {
		out = append(out, fmt.Sprintf("%s (%s)", a.GetName(), a.GetTaskId()))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func nameWork(s *term.Streams, head string, all []string) {
	if len(all) == 0 {
		return
	}
	s.Notef("%s", head)
	for _, one := range all[:min(mostWork, len(all))] {
		s.Notef("  - %s", term.Harmless(one))
	}
	if len(all) > mostWork {
		s.Notef("  and more")
	}
}
