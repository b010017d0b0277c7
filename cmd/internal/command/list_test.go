package command

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// machine returns a machine that was launched some minutes ago.
func machine(id, state, zone string, minutes int) *apiv1.Machine {
	return &apiv1.Machine{Id: id, State: state, Zone: zone, LaunchTime: timestamppb.New(time.Now().Add(-time.Duration(minutes) * time.Minute))}
}

// runList runs a list of machines with these arguments. fetch is called for each request.
func runList(t *testing.T, fetch func(*ListFlags) []*apiv1.Machine, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	s, out, errs := term.Test("", false)
	home := t.TempDir()
	s = s.WithEnv(func(key string) string {
		return map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "DET_MASTER": "http://127.0.0.1:1"}[key]
	})
	c := NewList(s, &Owned{}, List[*Owned, *apiv1.Machine]{
		Fetch: func(_ context.Context, o *Owned, _ *client.Client) ([]*apiv1.Machine, error) {
			return fetch(&o.List), nil
		},
		Reply: func(list []*apiv1.Machine) any { return &apiv1.GetMachinesResponse{Machines: list} },
		Columns: []Column[*apiv1.Machine]{
			{Head: "ID", Value: func(m *apiv1.Machine) any { return m.GetId() }},
			{Head: "STATE", Rank: 1, Value: func(m *apiv1.Machine) any { return m.GetState() }},
			{Head: "POOL", Rank: 2, Value: func(m *apiv1.Machine) any { return m.GetZone() }},
			{Head: "LAUNCH AGE", Rank: 3, Value: func(m *apiv1.Machine) any { return m.GetLaunchTime().AsTime() }},
		},
		Filters: []Filter{{Column: "STATE", Words: []string{"starting", "running"}}, {Column: "POOL"}},
		None:    "No machines found.",
	}, &cobra.Command{Use: "list", SilenceErrors: true, SilenceUsage: true})
	c.SetArgs(args)
	err = c.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func three(*ListFlags) []*apiv1.Machine {
	return []*apiv1.Machine{machine("b", "running", "gpu", 5), machine("c", "starting", "gpu", 1), machine("a", "running", "cpu", 120)}
}

func TestListFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args string
		want string
	}{
		{"", "b c a"},
		{"--sort-by id", "a b c"},
		{"--sort-by -id", "c b a"},
		{"--sort-by launch-age", "c b a"},
		{"--sort-by -launch-age --limit 1", "a"},
		{"--limit 2", "b c"},
		{"--state running", "b a"},
		{"--state running,starting --pool gpu", "b c"},
		{"--pool gpu --limit 1", "b"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			out, _, err := runList(t, three, append(strings.Fields(tt.args), "--output", "name")...)
			if got := strings.Join(strings.Fields(out), " "); err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestListRefusesWrongValues(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--sort-by size":  "--sort-by size: must be one of id, state, pool, launch-age",
		"--limit -1":      "--limit -1: must be 1 or more",
		"--state over":    "--state over: must be one of starting, running",
		"--output xml":    "must be text, wide, json",
		"--output json=2": "must be text, wide, json",
	} {
		never := func(*ListFlags) []*apiv1.Machine { t.Error("fetched"); return nil }
		_, _, err := runList(t, never, strings.Fields(args)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
		if _, ok := errors.AsType[*usage.Error](err); !ok && !strings.Contains(args, "output") {
			t.Errorf("%s: got %T, want a usage error", args, err)
		}
	}
}

// The server limits only what is neither sorted nor filtered afterwards.
func TestServerLimit(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{"--limit 2": 2, "--limit 2 --sort-by id": 0, "--limit 2 --pool gpu": 0, "": 0} {
		var got int
		_, _, err := runList(t, func(f *ListFlags) []*apiv1.Machine { got = f.ServerLimit(); return three(f) }, strings.Fields(args)...)
		if err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", args, got, err, want)
		}
	}
}

func TestEmptyListSaysSo(t *testing.T) {
	t.Parallel()
	nothing := func(*ListFlags) []*apiv1.Machine { return nil }
	out, notes, err := runList(t, nothing)
	if want := "No machines found. Those of other users are listed with --all.\n"; err != nil || out != "" || notes != want {
		t.Errorf("got %q, %q, %v", out, notes, err)
	}
	for format, want := range map[string]string{
		"csv": "id,state,pool,launch-age\n", "name": "", "jsonpath=.items": "[]\n",
		"yaml": "apiVersion: det-deploy/v2\nitems: []\nkind: MachineList\n",
	} {
		if out, notes, err := runList(t, nothing, "--output", format); err != nil || out != want || notes != "" {
			t.Errorf("%s: got %q, %q, %v, want %q", format, out, notes, err, want)
		}
	}
}

func TestWatchPrintsChangesOnly(t *testing.T) {
	t.Parallel()
	l := List[*Owned, *apiv1.Machine]{
		Columns: []Column[*apiv1.Machine]{
			{Head: "ID", Value: func(m *apiv1.Machine) any { return m.GetId() }},
			{Head: "STATE", Value: func(m *apiv1.Machine) any { return m.GetState() }},
		},
	}
	rounds := [][]*apiv1.Machine{
		{{Id: "a", State: "starting"}, {Id: "b", State: "running"}},
		{{Id: "a", State: "starting"}, {Id: "b", State: "running"}},
		{{Id: "a", State: "running"}, {Id: "c", State: "starting"}},
	}
	for format, want := range map[term.Format]string{
		term.Text:           "ID  STATE\na   starting\nb   running\na   running\nc   starting\n",
		term.Name:           "a\nb\na\nc\n",
		term.CSV:            "id,state\na,starting\nb,running\na,running\nc,starting\n",
		"jsonpath={.state}": "starting\nrunning\nrunning\nstarting\n",
	} {
		s, out, _ := term.Test("", false)
		o := &Local{Base: Base{Streams: s}, Output: format}
		seen := map[string]string{}
		for _, items := range rounds {
			if err := l.printChanges(o, items, seen); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(want, out.String()); d != "" {
			t.Errorf("%s: want -, got +:\n%s", format, d)
		}
	}
}

func TestWatchedItemsHaveTheirOwnNames(t *testing.T) {
	t.Parallel()
	l := List[*Owned, *apiv1.Machine]{
		Columns: []Column[*apiv1.Machine]{{Head: "ZONE", Value: func(m *apiv1.Machine) any { return m.GetZone() }}},
		Name:    func(m *apiv1.Machine) string { return m.GetId() },
		Object:  func(m *apiv1.Machine) (any, error) { return map[string]any{"machine": m.GetId()}, nil },
	}
	s, out, _ := term.Test("", false)
	o, seen := &Local{Base: Base{Streams: s}, Output: term.JSON}, map[string]string{}
	for _, state := range []string{"starting", "starting", "running"} {
		items := []*apiv1.Machine{{Id: "a", Zone: "c1", State: state}, {Id: "b", Zone: "c1"}}
		if err := l.printChanges(o, items, seen); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff("{\"machine\":\"a\"}\n{\"machine\":\"b\"}\n{\"machine\":\"a\"}\n", strings.ReplaceAll(out.String(), ": ", ":")); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}
