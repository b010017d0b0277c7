package task

import (
	"cmp"
	"context"
	"slices"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

const (
	// lastLines is the number of the program's last lines in the detail of a command, and lineCharacters
	// the length to which each is cut.
	lastLines      = 10
	lineCharacters = 500
	// mostHolders is the number of jobs that are named as holders of slots.
	mostHolders = 5
)

// Detail is Command for a command that need not be listed any more, with its place in the queue while it
// waits, and the last lines of its program if it did not succeed. Its error has the code NotFound.
func (v *views) Detail(ctx context.Context, id string) (*apiv1.GetCommandResponse, error) {
	s, found, err := v.findListedOrPast(ctx, id)
	if err == nil && !found {
		err = status.Missing(kindOf(lifecycle.Command).noun, id)
	}
	if err != nil {
		return nil, err
	}
	cfg, err := v.shownConfig(s)
	if err != nil {
		return nil, err
	}
	out := &apiv1.GetCommandResponse{Command: v.showCommand(s), Config: cfg}
	switch word := apiv1.Status(out.GetCommand().GetStatus()); {
	case word == apiv1.StatusQueued:
		out.Queue = v.PlaceInQueue(s.task.Pool, kindOf(s.task.Kind).job(s.task))
	case s.hasEnded() && word != apiv1.StatusSucceeded:
		out.LastLines, err = v.LastLines(ctx, id)
	}
	return out, err
}

func (v *views) findListedOrPast(ctx context.Context, id string) (snapshot, bool, error) {
	e, found, err := v.findTask(ctx, rm.TaskID(id))
	switch {
	case err != nil:
		return snapshot{}, false, err
	case found:
		s := e.latestSnapshot()
		return s, !kindOf(s.task.Kind).owned, nil
	}
	return v.findPast(ctx, id)
}

// LastLines returns the last lines that the program of a task has printed.
func (v *views) LastLines(ctx context.Context, id string) ([]string, error) {
	var out []string
	f := log.Filter{Task: id, Sources: []string{containerSource}, Order: log.Newest, Limit: lastLines}
	for e, err := range v.cfg.Logs.Query(ctx, f) {
		if err != nil {
			return nil, err
		}
		out = append(out, excerpt.UpTo(e.Text, lineCharacters))
	}
	slices.Reverse(out)
	return out, nil
}

// PlaceInQueue returns the place of a job in the queue of a pool, or nil if it is not in the queue.
func (v *views) PlaceInQueue(pool string, job rm.JobID) *apiv1.QueuePlace {
	r := v.reg.managerOf()
	if r == nil {
		return nil
	}
	return placeAmong(r.Queue(rm.QueuePart{Pool: pool}), string(job))
}

// placeAmong returns the place of a job among the jobs of its pool, in serving order, and the holders of the
// most slots if it needs any. It returns nil if the job is not among them.
func placeAmong(jobs []*apiv1.Job, id string) *apiv1.QueuePlace {
	at := slices.IndexFunc(jobs, func(j *apiv1.Job) bool { return j.GetJobId() == id })
	if at < 0 {
		return nil
	}
	return placeAt(jobs, at, jobs[at].GetRequestedSlots() > 0)
}

// placeAt returns the place before a job, by its index.
func placeAt(jobs []*apiv1.Job, at int, needsSlots bool) *apiv1.QueuePlace {
	out := &apiv1.QueuePlace{}
	var holders []*apiv1.Job
	for i, j := range jobs {
		switch {
		case j.GetAllocatedSlots() > 0 && needsSlots:
			holders = append(holders, j)
		case i < at && j.GetSummary().GetState() == apiv1.Job_STATE_QUEUED:
			out.JobsAhead++
		}
	}
	slices.SortStableFunc(holders, func(a, b *apiv1.Job) int { return cmp.Compare(b.GetAllocatedSlots(), a.GetAllocatedSlots()) })
	for i, j := range holders {
		if i == mostHolders {
			out.More = int32(len(holders) - mostHolders) //nolint:gosec // jobs of one pool
			break
		}
		out.Holders = append(out.Holders, &apiv1.SlotHolder{
			Id: j.GetEntityId(), Name: j.GetName(), Username: j.GetUsername(), Slots: j.GetAllocatedSlots(),
		})
	}
	return out
}
