package agent

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// instant is a runtime whose containers exit as soon as they are started, after one line if they
// write. Containers whose name starts with "long" run until they are stopped.
type instant struct{ closingRuntime }

func (instant) Inspect(context.Context, string) (container.Status, error) {
	return container.Status{Phase: container.Absent}, nil
}
func (instant) Prepare(context.Context, container.Spec, container.Note) error { return nil }
func (instant) Start(context.Context, container.Spec) error                   { return nil }
func (instant) Signal(context.Context, string, container.Signal) error        { return nil }
func (instant) Wait(context.Context, string) (int, error)                     { return 0, nil }
func (instant) List(context.Context, string) ([]string, error)                { return nil, nil }
func (instant) Remove(context.Context, string) error                          { return nil }

func (instant) Logs(ctx context.Context, id string, from container.Position, emit func([]container.Line) error) error {
	switch {
	case strings.HasPrefix(id, "long"):
		<-ctx.Done()
		return ctx.Err()
	case strings.HasPrefix(id, "speaks") && from.Lines == 0:
		return emit([]container.Line{{Stream: container.Stdout, Text: []byte("hello"), Next: container.Position{Lines: 1}}})
	}
	return nil
}

// BenchmarkBesideTheRuntime measures the agent's cost of a short task besides its process,
// including the other end of the connection, also while other tasks run.
func BenchmarkBesideTheRuntime(b *testing.B) {
	for _, kind := range []string{"silent", "speaks"} {
		var grown measure.Growth
		for _, others := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/others=%d", kind, others), func(b *testing.B) {
				took := benchmarkBeside(b, kind, others)
				if b.N >= 100 { // a single run mostly measures one-time costs
					grown.See("a short task beside others", b.N, took, 1)
				}
			})
		}
		if err := grown.Err(); err != nil {
			b.Error(err)
		}
	}
}

// benchmarkBeside returns milliseconds of CPU time.
func benchmarkBeside(b *testing.B, kind string, others int) float64 {
	p := newPeer(b)
	log, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	cfg := Config{Settings: settings(b, p), Version: "bench", Log: slog.New(slog.NewTextHandler(log, nil))}
	ctx, cancel := context.WithCancel(b.Context())
	a, err := newAgent(ctx, cfg)
	if err != nil {
		b.Fatal(err)
	}
	a.runtime = instant{a.runtime}
	ended := make(chan error, 1)
	go func() { ended <- a.runLink(ctx, cfg) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("the agent ended with %v", err)
		}
		_ = log.Close()
	})
	p.await("the agent is there", func() bool { return p.conn != nil })
	for n := range others {
		p.start("long"+strconv.Itoa(n), "")
	}
	for n := range others {
		p.awaitState("long"+strconv.Itoa(n), apiv1.Container_STATE_RUNNING)
	}
	b.ResetTimer()
	before, said := measure.Processor(), p.messages
	const atOnce = 64
	for n := range b.N {
		if n >= atOnce && n%8 == 0 {
			p.await("earlier ones have ended", func() bool { return p.ends > n-atOnce })
		}
		p.start(kind+strconv.Itoa(n), "", withVariables)
	}
	p.await("all have ended", func() bool { return p.ends == b.N })
	took := (measure.Processor() - before).Seconds() * 1000
	b.ReportMetric(took/float64(b.N), "ms-cpu/task")
	b.ReportMetric(float64(p.messages-said)/float64(b.N), "messages/task")
	return took
}

// withVariables adds environment variables to an order to make it as large as a master's.
func withVariables(o *agentv1.Start) {
	for n := range 30 {
		o.Spec.Environment = append(o.Spec.Environment, "DET_VARIABLE_"+strconv.Itoa(n)+"="+strings.Repeat("x", 40))
	}
	o.Spec.Unset = []agentv1.Spec_Setting{agentv1.Spec_SETTING_IMAGE}
}
