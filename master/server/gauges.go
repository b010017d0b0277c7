package server

import (
	"github.com/prometheus/client_golang/prometheus"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// gauges exports the state of the cluster, which is read at each scrape.
type gauges struct {
	queue       Queue
	machines    Machines
	experiments Experiments

	poolAgents, poolSlots, poolJobs, agents, sick, experimentStates, trials *prometheus.Desc
}

func newGauges(q Queue, m Machines, x Experiments) *gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("det_deploy_"+name, help, labels, nil)
	}
	return &gauges{
		queue: q, machines: m, experiments: x,
		poolAgents: desc("pool_agents", "Agents of a resource pool.", "pool"),
		poolSlots:  desc("pool_slots", "Slots of a resource pool: all and used.", "pool", "state"),
		poolJobs:   desc("pool_jobs", "Queued and scheduled jobs of a resource pool.", "pool", "state"),
		agents:     desc("agents", "Agents by administrative state.", "state"),
		sick:       desc("sick_agents", "Agents that cannot start containers, by the missing resource.", "lack"),

		experimentStates: desc("experiments", "Experiments by state.", "state"),
		trials:           desc("trials", "Open and ended trials of experiments.", "state"),
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.poolAgents, g.poolSlots, g.poolJobs, g.agents, g.sick, g.experimentStates, g.trials} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	set := func(d *prometheus.Desc, n int32, labels ...string) {
		m, err := prometheus.NewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(d, err)
		}
		ch <- m
	}
	if g.queue != nil {
		for _, p := range g.queue.Pools() {
			set(g.poolAgents, p.GetNumAgents(), p.GetName())
			set(g.poolSlots, p.GetSlotsAvailable(), p.GetName(), "all")
			set(g.poolSlots, p.GetSlotsUsed(), p.GetName(), "used")
			set(g.poolJobs, p.GetStats().GetQueuedCount(), p.GetName(), "queued")
			set(g.poolJobs, p.GetStats().GetScheduledCount(), p.GetName(), "scheduled")
		}
	}
	if g.experiments != nil {
		states, open, ended := g.experiments.Count()
		for state, n := range states {
			set(g.experimentStates, int32(n), state)
		}
		set(g.trials, int32(open), "open")
		set(g.trials, int32(ended), "ended")
	}
	if g.machines != nil {
		count := map[string]int32{"enabled": 0, "draining": 0, "disabled": 0}
		lacks := map[string]int32{"disk": 0, "descriptors": 0, "memory": 0, "processes": 0, "engine": 0, "other": 0}
		for _, a := range g.machines.Agents() {
			count[agentState(a)]++
			if s := a.GetSick(); s != nil {
				lacks[s.GetLack()]++
			}
		}
		for lack, n := range lacks {
			set(g.sick, n, lack)
		}
		for state, n := range count {
			set(g.agents, n, state)
		}
	}
}

func agentState(a *apiv1.Agent) string {
	switch {
	case a.GetDraining():
		return "draining"
	case a.GetEnabled():
		return "enabled"
	}
	return "disabled"
}
