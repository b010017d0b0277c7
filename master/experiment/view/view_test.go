package view

import (
	"archive/tar"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

func TestAPageOfAList(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                 string
		total                int
		offset, limit        int32
		wantFrom, wantTo     int
		wantStart, wantTotal int32
	}{
		{"all of it", 3, 0, 0, 0, 3, 0, 3},
		{"a part", 10, 4, 3, 4, 7, 4, 10},
		{"beyond the end", 3, 7, 2, 3, 3, 3, 3},
		{"from the end", 10, -3, 0, 7, 10, 7, 10},
		{"from far before the start", 2, -9, 1, 0, 1, 0, 2},
		{"all of it, as Determined writes it", 5, 1, -1, 1, 5, 1, 5},
		{"the number alone", 5, 0, -2, 0, 0, 0, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from, to, p := cutPage(c.total, c.offset, c.limit)
			if from != c.wantFrom || to != c.wantTo || p.GetStartIndex() != c.wantStart || p.GetEndIndex() != int32(to) || p.GetTotal() != c.wantTotal {
				t.Errorf("got %d to %d, %v", from, to, p)
			}
		})
	}
}

func TestPatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, want, refused string }{
		{name: "nothing", body: `{"id":1}`, want: `{}`},
		{name: "no limit", body: `{"resources":{"maxSlots":null}}`, want: `{"slots":"none"}`},
		{name: "a limit", body: `{"resources":{"maxSlots":4}}`, want: `{"slots":"4"}`},
		{name: "a limit that stays", body: `{"resources":{"priority":7}}`, want: `{"priority":7}`},
		{name: "half a slot", body: `{"resources":{"maxSlots":1.5}}`, refused: "resources.maxSlots: must be a whole number"},
		{name: "a text", body: `{"resources":{"max_slots":"many"}}`, refused: "resources.maxSlots: must be a whole number"},
		{name: "no labels left", body: `{"labels":[]}`, want: `{"labels":[]}`},
		{name: "labels that stay", body: `{"labels":null,"name":null}`, want: `{}`},
		{name: "a label that is a number", body: `{"labels":["a",1]}`, refused: "labels[1]: must be a string"},
		{name: "an empty name", body: `{"name":""}`, want: `{"name":""}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := &apiv1.PatchExperiment{}
			if err := protojson.Unmarshal([]byte(c.body), in); err != nil {
				t.Fatal(err)
			}
			p, err := readPatch(in)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("got %v, want %q", err, c.refused)
				}
				return
			}
			got := map[string]any{}
			if p.SetMaxSlots {
				got["slots"] = "none"
			}
			if p.MaxSlots != nil {
				got["slots"] = string(rune('0' + *p.MaxSlots))
			}
			if p.Priority != nil {
				got["priority"] = float64(*p.Priority)
			}
			if p.Labels != nil {
				got["labels"] = append([]any{}, toAny(*p.Labels)...)
			}
			if p.Name != nil {
				got["name"] = *p.Name
			}
			s, err := toStruct(got)
			if err != nil {
				t.Fatal(err)
			}
			want := s.ProtoReflect().New().Interface()
			if err := protojson.Unmarshal([]byte(c.want), want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(protojson.Format(s), protojson.Format(want)); d != "" {
				t.Errorf("(-got +want):\n%s", d)
			}
		})
	}
}

func toAny(list []string) (out []any) {
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

func TestFileTreeAddsDirectories(t *testing.T) {
	t.Parallel()
	tr := &tree{root: &apiv1.FileNode{IsDir: true}, nodes: map[string]*apiv1.FileNode{}}
	for _, f := range []struct{ name, content string }{{"b/c/train.py", "print(1)\n"}, {"./a.txt", "text"}, {"b/", ""}, {"e", "\x00\x01"}} {
		h := &tar.Header{Name: f.name, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := tr.add(h, strings.NewReader(f.content)); err != nil {
			t.Fatal(err)
		}
	}
	sortTree(tr.root)
	var got []string
	var walk func(nodes []*apiv1.FileNode)
	walk = func(nodes []*apiv1.FileNode) {
		for _, n := range nodes {
			kind := n.GetContentType()
			if n.GetIsDir() {
				kind = "dir"
			}
			got = append(got, n.GetPath()+" "+kind)
			walk(n.GetFiles())
		}
	}
	walk(tr.root.GetFiles())
	want := []string{"a.txt text/plain; charset=utf-8", "b dir", "b/c dir", "b/c/train.py text/plain; charset=utf-8", "e application/octet-stream"}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}

func TestHistoryReportsStopReason(t *testing.T) {
	t.Parallel()
	h := history{ids: map[int]int32{2: 7, 3: 9}}
	got := h.show(record.Event{Number: 4, Kind: record.Searched, Steps: 160, Search: &search.Event{
		Input: search.Input{News: search.Validated, Trial: 2, Time: 16, Metric: 0.412},
		Decision: search.Decision{Actions: []search.Action{
			{Kind: search.StopTrial, Trial: 2, Reason: "stopped at 16 epochs: 0.412 is 5th of 9, 3 continue"},
			{Kind: search.CreateTrial, Trial: 3},
		}},
	}})
	want := "trial 7 reported 0.412 at step 160; trial 7 was stopped at 16 epochs: 0.412 is 5th of 9, 3 continue; trial 9 was created"
	if got.GetText() != want {
		t.Errorf("got  %s\nwant %s", got.GetText(), want)
	}
}

// A run that was signalled ends like one whose machine was lost.
func TestHistoryTellsStoppedRunsFromLostOnes(t *testing.T) {
	t.Parallel()
	h := history{stopped: map[int32]string{2: "stopped early", 4: "done"}}
	for want, v := range map[string]record.Event{
		"run 1 of trial 2 ended (stopped early)": {Trial: 2, Cause: lifecycle.Lost, Next: lifecycle.Done},
		"run 1 of trial 4 ended (done)":          {Trial: 4, Cause: lifecycle.Lost, Next: lifecycle.Done},
		"run 1 of trial 3 ended (lost)":          {Trial: 3, Cause: lifecycle.Lost, Next: lifecycle.Again},
		"run 1 of trial 3 ended (paused)":        {Trial: 3, Cause: lifecycle.Lost, Next: lifecycle.Held},
		"run 1 of trial 2 ended (failed)":        {Trial: 2, Cause: lifecycle.Failed, Next: lifecycle.Done},
	} {
		v.Kind, v.Run = record.RunEnded, 1
		if got := h.describe(v); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestStatusOfATrial(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		state   lifecycle.State
		shown   string
		stopped bool
		want    apiv1.Status
	}{
		{lifecycle.Active, "RUNNING", false, apiv1.StatusRunning},
		{lifecycle.Active, "QUEUED", false, apiv1.StatusQueued},
		{lifecycle.Paused, "PAUSED", false, "paused"},
		{lifecycle.StoppingCompleted, "STOPPING_COMPLETED", true, apiv1.StatusRunning},
		{lifecycle.Completed, "COMPLETED", true, apiv1.StatusStoppedEarly},
		{lifecycle.Completed, "COMPLETED", false, apiv1.StatusSucceeded},
		{lifecycle.Error, "ERROR", true, apiv1.StatusFailed},
		{lifecycle.Canceled, "CANCELED", false, apiv1.StatusKilled},
		{lifecycle.DeleteFailed, "DELETE_FAILED", false, "delete_failed"},
	} {
		v := experiment.TrialView{Trial: record.Trial{Life: lifecycle.Trial{State: tt.state}, Stopped: tt.stopped}, Shown: tt.shown}
		if got := trialStatus(v); got != tt.want {
			t.Errorf("%s, stopped %t: got %q, want %q", tt.shown, tt.stopped, got, tt.want)
		}
	}
}

func TestTrialOfFullLengthHasSucceeded(t *testing.T) {
	t.Parallel()
	v := experiment.TrialView{Trial: record.Trial{Life: lifecycle.Trial{State: lifecycle.Completed}, Stopped: true, Full: true}, Shown: "COMPLETED"}
	if got := trialStatus(v); got != apiv1.StatusSucceeded {
		t.Errorf("got %q, want succeeded", got)
	}
}

func TestHistoryHasTheStatesOfLists(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]record.Event{
		"finish was requested; the state is ending": {Kind: record.Asked, Request: "finish", State: lifecycle.StoppingCompleted},
		"pause was requested; the state is paused":  {Kind: record.Asked, Request: "pause", State: lifecycle.Paused},
		"the state is succeeded":                    {Kind: record.StateChanged, State: lifecycle.Completed},
		"the state is delete failed: no access":     {Kind: record.StateChanged, State: lifecycle.DeleteFailed, Reason: "no access"},
	} {
		if got := (history{}).describe(v); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPreviewSearch(t *testing.T) {
	t.Parallel()
	e, _ := New(Config{})
	read := func(text string) (*apiv1.PreviewHPSearchResponse, error) {
		in := &apiv1.PreviewHPSearchRequest{}
		if err := protojson.Unmarshal([]byte(text), in); err != nil {
			t.Fatal(err)
		}
		return e.PreviewSearch(in)
	}
	out, err := read(`{"config":{"searcher":{"name":"adaptive_asha","metric":"loss","max_trials":16,"max_time":64,"time_metric":"epochs"},
		"hyperparameters":{"lr":{"type":"log","base":10,"minval":-4,"maxval":0}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	trials := int32(0)
	for _, g := range out.GetSummary().GetTrials() {
		trials += g.GetCount()
		if g.GetUnit().GetMaxLength() || g.GetUnit().GetName() != "epochs" || g.GetUnit().GetValue() <= 0 {
			t.Errorf("how far it goes: %v", g)
		}
	}
	if trials != 16 || out.GetSummary().GetConfig().GetFields()["name"].GetStringValue() != "adaptive_asha" {
		t.Errorf("%d trials of %v", trials, out.GetSummary().GetConfig())
	}
	out, err = read(`{"config":{"searcher":{"name":"single","metric":"loss"}}}`)
	if err != nil || len(out.GetSummary().GetTrials()) != 1 || !out.GetSummary().GetTrials()[0].GetUnit().GetMaxLength() {
		t.Errorf("a single trial goes to its end: %v, %v", out, err)
	}
	for text, says := range map[string]string{
		`{"config":{"searcher":{"name":"random","metric":"loss"}}}`:                "max_trials",
		`{"config":{"searcher":{"name":"sync_halving","metric":"loss"}}}`:          "sync_halving",
		`{"config":{"searcher":{"name":"single","metric":"loss","max_trails":3}}}`: "max_trails",
		`{"config":{}}`: "searcher",
		`{}`:            "searcher",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
}

// Trials without a validation are last in both directions.
func TestOrderOfTrialsByMetric(t *testing.T) {
	t.Parallel()
	best := func(metric float64) *record.Best { return &record.Best{Metric: search.Number(metric)} }
	for _, tt := range []struct {
		descending bool
		want       []int32
	}{{false, []int32{3, 1, 2, 4}}, {true, []int32{1, 3, 2, 4}}} {
		list := []experiment.TrialView{
			{Trial: record.Trial{ID: 1, Best: best(0.7)}},
			{Trial: record.Trial{ID: 2}},
			{Trial: record.Trial{ID: 3, Best: best(0.5)}},
			{Trial: record.Trial{ID: 4, Best: best(math.NaN())}},
		}
		sortBy(list, trialOrder(apiv1.GetExperimentTrialsRequest_SORT_BY_BEST_VALIDATION_METRIC, tt.descending, time.Time{}), tt.descending)
		var got []int32
		for _, v := range list {
			got = append(got, v.ID)
		}
		if d := cmp.Diff(got, tt.want); d != "" {
			t.Errorf("descending %v (-got +want):\n%s", tt.descending, d)
		}
	}
}
