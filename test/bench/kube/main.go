// Command kube measures the time until gangs of pods run on many nodes, and checks that no gang is
// ever partly placed. The cluster comes from test/kube; its nodes are fake and their pods run
// immediately, so that the measured work is that of the resource manager, the API server and the
// scheduler, which share this machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// size is the amount of work.
type size struct {
	gangs, pods, slots int
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

func run(args []string, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is the top of a program
	defer stop()
	f := flag.NewFlagSet("kube", flag.ContinueOnError)
	f.SetOutput(errs)
	file := f.String("kubeconfig", "", "cluster of test/kube in api mode")
	plain := f.Bool("plain", false, "compare with plain Indexed Jobs of the same pods, instead of filling the cluster")
	rounds := f.Int("rounds", 3, "turns of each side, with -plain")
	limit := f.Duration("limit", 10*time.Minute, "how long all of it may take")
	var s size
	f.IntVar(&s.gangs, "gangs", 1250, "gangs to run")
	f.IntVar(&s.pods, "pods", 4, "pods of each")
	f.IntVar(&s.slots, "slots", 2, "GPUs of each pod")
	if f.Parse(args) != nil {
		return 2
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	if *plain {
		broken, err := compareSides(ctx, *file, s, *rounds, out)
		if err != nil {
			fmt.Fprintln(errs, "kube:", err)
		}
		if err != nil || broken {
			return 1
		}
		return 0
	}
	if err := fillAndEmpty(ctx, *file, s, out); err != nil {
		fmt.Fprintln(errs, "kube:", err)
		return 1
	}
	return 0
}

// fillAndEmpty fills the cluster, kills gangs so that queued ones start, and empties it.
func fillAndEmpty(ctx context.Context, file string, s size, out io.Writer) error {
	client, err := newCaller(file)
	if err != nil {
		return err
	}
	b := &bench{size: s, out: out, client: client, owner: newOwner()}
	if err := b.look(ctx); err != nil {
		return err
	}
	stop, err := b.start(ctx)
	if err != nil {
		return err
	}
	return errors.Join(b.life(ctx), stop())
}

// start runs a resource manager until the returned function is called.
func (b *bench) start(ctx context.Context) (stop func() error, err error) {
	if b.rm, err = pods.New(b.config()); err != nil {
		return nil, err
	}
	if err := b.rm.Restore(ctx); err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancel(ctx)
	g, inner := errgroup.WithContext(inner)
	g.Go(func() error { return b.rm.Run(inner) })
	stop = func() error { cancel(); return g.Wait() }
	if err := awaitSo(ctx, func(context.Context) (bool, error) { return b.rm.Ready(ctx) == nil, nil }); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// bench is one measurement.
type bench struct {
	size
	out    io.Writer
	client *caller
	owner  *owner
	rm     *pods.RM
	// fit is the number of gangs that run at the same time.
	fit int
	// ids are the gangs of one turn.
	ids []rm.AllocationID
}

const namespace = "default"

// endless prevents the pods of a fake node from completing immediately.
const endless = `{"metadata": {"annotations": {"pod-complete.stage.kwok.x-k8s.io/delay": "10h"}}}`

func (b *bench) config() pods.Config {
	return pods.Config{
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Client: b.client, Cluster: "bench",
		Namespace: namespace, Tasks: b.owner, Logs: b.owner, Memory: newMemory(),
		Pools: []pods.Pool{{Name: "default", Template: newTemplate(b.size)}}, DefaultAux: "default", DefaultCompute: "default",
	}
}

// newTemplate returns the pod template of the resource pool.
func newTemplate(s size) podspec.Template {
	return podspec.Template{
		Cluster: "bench", ClusterID: "c1", MasterID: "m1", Namespace: namespace, Image: "det-deploy:bench",
		Master:   podspec.Master{Scheme: "http", Host: "127.0.0.1", Port: 8080},
		SlotType: podspec.CUDA, MaxSlotsPerPod: s.slots, GPUPodSpec: []byte(endless),
	}
}

// life runs the steps of the measurement.
func (b *bench) life(ctx context.Context) error {
	ids, err := b.submit(ctx)
	if err != nil {
		return err
	}
	first := min(b.fit, b.gangs)
	if err := b.phase(ctx, fmt.Sprintf("%d gangs of %d pods submitted, until the %d that fit run", b.gangs, b.pods, first), func() bool {
		return b.owner.running(b.pods) == first
	}); err != nil {
		return err
	}
	if err := b.whole(ctx, first); err != nil {
		return err
	}
	if rest := b.gangs - first; rest > 0 {
		for _, id := range b.owner.some(rest, b.pods) {
			if err := b.kill(ctx, id, "it makes room"); err != nil {
				return err
			}
		}
		if err := b.phase(ctx, fmt.Sprintf("%d of them killed, until the %d that waited run", rest, rest), func() bool {
			return b.owner.running(b.pods) == b.gangs-rest && b.owner.over() == rest
		}); err != nil {
			return err
		}
		if err := b.whole(ctx, first); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := b.kill(ctx, id, "that is all"); err != nil {
			return err
		}
	}
	return b.phase(ctx, "all killed, until nothing is left", func() bool { return b.owner.over() == b.gangs })
}

func (b *bench) submit(ctx context.Context) ([]rm.AllocationID, error) {
	var ids []rm.AllocationID
	for range b.gangs {
		q := newRequest(b.size)
		if err := b.rm.Submit(ctx, q); err != nil {
			return nil, err
		}
		ids = append(ids, q.Allocation)
	}
	return ids, nil
}

// phase waits until so returns true and prints how long it took.
func (b *bench) phase(ctx context.Context, what string, so func() bool) error {
	began := time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; %d run whole, %d have ended", what, ctx.Err(), b.owner.running(b.pods), b.owner.over())
		case <-tick.C:
		}
	}
	fmt.Fprintf(b.out, "%-78s %5.1f s\n", what, time.Since(began).Seconds())
	return nil
}
