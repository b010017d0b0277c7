package pods_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/master/rm"
	rmtest "github.com/det-deploy/det-deploy/test/contract/rm"
)

func TestContract(t *testing.T) {
	t.Parallel()
	rmtest.Suite{
		New: newContract, HighFirst: true,
		Edit: func(r *rm.Request) { r.Name = program{Forever: true}.String() },
	}.Run(t)
}

// contract is a resource manager with the state that outlives it, on nodes of MachineSlots GPUs.
type contract struct {
	t        *testing.T
	config   pods.Config
	nodes    *kubelets
	machines int
	stop     func()
}

func newContract(t *testing.T, o *rmtest.Owner, opts rmtest.Options) rmtest.Harness {
	c, namespace := cluster.Namespace(t)
	h := &contract{t: t, nodes: newKubelets(t, c, namespace), stop: func() {}}
	limits, decide := pods.DefaultLimits(), gang.DefaultOptions()
	decide.BackOff, decide.MaxBackOff, decide.Preemption = 500*time.Millisecond, time.Second, opts.Preemption
	h.config = pods.Config{
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Client: fast(t, c), Cluster: "lab", Namespace: namespace,
		Tasks: o, Logs: o, Memory: &memory{docs: make(map[string][]byte)}, Limits: limits, Gang: decide,
		DefaultAux: rmtest.DefaultPool, DefaultCompute: rmtest.DefaultPool,
	}
	for _, name := range []string{rmtest.DefaultPool, rmtest.OtherPool} {
		p := pods.Pool{Name: name, Template: template(namespace)}
		p.Template.MaxSlotsPerPod = rmtest.MachineSlots
		spec := placedOn(namespace, name)
		p.Template.CPUPodSpec, p.Template.GPUPodSpec = spec, spec
		h.config.Pools = append(h.config.Pools, p)
	}
	t.Cleanup(h.Stop)
	return h
}

func (h *contract) Start(attach func(rm.ResourceManager)) {
	h.t.Helper()
	r, err := pods.New(h.config)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := r.Restore(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	attach(r)
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	h.stop = func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Errorf("run: %v", err)
		}
		h.stop = func() {}
	}
}

func (h *contract) Stop() { h.stop() }

func (h *contract) AddMachine(pool string) {
	h.t.Helper()
	h.machines++
	h.nodes.addNode(h.t, h.machines, fmt.Sprint(rmtest.MachineSlots), pool)
}

func (h *contract) Deaf(id rm.AllocationID) { h.nodes.ignoreTerm(id) }

func (h *contract) Finish(id rm.AllocationID, code int32) { h.nodes.finish(id, code) }
