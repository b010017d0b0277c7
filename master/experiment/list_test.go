package experiment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// addEnded adds an ended experiment, as if it had been loaded from the store.
func (w *world) addEnded(x record.Experiment) {
	x.State = cmp.Or(x.State, lifecycle.Completed)
	w.x.reconciler.reg.add(&entry{id: x.ID, rec: &x})
}

func cutAll(total int) (from, to int) { return 0, total }

func idsOf(list []View) (ids []int32) {
	for _, v := range list {
		ids = append(ids, v.ID)
	}
	return ids
}

// Lists are ordered by ID, regardless of the order in which experiments are added and removed.
func TestRegistryOrder(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	for _, id := range []int32{5, 2, 9, 1, 7} {
		r.add(&entry{id: id, rec: &record.Experiment{ID: id}})
	}
	before := r.all()
	r.mu.Lock()
	r.remove(5)
	r.remove(6)
	r.mu.Unlock()
	r.add(&entry{id: 3, rec: &record.Experiment{ID: 3}})
	r.add(&entry{id: 11, rec: &record.Experiment{ID: 11}})
	number := func(list []*entry) (ids []int32) {
		for _, e := range list {
			ids = append(ids, e.id)
		}
		return ids
	}
	if d := gocmp.Diff(number(r.all()), []int32{1, 2, 3, 7, 9, 11}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	if d := gocmp.Diff(number(before), []int32{1, 2, 5, 7, 9}); d != "" {
		t.Errorf("what a reader had was changed (-got +want):\n%s", d)
	}
}

// Experiments are archived with their project and its workspace.
func TestListsOmitArchivedProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	team, err := w.spots.Create(t.Context(), ann(), &apiv1.PostWorkspaceRequest{Name: "team"})
	if err != nil {
		t.Fatal(err)
	}
	project, err := w.spots.CreateProject(t.Context(), ann(), &apiv1.PostProjectRequest{Name: "vision", WorkspaceId: team.GetId()})
	if err != nil {
		t.Fatal(err)
	}
	w.addEnded(record.Experiment{ID: 1, ProjectID: 1})
	w.addEnded(record.Experiment{ID: 2, ProjectID: project.GetId()})
	w.addEnded(record.Experiment{ID: 3, ProjectID: project.GetId(), Archived: true})
	check := func(when string, archived *bool, want ...int32) {
		t.Helper()
		if d := gocmp.Diff(idsOf(w.x.Page(Query{Filter: Filter{Archived: archived}, Cut: cutAll})), want); d != "" {
			t.Errorf("%s (-got +want):\n%s", when, d)
		}
	}
	check("before", new(false), 1, 2)
	for _, archive := range []func(archived bool) error{
		func(archived bool) error {
			return w.spots.SetProjectArchived(t.Context(), ann(), project.GetId(), archived)
		},
		func(archived bool) error { return w.spots.SetArchived(t.Context(), ann(), team.GetId(), archived) },
	} {
		if err := archive(true); err != nil {
			t.Fatal(err)
		}
		check("not archived", new(false), 1)
		check("archived", new(true), 2, 3)
		check("all", nil, 1, 2, 3)
		if err := archive(false); err != nil {
			t.Fatal(err)
		}
	}
	check("after", new(false), 1, 2)
}

func TestAPageIsCutFromTheSortedList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id := range int32(40) {
		w.addEnded(record.Experiment{ID: id + 1, Name: fmt.Sprint(id % 7), Archived: id%2 == 0, Started: time.Unix(int64(id%5), 0)})
	}
	byName := OrderBy(func(r Row) string { return r.Name }, cmp.Compare[string])
	byStart := OrderBy(func(r Row) time.Time { return r.Started }, time.Time.Compare)
	for _, order := range []RowOrder{nil, byName, byStart} {
		for _, descending := range []bool{false, true} {
			q := Query{Filter: Filter{Archived: new(false)}, Order: order, Descending: descending, Cut: cutAll}
			whole := idsOf(w.x.Page(q))
			if len(whole) != 20 {
				t.Fatalf("got %d, want those that are not archived", len(whole))
			}
			q.Cut = func(total int) (from, to int) { return 6, min(13, total) }
			if d := gocmp.Diff(idsOf(w.x.Page(q)), whole[6:13]); d != "" {
				t.Errorf("descending %t: the page is not the list's (-got +want):\n%s", descending, d)
			}
		}
	}
	// Equal experiments stay ordered by ID in both directions.
	got := idsOf(w.x.Page(Query{Order: byName, Descending: true, Cut: func(int) (from, to int) { return 0, 6 }}))
	if d := gocmp.Diff(got, []int32{7, 14, 21, 28, 35, 6}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}

func TestListsFilterByPool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id, pool := range []string{"gpu", "aux", "spot"} {
		w.addEnded(record.Experiment{ID: int32(id) + 1, Queue: record.Queue{Pool: pool}})
	}
	for _, tt := range []struct{ pools, want string }{{"gpu", "[1]"}, {"spot,gpu", "[1 3]"}, {"none", "[]"}, {"", "[1 2 3]"}} {
		f := Filter{Pools: strings.FieldsFunc(tt.pools, func(r rune) bool { return r == ',' })}
		if got := fmt.Sprint(idsOf(w.x.Page(Query{Filter: f, Cut: cutAll}))); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.pools, got, tt.want)
		}
	}
}

func TestListsFilterByWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	team, err := w.spots.Create(t.Context(), ann(), &apiv1.PostWorkspaceRequest{Name: "team"})
	if err != nil {
		t.Fatal(err)
	}
	project, err := w.spots.CreateProject(t.Context(), ann(), &apiv1.PostProjectRequest{Name: "vision", WorkspaceId: team.GetId()})
	if err != nil {
		t.Fatal(err)
	}
	w.addEnded(record.Experiment{ID: 1, ProjectID: 1})
	w.addEnded(record.Experiment{ID: 2, ProjectID: project.GetId()})
	for workspace, want := range map[int32][]int32{0: {1, 2}, 1: {1}, team.GetId(): {2}, 99: nil} {
		if d := gocmp.Diff(idsOf(w.x.Page(Query{Filter: Filter{Workspace: workspace}, Cut: cutAll})), want); d != "" {
			t.Errorf("workspace %d (-got +want):\n%s", workspace, d)
		}
	}
}

func TestNamedFindsTheExactNameAmongMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addEnded(record.Experiment{ID: 1, Name: "mnist"})
	for id := range int32(30) {
		w.addEnded(record.Experiment{ID: id + 2, Name: fmt.Sprint("mnist-", id)})
	}
	if d := gocmp.Diff(idsOf(w.x.Named("mnist", 3)), []int32{1, 31, 30}); d != "" {
		t.Errorf("by name (-got +want):\n%s", d)
	}
	if d := gocmp.Diff(idsOf(w.x.Named("3", 5)), []int32{31, 30, 3}); d != "" {
		t.Errorf("by ID (-got +want):\n%s", d)
	}
	if got := w.x.Named("other", 5); len(got) > 0 {
		t.Errorf("got %v of a name that no experiment has", got)
	}
}

// Lists and descriptions show the same configuration, including later changes of users, also for
// experiments that an older version stored.
func TestListIncludesConfigurations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.create(single), w.create(halving)
	w.create(single)
	name, words := "changed", "what it is for"
	if _, err := w.x.Patch(t.Context(), ann(), second.ID, Patch{
		Name: &name, Description: &words, Labels: &[]string{"a", "b"}, Priority: new(7), Weight: new(2.5), SetMaxSlots: true, MaxSlots: new(3), Pool: new("aux"),
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.x.RetainLogs(t.Context(), ann(), second.ID, 5); err != nil {
		t.Fatal(err)
	}
	w.forgetShown(first.ID)
	list := w.x.Page(Query{Cut: cutAll})
	shown, err := w.x.ShownConfigs(t.Context(), list)
	if err != nil || len(list) != 3 {
		t.Fatalf("got %d, %v", len(list), err)
	}
	for _, v := range list {
		s, err := w.x.Settings(t.Context(), v.ID)
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(asJSON(t, shown[v.ID]), asJSON(t, s.Config)); d != "" {
			t.Errorf("experiment %d (-list +described):\n%s", v.ID, d)
		}
	}
}

// forgetShown rewrites a configuration in the form that an older version stored.
func (w *world) forgetShown(id int32) {
	w.Helper()
	docs, key := record.Docs().Configs, record.Key(id)
	d, _, err := docs.Get(w.Context(), w.store, key)
	if err != nil || len(d.Value.Shown) == 0 {
		w.Fatalf("got %v, and %d bytes that are shown", err, len(d.Value.Shown))
	}
	d.Value.Shown = nil
	if err := w.store.Write(w.Context(), func(tx *store.Tx) error { return docs.Put(tx, key, "", time.Time{}, d.Value) }); err != nil {
		w.Fatal(err)
	}
}

func asJSON(t *testing.T, v map[string]any) (out map[string]any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A page of trials is the same from memory and, after they have ended, from the store.
func TestAPageOfTrials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	x := w.create("name: many\nentrypoint: train\nsearcher: {name: grid, metric: loss, max_concurrent_trials: 20}\n" +
		"hyperparameters: {n: {type: int, minval: 1, maxval: 20, count: 20}}\nresources: {slots_per_trial: 0}\n")
	w.create(single)
	_, all := w.get(x.ID)
	if len(all) != 20 {
		t.Fatalf("got %d trials, want 20", len(all))
	}
	check := func(when string) {
		t.Helper()
		for _, descending := range []bool{false, true} {
			page, err := w.x.TrialPage(t.Context(), x.ID, TrialQuery{Descending: descending, Cut: func(total int) (from, to int) { return 3, min(8, total) }})
			if err != nil {
				t.Fatal(err)
			}
			var got, want []int32
			for i, v := range page {
				got = append(got, v.ID)
				want = append(want, all[3+i].ID)
				if descending {
					want[i] = all[16-i].ID
				}
			}
			if d := gocmp.Diff(got, want); d != "" || len(got) != 5 {
				t.Errorf("%s, descending %t (-got +want):\n%s", when, descending, d)
			}
		}
		ids, err := w.x.TrialIDs(t.Context(), x.ID)
		if err != nil || len(ids) != 20 || ids[0] != all[0].ID || !slices.IsSorted(ids) {
			t.Errorf("%s: got %v, %v", when, ids, err)
		}
	}
	check("running")
	w.ask(x.ID, lifecycle.Kill)
	for _, trial := range all {
		if id := w.allocationOf(w.trial(trial.ID)); id != "" {
			w.endQuietly(id, "")
		}
	}
	w.reconcile()
	w.wantState(x.ID, lifecycle.Canceled)
	check("ended")
}
