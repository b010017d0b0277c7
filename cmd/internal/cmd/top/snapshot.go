package top

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// snapshot is the state of a cluster at a point in time.
type snapshot struct {
	at       time.Time
	machines []machine
	tasks    []task
	// problems lists the reasons why pools cannot launch machines, one per line.
	problems []string
}

// machine is an agent, or a machine that has not joined yet.
type machine struct {
	id, pool, state string
	used, slots     int
	// instance is the machine's type, and price its price per hour if known. Both are empty for machines
	// that the master did not launch.
	instance, price string
	since           time.Time
}

// task is a running or waiting task, in the order of the queue.
type task struct {
	id, name, user, pool, state string
	held, asked                 int32
	submitted                   time.Time
	// reason is the reason why it waits.
	reason string
}

// answers holds the master's responses.
type answers struct {
	agents   []*apiv1.Agent
	pools    []*apiv1.ResourcePool
	launched []*apiv1.Machine
	jobs     []*apiv1.Job
	commands []*apiv1.Command
}

// fetchSnapshot queries the master.
func fetchSnapshot(ctx context.Context, master *client.Client) (snapshot, error) {
	var a answers
	var err error
	if a.agents, err = master.Agents(ctx); err != nil {
		return snapshot{}, err
	}
	if a.pools, err = master.Pools(ctx); err != nil {
		return snapshot{}, err
	}
	for _, p := range a.pools {
		if p.GetMachines() == nil {
			continue // the pool launches no machines
		}
		machines, err := master.PoolMachines(ctx, p.GetName())
		if err != nil {
			return snapshot{}, err
		}
		a.launched = append(a.launched, machines...)
	}
	if a.jobs, err = master.Jobs(ctx, ""); err != nil {
		return snapshot{}, err
	}
	if a.commands, err = master.Commands(ctx); err != nil {
		return snapshot{}, err
	}
	return buildSnapshot(a, time.Now()), nil
}

// readLog reads the last lines of a task's log.
func readLog(ctx context.Context, master *client.Client, task string) ([]string, error) {
	var lines []string
	for line, err := range master.Logs(ctx, task, client.LogQuery{Tail: logLines}) {
		if err != nil {
			return nil, err
		}
		for one := range strings.Lines(levelOf(line) + line.GetLog()) {
			lines = append(lines, term.Harmless(one))
		}
	}
	return lines, nil
}

// levelOf returns the prefix for the level of a log line.
func levelOf(line *apiv1.TaskLogsResponse) string {
	level, _ := strings.CutPrefix(line.GetLevel().String(), "LOG_LEVEL_")
	if line.GetLevel() == apiv1.LogLevel_LOG_LEVEL_UNSPECIFIED {
		return ""
	}
	return level + ": "
}

// buildSnapshot builds a snapshot from the master's responses.
func buildSnapshot(a answers, now time.Time) snapshot {
	s := snapshot{at: now, machines: arrangeMachines(a), tasks: arrangeTasks(a)}
	for _, p := range a.pools {
		for _, r := range p.GetMachines().GetRefusals() {
			s.problems = append(s.problems, fmt.Sprintf("pool %s: %s", p.GetName(), r.GetReason()))
		}
		for _, text := range p.GetMachines().GetProblems() {
			s.problems = append(s.problems, fmt.Sprintf("pool %s: %s", p.GetName(), text))
		}
	}
	return s
}

func arrangeMachines(a answers) []machine {
	launched := map[string]*apiv1.Machine{}
	for _, m := range a.launched {
		if m.GetState() != "gone" {
			launched[m.GetId()] = m
		}
	}
	var out []machine
	for _, g := range a.agents {
		row := machine{id: g.GetId(), pool: strings.Join(g.GetResourcePools(), ","), state: show.AgentState(g), since: g.GetRegisteredTime().AsTime()}
		row.used, row.slots = show.CountBusy(g)
		if m := launched[row.id]; m != nil {
			row.instance, row.price = m.GetInstanceType(), priceOf(m, a.pools)
			delete(launched, row.id)
		}
		out = append(out, row)
	}
	for _, m := range launched {
		out = append(out, machine{
			id: m.GetId(), pool: m.GetResourcePool(), state: m.GetState(), instance: m.GetInstanceType(),
			price: priceOf(m, a.pools), since: m.GetLaunchTime().AsTime(),
		})
	}
	slices.SortFunc(out, func(x, y machine) int { return cmp.Or(cmp.Compare(x.pool, y.pool), cmp.Compare(x.id, y.id)) })
	return out
}

// priceOf returns the price model of a machine and, for a spot machine, the maximum price per hour of its
// pool. The master does not know the prices of other machines.
func priceOf(m *apiv1.Machine, pools []*apiv1.ResourcePool) string {
	for _, p := range pools {
		most := p.GetDetails().GetAws().GetSpotMaxPrice()
		if p.GetName() == m.GetResourcePool() && m.GetPrice() == "spot" && most != "" {
			return "spot, at most $" + most
		}
	}
	return m.GetPrice()
}

func arrangeTasks(a answers) []task {
	byJob := map[string]*apiv1.Command{}
	for _, c := range a.commands {
		byJob[c.GetJobId()] = c
	}
	var out []task
	for _, j := range a.jobs {
		row := task{
			id: j.GetEntityId(), name: j.GetName(), user: j.GetUsername(), pool: j.GetResourcePool(),
			state: show.Enum(j.GetSummary().GetState(), "STATE_"), held: j.GetAllocatedSlots(), asked: j.GetRequestedSlots(),
			submitted: j.GetSubmissionTime().AsTime(),
		}
		if c := byJob[j.GetJobId()]; c != nil {
			row.id, row.state, row.reason = c.GetId(), show.TaskState(c), c.GetReason()
		}
		out = append(out, row)
	}
	return out
}
