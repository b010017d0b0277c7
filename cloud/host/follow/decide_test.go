package follow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/follow"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

func at(generation int, program string, edit ...func(*manifest.Manifest)) *manifest.Manifest {
	sum := strings.Repeat(program, 64)
	m := &manifest.Manifest{
		Schema: manifest.Schema, Cluster: "lab", Generation: generation, Version: "v" + program, Phase: manifest.Serve,
		Binaries: map[string]manifest.File{"amd64": {Key: manifest.BinaryKey(sum), SHA256: sum}},
		Health:   manifest.Health{URL: "http://127.0.0.1:1/health"},
	}
	for _, e := range edit {
		e(m)
	}
	return m
}

func phase(p manifest.Phase) func(*manifest.Manifest) {
	return func(m *manifest.Manifest) { m.Phase = p }
}

func fallback(m *manifest.Manifest) { m.Fallback = true }

func TestDecide(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	long, short := now.Add(-time.Hour), now.Add(-time.Second)
	well, sick, dead := follow.Seen{Running: true, Well: true}, follow.Seen{Running: true}, follow.Seen{}
	config := func(m *manifest.Manifest) {
		m.Files = map[string]manifest.File{manifest.ConfigFile: {SHA256: "x"}}
	}
	other := func(m *manifest.Manifest) { m.Binaries["arm64"] = manifest.File{SHA256: "y"} }
	tests := map[string]struct {
		state follow.State
		seen  follow.Seen
		want  follow.Act
	}{
		"nothing is known":                       {follow.State{}, dead, follow.Keep},
		"the first manifest":                     {follow.State{Wanted: at(1, "a")}, dead, follow.Apply},
		"as wanted and well":                     {follow.State{Wanted: at(1, "a"), Applied: at(1, "a")}, well, follow.Keep},
		"as wanted and starting":                 {follow.State{Wanted: at(1, "a"), Applied: at(1, "a"), Started: short}, sick, follow.Keep},
		"as wanted and not running":              {follow.State{Wanted: at(1, "a"), Applied: at(1, "a"), Started: short}, dead, follow.Start},
		"another program":                        {follow.State{Wanted: at(2, "b"), Applied: at(1, "a")}, well, follow.Apply},
		"another configuration":                  {follow.State{Wanted: at(2, "a", config), Applied: at(1, "a")}, well, follow.Apply},
		"another phase":                          {follow.State{Wanted: at(2, "a", phase(manifest.Hold)), Applied: at(1, "a")}, well, follow.Apply},
		"another generation of the same":         {follow.State{Wanted: at(2, "a"), Applied: at(1, "a")}, well, follow.Adopt},
		"another architecture's program":         {follow.State{Wanted: at(2, "a", other), Applied: at(1, "a")}, well, follow.Apply},
		"stopped":                                {follow.State{Wanted: at(2, "a", phase(manifest.Stop)), Applied: at(2, "a", phase(manifest.Stop))}, dead, follow.Keep},
		"stopped and started by somebody":        {follow.State{Wanted: at(2, "a", phase(manifest.Stop)), Applied: at(2, "a", phase(manifest.Stop))}, well, follow.Stop},
		"sick, and may go back":                  {follow.State{Wanted: at(2, "a", config, fallback), Applied: at(2, "a", config, fallback), Good: at(1, "a"), Started: long}, sick, follow.Back},
		"not running, and may go back":           {follow.State{Wanted: at(2, "a", config, fallback), Applied: at(2, "a", config, fallback), Good: at(1, "a"), Started: long}, dead, follow.Back},
		"sick, and may go back, but not yet":     {follow.State{Wanted: at(2, "a", config, fallback), Applied: at(2, "a", config, fallback), Good: at(1, "a"), Started: short}, sick, follow.Keep},
		"sick, and may not go back":              {follow.State{Wanted: at(2, "a", config), Applied: at(2, "a", config), Good: at(1, "a"), Started: long}, sick, follow.Keep},
		"sick, with nothing to go back to":       {follow.State{Wanted: at(2, "a", config, fallback), Applied: at(2, "a", config, fallback), Started: long}, sick, follow.Keep},
		"sick, and nothing else was ever good":   {follow.State{Wanted: at(2, "a", config, fallback), Applied: at(2, "a", config, fallback), Good: at(2, "a", config, fallback), Started: long}, sick, follow.Keep},
		"went back, and stays there":             {follow.State{Wanted: at(2, "a", config, fallback), Applied: at(1, "a"), Good: at(1, "a"), Rejected: 2}, well, follow.Keep},
		"went back, and something new is wanted": {follow.State{Wanted: at(3, "c"), Applied: at(1, "a"), Good: at(1, "a"), Rejected: 2}, well, follow.Apply},
		"another program, sick":                  {follow.State{Wanted: at(2, "b", fallback), Applied: at(2, "b", fallback), Good: at(1, "a"), Started: long}, sick, follow.Keep},
		"on hold and sick":                       {follow.State{Wanted: at(2, "b", phase(manifest.Hold)), Applied: at(2, "b", phase(manifest.Hold)), Good: at(1, "a"), Started: long}, sick, follow.Keep},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := follow.Decide(tt.state, tt.seen, "amd64", follow.Patience, now); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
