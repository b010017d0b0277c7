package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/local"
	"github.com/det-deploy/det-deploy/cloud/machine"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program is a fake det-deploy: "agent run" sleeps, "agent sweep" records its call.
func program(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "det-deploy")
	script := "#!/bin/sh\n" + `case "$2" in
run) echo "agent runs with $4"; touch "${4%agent.yaml}ran"; exec sleep 1000;;
sweep) echo "swept"; ! test -e "${4%agent.yaml}unswept";;
esac
`
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func config(t *testing.T) local.Config {
	t.Helper()
	return local.Config{
		Root: t.TempDir(), Pool: "a pool/x", Program: program(t),
		Agent: func(p local.Place) ([]byte, error) { return fmt.Appendf(nil, "agent_id: %s\n", p.ID()), nil },
	}
}

// pool is a pool whose machines are terminated at the end of the test.
type pool struct {
	*local.Instances

	cfg local.Config
	// empty simulates a platform without capacity.
	empty *atomic.Bool
}

func open(t *testing.T, cfg local.Config) pool {
	t.Helper()
	p := pool{Instances: local.Open(cfg), cfg: cfg}
	t.Cleanup(func() {
		// The test's own context is already canceled.
		ctx := context.WithoutCancel(t.Context())
		left, err := local.Found(cfg.Root)
		if err != nil {
			t.Error(err)
		}
		for _, m := range left {
			if err := local.End(ctx, m, cfg.Program); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

func TestInstancesContract(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{"at once": 0, "boots slow": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloudtest.InstancesSuite{
				New: func(t *testing.T) cloud.Instances {
					cfg := config(t)
					cfg.StartDelay = delay
					empty := new(atomic.Bool)
					cfg.FailureRate = 0.5
					cfg.Random = func() float64 {
						if empty.Load() {
							return 0
						}
						return 1
					}
					p := open(t, cfg)
					p.empty = empty
					return p
				},
				NoCapacity: func(_ *testing.T, p cloud.Instances) { p.(pool).empty.Store(true) },
				Offer:      local.Offer(),
				Reopen: func(_ *testing.T, p cloud.Instances) cloud.Instances {
					return pool{Instances: local.Open(p.(pool).cfg), cfg: p.(pool).cfg}
				},
				Other: func(t *testing.T, p cloud.Instances) cloud.Instances {
					cfg := p.(pool).cfg
					cfg.Pool = "other"
					return open(t, cfg)
				},
				Unknown: "m-0123456789abcdef",
			}.Run(t)
		})
	}
}

func TestFailureRateKeepsTokenUsable(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	draws := []float64{0.1, 0.4, 0.6, 0.2, 0.7}
	cfg.FailureRate = 0.5
	cfg.Random = func() float64 { d := draws[0]; draws = draws[1:]; return d }
	p := open(t, cfg)
	l := cloud.Launch{Token: "t", Offer: local.Offer(), Count: 2}
	if _, err := p.Launch(t.Context(), l); cloud.KindOf(err) != cloud.NoCapacity {
		t.Fatalf("both fail: got %v, want it refused for capacity", err)
	}
	if got, err := p.Launch(t.Context(), l); err != nil || len(got) != 1 {
		t.Errorf("one of two fails: got %v and %v, want one machine", got, err)
	}
	if got, err := p.Launch(t.Context(), l); err != nil || len(got) != 1 {
		t.Errorf("the same again: got %v and %v, want the same and no new draw", got, err)
	}
}

func TestMachineEndsWithItsAgentAndKeepsConsole(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Program = "/bin/false"
	p := open(t, cfg)
	made := launch(t, p, 1)
	eventually(t, p, func(l []cloud.Instance) bool { return len(l) == 1 && l[0].State == cloud.InstanceStopping })
	if l, _ := p.List(t.Context()); l[0].Reason != "its agent has exited" {
		t.Errorf("reason: got %q, want that its agent has exited", l[0].Reason)
	}
	// A failing sweeper is restarted until it succeeds.
	cfg.Program = program(t)
	again := open(t, cfg)
	eventually(t, again, func(l []cloud.Instance) bool { return l[0].State == cloud.InstanceTerminated })
	if text, err := again.Console(t.Context(), made[0].ID); err != nil || !strings.Contains(text, "swept") {
		t.Errorf("console: got %q and %v, want the last lines", text, err)
	}
}

func TestEndedMachineLeavesNoFiles(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Remember = time.Nanosecond
	p := open(t, cfg)
	made := launch(t, p, 2)
	if err := p.Terminate(t.Context(), []cloud.InstanceID{made[0].ID, made[1].ID}); err != nil {
		t.Fatal(err)
	}
	eventually(t, p, func(l []cloud.Instance) bool { return len(l) == 0 })
	_, _ = p.List(t.Context())
	left, err := filepath.Glob(filepath.Join(cfg.Root, "*", "m-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("directory: got %v and %v, want nothing", left, err)
	}
}

// If a master is killed after starting a machine and before recording its process, the next one
// finds the machine and does not start it a second time.
func TestUnrecordedStartIsAdopted(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	p := open(t, cfg)
	made := launch(t, p, 1)
	dir := filepath.Join(cfg.Root, "a%20pool%2Fx")
	record := filepath.Join(dir, string(made[0].ID), "machine.json")
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	start, end := strings.Index(string(text), `"process":`), strings.Index(string(text), `}}`)
	process := string(text)[start : end+1]
	lost := strings.Replace(string(text), process, `"process":{"pid":0,"start":""}`, 1)
	if err := os.WriteFile(record, []byte(lost), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range files(t, filepath.Join(dir, "launches")) {
		b, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(f, []byte(strings.Replace(string(b), `"kept":true`, `"kept":false`, 1)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := local.Open(cfg).List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(record); !strings.Contains(string(got), process) {
		t.Errorf("record: got %s, want the process found: %s", got, process)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("files: got %v and %v, want some", names, err)
	}
	return names
}

func TestProofIsBoundToMachine(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Root = filepath.Join(cfg.Root, "any [name]*")
	p := open(t, cfg)
	made := launch(t, p, 2)
	if found, err := local.Found(cfg.Root); err != nil || len(found) != 2 {
		t.Errorf("got %v and %v, want both machines", found, err)
	}
	dir := filepath.Join(cfg.Root, "a%20pool%2Fx")
	proof := func(i int, audience string) cloud.Proof {
		got, err := machine.SecretFile(filepath.Join(dir, string(made[i].ID), "secret")).Proof(t.Context(), audience)
		if err != nil {
			t.Fatal(err)
		}
		return cloud.Proof{Kind: got.Kind, Data: got.Data}
	}
	a := local.Attestor{Root: cfg.Root}
	if id, err := a.Attest(t.Context(), "lab", proof(1, "lab")); err != nil || id.Instance != made[1].ID {
		t.Errorf("good: got %v and %v, want %s", id, err, made[1].ID)
	}
	swapped := proof(0, "lab")
	swapped.Data = []byte(strings.ReplaceAll(string(swapped.Data), string(made[0].ID), string(made[1].ID)))
	outside := cloud.Proof{Kind: local.ProofKind, Data: []byte(`{"instance":"../x"}`)}
	unknown := cloud.Proof{Kind: local.ProofKind, Data: []byte(`{"instance":"m-0123456789abcdef"}`)}
	for name, c := range map[string]cloud.Proof{
		"another cluster": proof(1, "prod"), "another machine's name": swapped, "a path": outside, "nobody": unknown,
		"another kind": {Kind: "aws-sts", Data: proof(1, "lab").Data}, "nonsense": {Kind: local.ProofKind, Data: []byte("x")},
	} {
		if id, err := a.Attest(t.Context(), "lab", c); cloud.KindOf(err) != cloud.Denied || id.Instance != "" {
			t.Errorf("%s: got %v and %v, want it denied", name, id, err)
		}
	}
}

func launch(t *testing.T, p cloud.Instances, count int) []cloud.Instance {
	t.Helper()
	made, err := p.Launch(t.Context(), cloud.Launch{Token: "t", Offer: local.Offer(), Count: count})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func eventually(t *testing.T, p cloud.Instances, ok func([]cloud.Instance) bool) {
	t.Helper()
	var seen []cloud.Instance
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		var err error
		if seen, err = p.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ok(seen) {
			return
		}
	}
	t.Fatalf("list: got %+v for 10 s, want something else", seen)
}
