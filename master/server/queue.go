package server

import (
	"math"
	"slices"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// queueCalls serves the calls about resource pools and their jobs.
type queueCalls struct{ *shared }

func (q *queueCalls) routes() []route {
	if q.cfg.Queue == nil {
		return nil
	}
	list := []route{
		getRoute("resource-pools", user, plainCall(q.pools)),
		getRoute("job-queues-v2", user, plainCall(q.jobs)),
		getRoute("job-queues/stats", user, plainCall(q.queueStats)),
	}
	if q.cfg.Launches != nil {
		list = append(list, getRoute("resource-pools/{pool}/machines", user, plainCall(q.poolMachines)))
	}
	if q.cfg.Tasks != nil {
		list = append(list, auditedRoute("job.change", postRoute("job-queues", user, unaryCall(q.updateQueue))))
	}
	return list
}

func (q *queueCalls) pools(c *call) (*apiv1.GetResourcePoolsResponse, error) {
	part, p := query.Cut(c.query(), q.cfg.Queue.Pools())
	return &apiv1.GetResourcePoolsResponse{ResourcePools: part, Pagination: p}, c.query().Err()
}

// poolMachines lists the machines that were launched for a pool, newest first. The pool may have been
// removed.
func (q *queueCalls) poolMachines(c *call) (*apiv1.GetMachinesResponse, error) {
	name := c.PathValue("pool")
	all, err := q.cfg.Launches.History(c.Context(), name)
	if err == nil && len(all) == 0 {
		err = q.knownPool(name)
	}
	if err != nil {
		return nil, err
	}
	part, p := query.Cut(c.query(), all)
	return &apiv1.GetMachinesResponse{Machines: part, Pagination: p}, c.query().Err()
}

func (q *queueCalls) knownPool(name string) error {
	for _, p := range q.cfg.Queue.PoolSettings() {
		if p.Name == name {
			return nil
		}
	}
	return status.Missing("resource pool", name)
}

func (q *queueCalls) jobs(c *call) (*apiv1.GetJobsV2Response, error) {
	params := c.query()
	pool := params.Text("resourcePool")
	if pool != "" {
		if err := q.knownPool(pool); err != nil {
			return nil, err
		}
	}
	out, part := &apiv1.GetJobsV2Response{}, params.Part()
	list := q.cfg.Queue.Queue(rm.QueuePart{
		Pool: pool, States: params.All("states"), Descending: params.Descending(),
		Cut: func(total int) (from, to int) {
			out.Pagination = part.Of(total)
			return int(out.GetPagination().GetStartIndex()), int(out.GetPagination().GetEndIndex())
		},
	})
	for _, j := range list {
		out.Jobs = append(out.Jobs, &apiv1.RBACJob{Full: j})
	}
	return out, params.Err()
}

func (q *queueCalls) queueStats(c *call) (*apiv1.GetJobQueueStatsResponse, error) {
	wanted := c.query().All("resourcePools")
	out := &apiv1.GetJobQueueStatsResponse{}
	for _, p := range q.cfg.Queue.Pools() {
		if len(wanted) > 0 && !slices.Contains(wanted, p.GetName()) {
			continue
		}
		stats := p.GetStats()
		if stats == nil {
			stats = &apiv1.QueueStats{}
		}
		out.Results = append(out.Results, &apiv1.RPQueueStat{Stats: stats, ResourcePool: p.GetName()})
	}
	return out, nil
}

// updateQueue changes jobs in order. It stops at the first error; the jobs before it remain changed, and
// the error names the job.
func (q *queueCalls) updateQueue(c *call, in *apiv1.UpdateJobQueueRequest) (*apiv1.UpdateJobQueueResponse, error) {
	c.noteTarget("", jobChanges(in)...)
	if q.cfg.StrictQueue && !c.user.GetAdmin() {
		return nil, status.New(status.PermissionDenied, "only administrators may change the queue of this cluster")
	}
	for _, u := range in.GetUpdates() {
		change, err := readChange(u)
		if err != nil {
			return nil, err
		}
		if err := q.cfg.Tasks.ChangeJob(c.Context(), c.user, rm.JobID(u.GetJobId()), change); err != nil {
			return nil, err
		}
	}
	return &apiv1.UpdateJobQueueResponse{}, nil
}

func readChange(u *apiv1.QueueControl) (rm.Change, error) {
	var ch rm.Change
	if u.Priority != nil {
		p := int(u.GetPriority())
		if p < 1 || p > 99 {
			return ch, status.New(status.InvalidArgument, "priority: must be between 1 and 99 (is %d)", p)
		}
		ch.Priority = &p
	}
	if u.Weight != nil {
		if w := u.GetWeight(); w <= 0 || math.IsNaN(w) || math.IsInf(w, 0) {
			return ch, status.New(status.InvalidArgument, "weight: must be greater than 0 (is %v)", u.GetWeight())
		}
		ch.Weight = u.Weight
	}
	if u.MaxSlots != nil {
		n := int(u.GetMaxSlots())
		if n < 0 {
			return ch, status.New(status.InvalidArgument, "maxSlots: must be 0 or more; 0 is unlimited (is %d)", n)
		}
		ch.MaxSlots = &n
	}
	ch.Pool = u.ResourcePool
	if u.AheadOf != nil {
		id := rm.JobID(u.GetAheadOf())
		ch.AheadOf = &id
	}
	if u.BehindOf != nil {
		id := rm.JobID(u.GetBehindOf())
		ch.BehindOf = &id
	}
	if ch == (rm.Change{}) {
		return ch, status.New(status.InvalidArgument,
			"job '%s': one of priority, weight, maxSlots, resourcePool, aheadOf and behindOf must be set", u.GetJobId())
	}
	return ch, nil
}
