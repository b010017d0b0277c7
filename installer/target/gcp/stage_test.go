package gcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/cloud/cloudtest/faults"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/gcptest"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/hosted/probe"
	"github.com/det-deploy/det-deploy/installer/hosted/program"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/gcp"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
	"github.com/det-deploy/det-deploy/installer/target/gcp/layout"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a cluster that somebody works on.
type stage struct {
	world    *gcptest.World
	settings map[string]string
	// caller is who works; empty is the project's owner.
	caller string
	// file is a cluster.yaml that is given, or nothing.
	file string
	// programs are the hashes of det-deploy.
	programs program.Set
	version  string
	dead     func(record.Holder) bool
	// ill is what the master's machine says that is wrong.
	ill string
	// silent is a machine that says nothing.
	silent bool
	tried  int
	// sleep waits; nil moves the world's clock instead.
	sleep func(context.Context, time.Duration) error
}

func newStage(t *testing.T, o gcptest.Options, flags ...string) *stage {
	t.Helper()
	s := &stage{
		world: gcptest.New(t, o), programs: programs("one"), version: "v1.0.0",
		settings: map[string]string{"project": gcptest.Project, "region": "us-central1", "inbound-cidr": "203.0.113.0/24"},
	}
	s.set(flags...)
	return s
}

// clients are a new process's, whose changes ask a gate.
func (s *stage) clients(gate *resource.Gate) api.Clients { return clientsAs(s.world, s.caller, gate) }

func clientsOf(w *gcptest.World, gate *resource.Gate) api.Clients { return clientsAs(w, "", gate) }

func clientsAs(w *gcptest.World, caller string, gate *resource.Gate) api.Clients {
	c, err := api.New(context.Background(), w.Client(caller), api.Options{Project: gcptest.Project, Region: "us-central1", Gate: gate}) //nolint:forbidigo // nothing is sent
	if err != nil {
		panic(err)
	}
	return c
}

// programs are det-deploy for both architectures, of some build.
func programs(build string) program.Set {
	return program.Set{
		"amd64": {Path: build + "/amd64", SHA256: strings.Repeat("a", 63) + fmt.Sprint(len(build)%10)},
		"arm64": {Path: build + "/arm64", SHA256: strings.Repeat("b", 63) + fmt.Sprint(len(build)%10)},
	}
}

func (s *stage) set(flags ...string) {
	for i := 0; i < len(flags); i += 2 {
		s.settings[flags[i]] = flags[i+1]
	}
}

// programFile is what stands in for det-deploy's file.
type programFile struct{ *bytes.Reader }

func (programFile) Close() error { return nil }

// target is the cluster as a new process sees it.
func (s *stage) target(ctx context.Context, gate *resource.Gate) (*gcp.Target, error) {
	free := s.clients(nil) //nolint:contextcheck // nothing is sent
	recorded, err := s.recorded(ctx, free)
	if err != nil {
		return nil, err
	}
	given := make([]document.Given, 0, len(s.settings))
	for _, f := range spec.GCPFlags() {
		if v, ok := s.settings[f.Flag]; ok {
			given = append(given, document.Given{Path: f.Path, Value: v, Source: "--" + f.Flag})
		}
	}
	settings, err := spec.GCPFlags().Merge(new(spec.GCP), s.given(given), recorded)
	if err != nil {
		return nil, err
	}
	var g spec.GCP
	if err := spec.GCPFlags().Read(&g, "lab", settings); err != nil {
		return nil, err
	}
	known, err := layout.ReadKnown(recorded)
	if err != nil {
		return nil, err
	}
	t, err := gcp.Open(ctx, gcp.Config{
		Layout: layout.Layout{Spec: g, Known: known}, Clients: s.clients(gate), Free: free, //nolint:contextcheck // nothing is sent
		Options: hosted.Options{
			Settings: settings, Version: s.version, Programs: s.programs, Secrets: secret.Resolver{LookupEnv: variables},
			Ask: func(probe.Endpoint) (probe.Master, error) { return answering{s}, nil },
			Open: func(path string) (io.ReadSeekCloser, error) {
				return programFile{bytes.NewReader([]byte(path))}, nil
			},
			Pause: s.machine(free),
		},
	})
	if err != nil {
		return nil, err
	}
	return t, t.Look(ctx)
}

func (s *stage) given(flags []document.Given) spec.Given {
	g := spec.Given{Flags: flags}
	if s.file != "" {
		g.File, g.FileName = []byte(s.file), "cluster.yaml"
	}
	return g
}

func variables(name string) (string, bool) { return "secret of " + name, true }

func (s *stage) recorded(ctx context.Context, free api.Clients) (map[string]string, error) {
	r, _, _, err := record.Read(ctx, control.Open(free, "lab", gcptest.Number))
	return r.Settings, err
}

// machine is the master's machine: while somebody waits, it does what the manifest
// says.
func (s *stage) machine(free api.Clients) func(context.Context, time.Duration) error {
	return func(ctx context.Context, d time.Duration) error {
		// Over a bad network the machine tries again at the next glance.
		if err := s.act(ctx, free); err != nil && !errors.Is(err, faults.ErrInjected) {
			return err
		}
		if s.sleep != nil {
			return s.sleep(ctx, d)
		}
		return s.world.Sleep(ctx, d)
	}
}

func (s *stage) act(ctx context.Context, free api.Clients) error {
	if s.silent {
		return nil
	}
	store := control.Open(free, "lab", gcptest.Number)
	o, err := store.Get(ctx, manifest.Key)
	if err != nil {
		return nil //nolint:nilerr // there is nothing to do
	}
	m, err := manifest.Parse(o.Data)
	if err != nil {
		return err
	}
	st := manifest.Status{
		Schema: manifest.StatusSchema, Generation: m.Generation, Version: m.Version, Phase: m.Phase,
		ConfigSHA256: m.Files[manifest.ConfigFile].SHA256, Ready: s.ill == "" && m.Phase != manifest.Stop, Error: s.ill, Instance: "i-1",
		At: time.Now(),
	}
	data, err := json.Marshal(st)
	if err != nil {
		return err
	}
	was := ""
	if o, err := store.Get(ctx, manifest.StatusKey); err == nil {
		was = o.Version
	}
	_, err = store.Put(ctx, manifest.StatusKey, data, was)
	return err
}

// answering is a master that is well.
type answering struct{ s *stage }

func (answering) Cluster(context.Context) (string, error)             { return "lab", nil }
func (answering) Login(context.Context, string, string) (bool, error) { return true, nil }
func (a answering) Try(context.Context, probe.Trial) error            { a.s.tried++; return nil }
func (answering) Close()                                              {}

// operator is a new process.
func (s *stage) operator(ctx context.Context) (*installer.Installer, *gcp.Target, error) {
	gate := new(resource.Gate)
	t, err := s.target(ctx, gate)
	if err != nil {
		return nil, nil, err
	}
	settings, err := t.Remember()
	if err != nil {
		return nil, nil, err
	}
	return &installer.Installer{
		Cluster: "lab", Platform: "gcp", Settings: settings, Deployment: t, Store: t.Store(), Gate: gate,
		Holder: record.Holder{Owner: "ann", Host: "h", Nonce: "ann"}, Dead: s.dead, Apply: apply.Config{Settle: 10 * time.Second},
	}, t, nil
}

func (s *stage) up(ctx context.Context) error {
	in, _, err := s.operator(ctx)
	if err != nil {
		return err
	}
	if err := in.Check(ctx).Err(); err != nil {
		return err
	}
	p, err := in.Plan(ctx)
	if err != nil {
		return err
	}
	return in.Up(ctx, p)
}

// down brings no programs, as the command does not.
func (s *stage) down(ctx context.Context, deleteData bool) (installer.Receipt, error) {
	brought := s.programs
	s.programs = nil
	defer func() { s.programs = brought }()
	in, _, err := s.operator(ctx)
	if err != nil {
		return installer.Receipt{}, err
	}
	p, err := in.PlanDown(ctx, deleteData)
	if err != nil {
		return installer.Receipt{}, err
	}
	return in.Down(ctx, p, deleteData)
}

func (s *stage) upgrade(ctx context.Context) error {
	in, target, err := s.operator(ctx)
	if err != nil {
		return err
	}
	_, err = in.Upgrade(ctx, target.Release())
	return err
}

// wantVersion looks what the machine is told to run.
func (s *stage) wantVersion(t *testing.T) {
	t.Helper()
	_, target, err := s.operator(t.Context())
	must(t, err)
	runs, mode, err := target.Runs(t.Context())
	if err != nil || !runs.Same(target.Release()) || mode != installer.Serve {
		t.Errorf("got %s in mode %s and %v, want %s that serves", runs, mode, err, target.Release())
	}
}

// plan lists what up would do, leaving out what stays.
func (s *stage) plan(t *testing.T) []string {
	t.Helper()
	in, _, err := s.operator(t.Context())
	must(t, err)
	p, err := in.Plan(t.Context())
	must(t, err)
	out := []string{}
	for _, step := range p.Steps {
		if !step.Verb.Changes() && step.Verb != plan.Refuse {
			continue
		}
		line := string(step.Verb) + " " + step.ID
		for _, d := range step.Diff {
			line += fmt.Sprintf("; %s: %s → %s", d.Path, d.Have, d.Want)
		}
		out = append(out, line)
	}
	return out
}

func (s *stage) wantNothingToDo(t *testing.T) {
	t.Helper()
	if got := s.plan(t); len(got) > 0 {
		t.Errorf("got a plan with something to do, want none:\n%s", strings.Join(got, "\n"))
	}
}

func (s *stage) wantLeft(t *testing.T, want ...string) {
	t.Helper()
	got := s.world.Live()
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		t.Errorf("got left %v, want %v", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
