package launcher

import (
	"github.com/prometheus/client_golang/prometheus"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// meters are the metrics of one launcher.
type meters struct {
	wait, boot      prometheus.Histogram
	refusals, calls *prometheus.CounterVec
}

func newMeters(pool string) meters {
	labels := prometheus.Labels{"pool": pool}
	return meters{
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "det_deploy_machine_launch_wait_seconds", ConstLabels: labels,
			Help:    "Time from a scheduling pass that leaves tasks waiting to the launch call for their machines.",
			Buckets: []float64{.025, .05, .1, .15, .25, .5, 1, 5},
		}),
		boot: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "det_deploy_machine_boot_seconds", ConstLabels: labels,
			Help:    "Time from the grant of a machine until its agent joins.",
			Buckets: []float64{1, 5, 15, 30, 60, 90, 120, 180, 300, 600, 1200},
		}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "det_deploy_machine_refusals_total", ConstLabels: labels,
			Help: "Failed launches, by kind.",
		}, []string{"kind"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "det_deploy_machine_calls_total", ConstLabels: labels,
			Help: "Calls to the platform, by operation.",
		}, []string{"call"}),
	}
}

func (m meters) listMeters() []prometheus.Collector {
	return []prometheus.Collector{m.wait, m.boot, m.refusals, m.calls}
}

// Metrics returns a collector of the metrics of all launchers.
func (l *Launchers) Metrics() prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("det_deploy_"+name, help, labels, nil)
	}
	return &gauges{
		launchers: l,
		machines:  desc("pool_machines", "Launched machines of a resource pool, by state; joined includes idle.", "pool", "state"),
		demand:    desc("pool_demand", "Machines that waiting tasks need in addition to the present and starting ones.", "pool"),
		refused:   desc("pool_launch_refused", "1 while failed launches of a kind keep machines from being launched.", "pool", "kind"),
	}
}

// gauges are computed at each scrape.
type gauges struct {
	launchers                 *Launchers
	machines, demand, refused *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, p := range g.launchers.pools {
		for _, c := range p.meters.listMeters() {
			c.Describe(ch)
		}
	}
	for _, d := range []*prometheus.Desc{g.machines, g.demand, g.refused} {
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
	for name, p := range g.launchers.pools {
		for _, c := range p.meters.listMeters() {
			c.Collect(ch)
		}
		m := p.countMachines()
		set(g.demand, m.GetDemand(), name)
		for state, n := range countStates(m) {
			set(g.machines, n, name, state)
		}
		kinds := make(map[string]bool)
		for _, r := range m.GetRefusals() {
			kinds[r.GetKind()] = true
		}
		for kind := range kinds {
			set(g.refused, 1, name, kind)
		}
	}
}

func countStates(m *apiv1.PoolMachines) map[string]int32 {
	return map[string]int32{
		"launching": m.GetLaunching(), "starting": m.GetStarting(), "joined": m.GetJoined(), "idle": m.GetIdle(),
		"lost": m.GetLost(), "draining": m.GetDraining(), "terminating": m.GetTerminating(),
	}
}
