package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

const (
	idA = "5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a"
	idB = "5d1f9999-0f7e-4d8e-9d3b-0c3c1d1c2b3a"
	idC = "77777777-0f7e-4d8e-9d3b-0c3c1d1c2b3a"
)

func someNames() []*apiv1.Name {
	return []*apiv1.Name{
		{Id: idA, Name: "train", Username: "ada", State: "running"},
		{Id: idB, Name: "evaluate", Username: "ada"},
		{Id: idC, Name: "train", Username: "bob"},
		{Id: "12", Name: "5d1f"},
	}
}

func TestChooseByName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want, wrong string }{
		{"a whole ID", idB, idB, ""},
		{"the beginning of one ID", "5d1f9", idB, ""},
		{"a name", "evaluate", idB, ""},
		{"a name before the beginning of IDs", "5d1f", "12", ""},
		{"the beginning of several IDs", "5d1f-", "5d1f-", ""},
		{"too short", "777", "777", ""},
		{"the beginning of a name", "eval", "eval", ""},
		{"a name of two", "train", "", `"train" stands for several tasks`},
		{"unknown", "nothing", "nothing", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := choose(client.Tasks, tt.text, someNames(), false)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) || !strings.Contains(err.Error(), idA+"  train  ada  running") {
					t.Errorf("got %v, want %q with a list", err, tt.wrong)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
	if _, err := choose(client.Tasks, "5d1f6f", append(someNames(), &apiv1.Name{Id: "5d1f6f00"}), true); err == nil || !strings.HasSuffix(err.Error(), "…") {
		t.Errorf("got %v, want an error that tells of more", err)
	}
}

func TestChooseProject(t *testing.T) {
	t.Parallel()
	list := []*apiv1.Name{
		{Id: "12345", Name: "faces", Workspace: "vision"}, {Id: "3", Name: "faces", Workspace: "people"}, {Id: "4", Name: "12345", Workspace: "people"},
	}
	for text, want := range map[string]string{"vision/faces": "12345", "12345": "12345", "people/12345": "4", "1234": "1234", "vision": "vision"} {
		if got, err := choose(client.Projects, text, list, false); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	_, err := choose(client.Projects, "faces", list, false)
	if err == nil || !strings.Contains(err.Error(), "12345  vision/faces") {
		t.Errorf("got %v, want both projects", err)
	}
}

func TestChooseTrial(t *testing.T) {
	t.Parallel()
	list := []*apiv1.Name{
		{Id: "12", Name: "7.1", TaskId: new("7." + idA)}, {Id: "13", Name: "7.2", TaskId: new("7." + idB)},
	}
	for text, want := range map[string]string{"7.1": "12", "7.2": "13", "7.5d1f6": "12", "7." + idB: "13"} {
		if got, err := choose(client.Trials, text, list, false); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	_, err := choose(client.Trials, "7.5d", list, false)
	if err == nil || !strings.Contains(err.Error(), "12  7.1") || !strings.Contains(err.Error(), "13  7.2") {
		t.Errorf("got %v, want both trials", err)
	}
	if got, err := choose(client.Trials, "7.", list, false); err != nil || got != "7." {
		t.Errorf("too short: got %q, %v", got, err)
	}
	offered := append(completions(list, "7.1"), completions(list, "7.5d1f9")...)
	if want := []string{"7.1\t12", "7." + idB + "\t13"}; !slices.Equal(offered, want) {
		t.Errorf("got %q, want %q", offered, want)
	}
}

func TestWholeIDsNeedNoLookup(t *testing.T) {
	t.Parallel()
	for text, n := range map[string]client.Noun{idA: client.Tasks, "7": client.Experiments, "12": client.Trials} {
		if !isWhole(n, text) {
			t.Errorf("%s: not whole", text)
		}
	}
	for text, n := range map[string]client.Noun{"5d1f6f2e": client.Tasks, "mnist": client.Experiments, "gpu-3": client.Agents, "7.1": client.Trials} {
		if isWhole(n, text) {
			t.Errorf("%s: whole", text)
		}
	}
}

func TestEndedObjectsAreRecognized(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]bool{
		"running": false, "queued": false, "array": false, "paused": false, "": false, "stopping_killed": false,
		"succeeded": true, "failed": true, "killed": true, "lost": true, "completed": true, "canceled": true, "error": true, "stopped_early": true,
	} {
		if hasEnded(&apiv1.Name{State: state}) != want {
			t.Errorf("%q: got %t", state, !want)
		}
	}
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	list := []*apiv1.Name{{Id: idA, Name: "train a net", Username: "ada"}, {Id: "gpu-1"}}
	got := append(completions(someNames(), "5d1f6"), completions(someNames(), "eva")...)
	got = append(append(got, completions(list, "tra")...), completions(list, "gpu")...)
	want := []string{idA + "\ttrain  ada  running", "evaluate\t" + idB + "  ada", "gpu-1\t"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
