package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// machines are the calls about agents and their admission.
type machines struct{ *transport }

// Agents lists the agents.
func (m machines) Agents(ctx context.Context) ([]*apiv1.Agent, error) {
	out := &apiv1.GetAgentsResponse{}
	err := m.do(ctx, call{op: "list agents", method: http.MethodGet, path: "/api/v1/agents", out: out})
	return out.GetAgents(), err
}

// EnableAgent allows tasks to start on an agent again.
func (m machines) EnableAgent(ctx context.Context, id string) (*apiv1.Agent, error) {
	out := &apiv1.EnableAgentResponse{}
	err := m.do(ctx, call{op: "enable agent " + id, method: http.MethodPost, path: agentPath(id, "/enable"), out: out})
	return out.GetAgent(), err
}

// DisableAgent prevents tasks from starting on an agent. With drain, running tasks may end by
// themselves; otherwise they are killed.
func (m machines) DisableAgent(ctx context.Context, id string, drain bool) (*apiv1.Agent, error) {
	out := &apiv1.DisableAgentResponse{}
	err := m.do(ctx, call{
		op: "disable agent " + id, method: http.MethodPost, path: agentPath(id, "/disable"),
		in: &apiv1.DisableAgentRequest{AgentId: id, Drain: drain}, out: out,
	})
	return out.GetAgent(), err
}

// EnableSlot allows tasks to use a slot of an agent again.
func (m machines) EnableSlot(ctx context.Context, agent, slot string) (*apiv1.Slot, error) {
	out := &apiv1.EnableSlotResponse{}
	err := m.do(ctx, call{
		op: "enable slot " + slot + " of agent " + agent, method: http.MethodPost,
		path: agentPath(agent, "/slots/"+url.PathEscape(slot)+"/enable"), out: out,
	})
	return out.GetSlot(), err
}

// DisableSlot prevents tasks from using a slot of an agent.
func (m machines) DisableSlot(ctx context.Context, agent, slot string, drain bool) (*apiv1.Slot, error) {
	out := &apiv1.DisableSlotResponse{}
	err := m.do(ctx, call{
		op: "disable slot " + slot + " of agent " + agent, method: http.MethodPost,
		path: agentPath(agent, "/slots/"+url.PathEscape(slot)+"/disable"),
		in:   &apiv1.DisableSlotRequest{AgentId: agent, SlotId: slot, Drain: drain}, out: out,
	})
	return out.GetSlot(), err
}

// RevokeAgent stops an agent and prevents it from joining again. It does not return an error for an
// unknown agent.
func (m machines) RevokeAgent(ctx context.Context, id string) error {
	return m.do(ctx, call{op: "revoke agent " + id, method: http.MethodPost, path: agentPath(id, "/revoke")})
}

// AdmitAgent allows a revoked agent to join again. It does not return an error for an agent that is
// not revoked.
func (m machines) AdmitAgent(ctx context.Context, id string) error {
	return m.do(ctx, call{op: "admit agent " + id, method: http.MethodPost, path: agentPath(id, "/admit")})
}

// RevokedAgents lists the revoked agents.
func (m machines) RevokedAgents(ctx context.Context) ([]*apiv1.RevokedAgent, error) {
	out := &apiv1.GetRevokedAgentsResponse{}
	err := m.do(ctx, call{op: "list revoked agents", method: http.MethodGet, path: "/api/v1/revoked-agents", out: out})
	return out.GetAgents(), err
}

// CreateJoinToken creates a token with which machines can join a pool.
func (m machines) CreateJoinToken(ctx context.Context, in *apiv1.CreateJoinTokenRequest) (*apiv1.CreateJoinTokenResponse, error) {
	out := &apiv1.CreateJoinTokenResponse{}
	err := m.do(ctx, call{op: "create join token", method: http.MethodPost, path: "/api/v1/join-tokens", in: in, out: out, once: true})
	return out, err
}

// JoinTokens lists the join tokens that have not expired.
func (m machines) JoinTokens(ctx context.Context) ([]*apiv1.JoinToken, error) {
	out := &apiv1.GetJoinTokensResponse{}
	err := m.do(ctx, call{op: "list join tokens", method: http.MethodGet, path: "/api/v1/join-tokens", out: out})
	return out.GetJoinTokens(), err
}

// RevokeJoinToken revokes a join token, given by its ID or its whole text.
func (m machines) RevokeJoinToken(ctx context.Context, name string) (*apiv1.JoinToken, error) {
	out := &apiv1.RevokeJoinTokenResponse{}
	err := m.do(ctx, call{
		op: "revoke join token", method: http.MethodPost, path: "/api/v1/join-tokens/revoke",
		in: &apiv1.RevokeJoinTokenRequest{Token: name}, out: out,
	})
	return out.GetJoinToken(), err
}

// RotateKeys creates a new key that signs join tokens and agents' credentials.
func (m machines) RotateKeys(ctx context.Context) error {
	return m.do(ctx, call{op: "rotate the keys of agents", method: http.MethodPost, path: "/api/v1/master/rotate-keys", once: true})
}

func agentPath(id, rest string) string { return "/api/v1/agents/" + url.PathEscape(id) + rest }

// queue are the calls about resource pools and their queues.
type queue struct{ *transport }

// Pools lists the resource pools.
func (q queue) Pools(ctx context.Context) ([]*apiv1.ResourcePool, error) {
	out := &apiv1.GetResourcePoolsResponse{}
	err := q.do(ctx, call{op: "list resource pools", method: http.MethodGet, path: "/api/v1/resource-pools", out: out})
	return out.GetResourcePools(), err
}

// Jobs lists the queue of a pool, or of all pools if pool is empty, next job first.
func (q queue) Jobs(ctx context.Context, pool string) ([]*apiv1.Job, error) {
	query := url.Values{"orderBy": {"ORDER_BY_ASC"}}
	if pool != "" {
		query.Set("resourcePool", pool)
	}
	jobs, _, err := q.listJobs(ctx, query)
	return jobs, err
}

// JobsPage returns at most limit jobs of the queue of a pool, or of all pools if pool is empty, from an offset on,
// next job first, and the number of all.
func (q queue) JobsPage(ctx context.Context, pool string, offset, limit int) (jobs []*apiv1.Job, total int, err error) {
	query := url.Values{"orderBy": {"ORDER_BY_ASC"}, "offset": {strconv.Itoa(offset)}, "limit": {strconv.Itoa(limit)}}
	if pool != "" {
		query.Set("resourcePool", pool)
	}
	return q.listJobs(ctx, query)
}

func (q queue) listJobs(ctx context.Context, query url.Values) (jobs []*apiv1.Job, total int, err error) {
	out := &apiv1.GetJobsV2Response{}
	err = q.do(ctx, call{op: "list jobs", method: http.MethodGet, path: "/api/v1/job-queues-v2", query: query, out: out})
	jobs = make([]*apiv1.Job, 0, len(out.GetJobs()))
	for _, j := range out.GetJobs() {
		if j.GetFull() != nil {
			jobs = append(jobs, j.GetFull())
		}
	}
	return jobs, int(out.GetPagination().GetTotal()), err
}

// PlaceSearched is the number of queued jobs among which Place searches.
const PlaceSearched = 100

// Place returns the place of a job among the queued jobs of a pool, from 1, and their number. The place is 0
// if the job is not queued or not among the first PlaceSearched.
func (q queue) Place(ctx context.Context, pool, job string) (place, total int, err error) {
	query := url.Values{
		"orderBy": {"ORDER_BY_ASC"}, "resourcePool": {pool}, "states": {apiv1.Job_STATE_QUEUED.String()}, "limit": {strconv.Itoa(PlaceSearched)},
	}
	jobs, total, err := q.listJobs(ctx, query)
	i := slices.IndexFunc(jobs, func(j *apiv1.Job) bool { return j.GetJobId() == job })
	return i + 1, total, err
}

// QueuedJobs lists the first queued jobs of all pools, next job first, and returns the number of all.
func (q queue) QueuedJobs(ctx context.Context, limit int) (list []*apiv1.Job, total int, err error) {
	query := url.Values{"orderBy": {"ORDER_BY_ASC"}, "states": {apiv1.Job_STATE_QUEUED.String()}, "limit": {strconv.Itoa(limit)}}
	out := &apiv1.GetJobsV2Response{}
	err = q.do(ctx, call{op: "list jobs", method: http.MethodGet, path: "/api/v1/job-queues-v2", query: query, out: out})
	for _, j := range out.GetJobs() {
		list = append(list, j.GetFull())
	}
	return list, int(out.GetPagination().GetTotal()), err
}

// UpdateJob changes one job's position in the queue.
func (q queue) UpdateJob(ctx context.Context, change *apiv1.QueueControl) error {
	return q.do(ctx, call{
		op: "update job " + change.GetJobId(), method: http.MethodPost, path: "/api/v1/job-queues",
		in:  &apiv1.UpdateJobQueueRequest{Updates: []*apiv1.QueueControl{change}},
		out: &apiv1.UpdateJobQueueResponse{},
	})
}

// PoolMachines lists the machines launched for a resource pool, including terminated ones, newest
// first.
func (q queue) PoolMachines(ctx context.Context, pool string) ([]*apiv1.Machine, error) {
	out := &apiv1.GetMachinesResponse{}
	err := q.do(ctx, call{
		op: "list machines of resource pool " + pool, method: http.MethodGet,
		path: "/api/v1/resource-pools/" + url.PathEscape(pool) + "/machines", out: out,
	})
	return out.GetMachines(), err
}

// resources are the calls about resource usage.
type resources struct{ *transport }

// ResourceUsage returns the sums of slot usage and cost between from and until, largest first.
func (r resources) ResourceUsage(ctx context.Context, group apiv1.ResourceUsageGroup, from, until time.Time) ([]*apiv1.ResourceUsage, error) {
	out := &apiv1.ResourceUsageResponse{}
	query := url.Values{
		"groupBy":        {group.String()},
		"timestampAfter": {from.UTC().Format(time.RFC3339)}, "timestampBefore": {until.UTC().Format(time.RFC3339)},
	}
	err := r.do(ctx, call{op: "get the resource usage", method: http.MethodGet, path: "/api/v1/resources/usage", query: query, out: out})
	return out.GetUsage(), err
}

// ResourceDays returns the slot seconds of each day from first until last, by the calendar of UTC.
func (r resources) ResourceDays(ctx context.Context, first, last time.Time) ([]*apiv1.ResourceAllocationAggregatedEntry, error) {
	out := &apiv1.ResourceAllocationAggregatedResponse{}
	query := url.Values{
		"period":    {apiv1.ResourceAllocationAggregationPeriod_RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY.String()},
		"startDate": {first.UTC().Format(time.DateOnly)}, "endDate": {last.UTC().Format(time.DateOnly)},
	}
	err := r.do(ctx, call{op: "get the resource usage by day", method: http.MethodGet, path: "/api/v1/resources/allocation/aggregated", query: query, out: out})
	return out.GetResourceEntries(), err
}
