package experiments

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestReadQuery(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct {
		filter client.ExperimentQuery
		page   client.Page
	}{
		"": {client.ExperimentQuery{}, client.Page{Sort: "ID", Descending: true, Limit: limit}},
		"q=mnist&label=a%20b&user=ann&pool=gpu&state=failed&workspace=2&project=7&archived=1&sort=best&offset=50": {
			client.ExperimentQuery{
				Name: "mnist", Labels: []string{"a b"}, Users: []string{"ann"}, Pools: []string{"gpu"}, States: []string{"ERROR"}, Workspace: 2, Project: 7, Archived: true,
			},
			client.Page{Sort: "SEARCHER_METRIC_VAL", Offset: 50, Limit: limit},
		},
		"state=nonsense&workspace=-1&project=x&sort=-nonsense&offset=-5": {client.ExperimentQuery{}, client.Page{Sort: "ID", Descending: true, Limit: limit}},
	} {
		v, err := url.ParseQuery(address)
		if err != nil {
			t.Fatal(err)
		}
		q := readQuery(v)
		if address != "" && q.State == "" {
			want.filter.States = nil
		}
		if d := cmp.Diff(q.filter(), want.filter); d != "" {
			t.Errorf("%q: the filter (-got +want):\n%s", address, d)
		}
		if d := cmp.Diff(q.page(), want.page); d != "" {
			t.Errorf("%q: the page (-got +want):\n%s", address, d)
		}
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	runs := &apiv1.Experiment{
		Id: 1, Name: "a", State: apiv1.Experiment_STATE_RUNNING, StartTime: timestamppb.New(began), Progress: wrapperspb.Double(0.5),
		BestTrialSearcherMetric: wrapperspb.Double(0.25), SearcherMetric: "loss", SearcherType: "adaptive_asha", WorkspaceName: "w", ProjectName: "p",
	}
	ended := &apiv1.Experiment{Id: 2, State: apiv1.Experiment_STATE_ERROR, Reason: new("out of memory"), StartTime: timestamppb.New(began), EndTime: timestamppb.New(began.Add(time.Hour)), Progress: wrapperspb.Double(0.5)}
	list := &apiv1.GetExperimentsResponse{Experiments: []*apiv1.Experiment{runs, ended}, Pagination: &apiv1.Pagination{Total: 120}}
	v := newView(query{Label: "gone", Offset: 50}, list, choices{labels: []string{"b"}})
	want := []row{
		{ID: 1, Name: "a", State: "running", Project: "w / p", Searcher: "adaptive_asha", Progress: new(0.5), Metric: "loss", Best: new(0.25), Started: began},
		{ID: 2, State: "failed", Reason: "out of memory", Project: " / ", Started: began, Took: time.Hour},
	}
	if d := cmp.Diff(v.Rows, want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	if d := cmp.Diff(v.Labels, []option{{"b", "b", false}, {"gone", "gone", true}}); d != "" {
		t.Errorf("the chosen label is not offered (-got +want):\n%s", d)
	}
	if v.Paging.Next() != "100" || !v.Filtered {
		t.Errorf("got the paging %+v of a filtered list (%v)", v.Paging, v.Filtered)
	}
}

func TestChoicesAreBounded(t *testing.T) {
	t.Parallel()
	many := choices{}
	for i := range int32(5000) {
		many.workspaces = append(many.workspaces, &apiv1.Workspace{Id: i + 1})
	}
	v := newView(query{Workspace: 4000}, &apiv1.GetExperimentsResponse{}, many)
	if n := len(v.Workspaces); n > mostOptions+1 || !v.Workspaces[n-1].Chosen {
		t.Errorf("got %d workspaces, the last is %+v", n, v.Workspaces[n-1])
	}
}
