package queue

import (
	"net/url"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// queue is the data of queue.html.
type queue struct {
	Pools  []option
	Pool   string
	Rows   []row
	Paging ui.Paging
	// MayChange reports that the visitor may change one of the jobs.
	MayChange bool
}

// option is a choice of the filter.
type option struct {
	Value, Text string
	Chosen      bool
}

// row is a job.
type row struct {
	*apiv1.Job

	Kind, State string
	// Path is the path of its page, and Change that of its forms.
	Path, Change string
	// MayChange reports that the visitor may change it.
	MayChange bool
	// Before and After are the waiting jobs next to it in its pool, or "".
	Before, After string
}

func newQueue(jobs []*apiv1.Job, pools []*apiv1.ResourcePool, by *apiv1.User, pool string) queue {
	q := queue{Pool: pool, Pools: []option{{"", "all", pool == ""}}}
	for _, p := range pools {
		q.Pools = append(q.Pools, option{p.GetName(), p.GetName(), p.GetName() == pool})
	}
	last := map[string]int{} // the row of the latest waiting job of each pool
	for _, j := range jobs {
		r := row{
			Job: j, Kind: kindOf(j), State: stateOf(j), Path: pathOf(j), Change: path + "/" + url.PathEscape(j.GetJobId()),
			MayChange: by.GetAdmin() || by.GetId() == j.GetUserId(),
		}
		q.MayChange = q.MayChange || r.MayChange
		if j.GetSummary().GetState() == apiv1.Job_STATE_QUEUED {
			if i, found := last[j.GetResourcePool()]; found {
				r.Before, q.Rows[i].After = q.Rows[i].GetJobId(), j.GetJobId()
			}
			last[j.GetResourcePool()] = len(q.Rows)
		}
		q.Rows = append(q.Rows, r)
	}
	return q
}

func kindOf(j *apiv1.Job) string {
	word := strings.ToLower(strings.TrimPrefix(j.GetType().String(), "TYPE_"))
	if j.GetType() == apiv1.Job_TYPE_CHECKPOINT_GC {
		return "checkpoint deletion"
	}
	return word
}

// stateOf returns the state of a job in a word.
func stateOf(j *apiv1.Job) string {
	if j.GetSummary().GetState() == apiv1.Job_STATE_QUEUED {
		return "queued"
	}
	return "running"
}

// pathOf returns the path of the page of a job, or "" if it has none.
func pathOf(j *apiv1.Job) string {
	kind := j.GetType()
	if kind == apiv1.Job_TYPE_EXPERIMENT {
		return ui.Root + "experiments/" + url.PathEscape(j.GetEntityId())
	}
	if kind == apiv1.Job_TYPE_CHECKPOINT_GC || kind == apiv1.Job_TYPE_EXTERNAL {
		return ""
	}
	return ui.Root + "tasks/" + url.PathEscape(j.GetEntityId())
}
