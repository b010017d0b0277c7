package experiment

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

const hostile = pagetest.Hostile

func object(t testing.TB, v map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hostileReply is a failed experiment of user 2 in which all texts are hostile.
func hostileReply(t testing.TB) *apiv1.GetExperimentResponse {
	t.Helper()
	began := timestamppb.New(time.Unix(0, 0))
	return &apiv1.GetExperimentResponse{
		Experiment: &apiv1.Experiment{
			Id: 7, Name: hostile, Description: hostile, Labels: []string{hostile}, Notes: hostile, Username: hostile, UserId: 2, ProjectName: hostile, WorkspaceName: hostile,
			ResourcePool: hostile, SearcherMetric: hostile, SearcherType: hostile, State: apiv1.Experiment_STATE_ERROR, StartTime: began, EndTime: began,
			OriginalConfig: hostile, NumTrials: 1, TrialIds: []int32{3}, BestTrialId: new(int32(3)), BestTrialSearcherMetric: wrapperspb.Double(0.5), ForkedFrom: wrapperspb.Int32(2),
		},
		Config: object(t, map[string]any{
			"name": hostile, "hyperparameters": map[string]any{hostile: map[string]any{"type": "double"}}, "seed": 1796013833,
		}),
		Failure: hostile, FailedTrial: new(int32(3)), LastLines: []string{hostile},
		Usage:     &apiv1.ResourceUsage{SlotHours: 3, Costs: []*apiv1.Cost{{Currency: "EUR", Amount: 7.5}}},
		Deletions: []*apiv1.CheckpointDeletion{{TaskId: hostile, Failure: hostile, Tries: 2, DueTime: began}},
	}
}

func answers(t testing.TB) pagetest.API {
	t.Helper()
	trial := &apiv1.Trial{
		Id: 3, ExperimentId: 7, State: apiv1.Trial_STATE_ERROR, Reason: hostile, Hparams: object(t, map[string]any{hostile: hostile}),
		SummaryMetrics: object(t, map[string]any{"validation_metrics": map[string]any{hostile: map[string]any{"type": "number"}}}),
	}
	one := &apiv1.Pagination{Total: 1}
	return pagetest.API{
		"GET /api/v1/experiments/7":           pagetest.JSON(t, hostileReply(t)),
		"GET /api/v1/experiments/7/trials":    pagetest.JSON(t, &apiv1.GetExperimentTrialsResponse{Trials: []*apiv1.Trial{trial}, Pagination: one}),
		"GET /api/v1/experiments/7/file_tree": pagetest.JSON(t, &apiv1.GetModelDefTreeResponse{Files: []*apiv1.FileNode{{Path: hostile, ContentLength: 5}}}),
		"POST /api/v1/experiments/7/file":     pagetest.JSON(t, &apiv1.GetModelDefFileResponse{File: []byte(hostile + "\nline two")}),
		"GET /api/v1/workspaces":              pagetest.JSON(t, &apiv1.GetWorkspacesResponse{Workspaces: []*apiv1.Workspace{{Id: 1, Name: hostile}}, Pagination: one}),
		"GET /api/v1/workspaces/0/projects":   pagetest.JSON(t, &apiv1.GetWorkspaceProjectsResponse{Projects: []*apiv1.Project{{Id: 5, Name: hostile, WorkspaceId: 1}}, Pagination: one}),
		"GET /api/v1/trials/time-series": pagetest.JSON(t, &apiv1.CompareTrialsResponse{Trials: []*apiv1.ComparableTrial{{
			Trial:   trial,
			Metrics: []*apiv1.DownsampledMetrics{{Group: "validation", Data: []*apiv1.DataPoint{{Batches: 5, Values: object(t, map[string]any{hostile: 0.5})}}}},
		}}}),
	}
}

func TestPagesEscapeTexts(t *testing.T) {
	t.Parallel()
	site := pagetest.New(t, Pages(), answers(t))
	for _, path := range []string{
		"", "?sort=" + url.QueryEscape(hostile), "/configuration", "/files", "/files?path=" + url.QueryEscape(hostile), "/delete", "/edit", "/move", "/fork", "/continue", "/curves.svg",
	} {
		site.WantEscaped(site.Get("/det/experiments/7"+path, http.StatusOK))
	}
	site.WantTexts(site.Get("/det/experiments/7", http.StatusOK), "7.50 EUR", "/det/experiments/7/trials/3/logs")
	site.WantTexts(site.Get("/det/experiments/7/configuration", http.StatusOK), "seed: 1796013833\n")
	site.WantTexts(site.Get("/det/experiments/7/curves.json", http.StatusOK), `"x":[5],"y":[0.5]`)
	site.WantTexts(site.Get("/det/experiments/7/curves.csv", http.StatusOK), "trial 3,5,0.5,")
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	site := pagetest.New(t, Pages(), answers(t))
	for _, tail := range []string{"overview", "logs", "visualization/x"} {
		site.Get("/det/experiments/7/"+tail, http.StatusSeeOther)
	}
	for path, want := range map[string]string{"8": "not found", "x": "There is no experiment x.", "99999999999999": "There is no experiment"} {
		site.WantTexts(site.Get("/det/experiments/"+path, http.StatusNotFound), want)
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path, wantTo string
		form         url.Values
		call, body   string
	}{
		"pause":          {"/pause", "/det/experiments/7", nil, "POST /api/v1/experiments/7/pause", ""},
		"archive":        {"/archive", "/det/experiments/7", nil, "POST /api/v1/experiments/7/archive", ""},
		"delete":         {"/delete", "/det/experiments", nil, "DELETE /api/v1/experiments/7", ""},
		"delete records": {"/delete", "/det/experiments", url.Values{"keep": {"1"}}, "DELETE /api/v1/experiments/7?keepFiles=true", ""},
		"move":           {"/move", "/det/experiments/7", url.Values{"project": {"5"}}, "POST /api/v1/experiments/7/move", `"destinationProjectId":5`},
		"edit":           {"/edit", "/det/experiments/7", url.Values{"name": {" mine "}, "labels": {"a b\r\n\r\n =c"}, "notes": {"1\r\n2"}}, "PATCH /api/v1/experiments/7", `"labels":["ab","=c"],"description":"","name":"mine","notes":"1\n2"`},
		"continue":       {"/continue", "/det/experiments/7", url.Values{"config": {"a"}}, "POST /api/v1/experiments/continue", `"overrideConfig":"a"`},
		"fork":           {"/fork", "/det/experiments/9", url.Values{"config": {"a"}}, "POST /api/v1/experiments", `"activate":true`},
		"a paused fork":  {"/fork", "/det/experiments/9", url.Values{"config": {"a"}, "paused": {"1"}}, "POST /api/v1/experiments", `"parentId":7`},
		"a check":        {"/fork", "", url.Values{"config": {"a"}, "check": {"1"}}, "POST /api/v1/experiments", `"validateOnly":true`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := answers(t)
			call, _, _ := strings.Cut(tt.call, "?")
			known[call] = "{}"
			if strings.HasSuffix(call, "/experiments") {
				known[call] = `{"experiment": {"id": 9}}`
			}
			site := pagetest.New(t, Pages(), known)
			if tt.wantTo == "" {
				site.WantTexts(site.Post("/det/experiments/7"+tt.path, tt.form, http.StatusOK).Body.String(), "The configuration is valid.")
			} else if to := site.Post("/det/experiments/7"+tt.path, tt.form, http.StatusSeeOther).Header().Get("Location"); to != tt.wantTo {
				t.Errorf("got to %s, want %s", to, tt.wantTo)
			}
			if sent := site.Sent(); len(sent) != 1 || !strings.HasPrefix(sent[0], tt.call+" ") || !strings.Contains(sent[0], tt.body) {
				t.Errorf("got the calls %q, want %s with %s", sent, tt.call, tt.body)
			}
		})
	}
}

func TestAFormIsShownAgainWithItsError(t *testing.T) {
	t.Parallel()
	site := pagetest.New(t, Pages(), answers(t)) // the call of the API fails
	for _, path := range []string{"/fork", "/continue"} {
		page := site.Post("/det/experiments/7"+path, url.Values{"config": {"name: mine"}}, http.StatusUnprocessableEntity).Body.String()
		site.WantTexts(page, "not found", "name: mine</textarea>")
	}
	known := answers(t)
	known["PATCH /api/v1/experiments/7"] = `400 {"error": {"code": 3, "error": "name: must not be empty"}}`
	site = pagetest.New(t, Pages(), known)
	page := site.Post("/det/experiments/7/edit", url.Values{"labels": {"a\nb"}, "notes": {"<b>"}}, http.StatusUnprocessableEntity).Body.String()
	site.WantTexts(page, "Name: must not be empty.", "a\nb</textarea>", "&lt;b&gt;</textarea>")
}

func TestEditChangesWhatTheVisitorChanged(t *testing.T) {
	t.Parallel()
	x := &apiv1.Experiment{Name: hostile, Description: "\u202ea", Labels: []string{"\u202e", "b"}, Notes: "1\u200d2\n"}
	if p := textsOf(x).patch(7, textsOf(x)); p.GetName() != nil || p.GetDescription() != nil || p.GetLabels() != nil || p.GetNotes() != nil {
		t.Errorf("a form that was not changed has the patch %v", p)
	}
	to := textsOf(x)
	to.Labels, to.Description = "", ""
	if p := to.patch(7, textsOf(x)); p.GetName() != nil || p.GetDescription() == nil || p.GetLabels() == nil || len(p.GetLabels().GetValues()) > 0 {
		t.Errorf("got the patch %v", p)
	}
}

func TestActionsOn(t *testing.T) {
	t.Parallel()
	const owner = 1
	ended := timestamppb.New(time.Unix(1, 0))
	for name, tt := range map[string]struct {
		x    *apiv1.Experiment
		by   *apiv1.User
		want string
	}{
		"running":            {&apiv1.Experiment{State: apiv1.Experiment_STATE_RUNNING}, nil, "pause cancel kill edit move"},
		"paused":             {&apiv1.Experiment{State: apiv1.Experiment_STATE_PAUSED}, nil, "activate cancel kill edit move"},
		"stopping":           {&apiv1.Experiment{State: apiv1.Experiment_STATE_STOPPING_CANCELED}, nil, "kill edit move"},
		"ended":              {&apiv1.Experiment{State: apiv1.Experiment_STATE_COMPLETED, EndTime: ended, OriginalConfig: "a"}, nil, "continue fork edit move archive delete"},
		"archived":           {&apiv1.Experiment{State: apiv1.Experiment_STATE_COMPLETED, EndTime: ended, Archived: true}, nil, "edit unarchive delete"},
		"deleting":           {&apiv1.Experiment{State: apiv1.Experiment_STATE_DELETING, EndTime: ended}, nil, ""},
		"deletion failed":    {&apiv1.Experiment{State: apiv1.Experiment_STATE_DELETE_FAILED, EndTime: ended}, nil, "delete"},
		"runs elsewhere":     {&apiv1.Experiment{State: apiv1.Experiment_STATE_RUNNING, Unmanaged: true, OriginalConfig: "a"}, nil, "edit move"},
		"of another user":    {&apiv1.Experiment{State: apiv1.Experiment_STATE_RUNNING}, &apiv1.User{Id: 2}, ""},
		"administrators may": {&apiv1.Experiment{State: apiv1.Experiment_STATE_STOPPING_KILLED}, &apiv1.User{Id: 2, Admin: true}, "kill edit move"},
	} {
		tt.x.UserId = owner
		if tt.by == nil {
			tt.by = &apiv1.User{Id: owner}
		}
		var got []string
		for _, a := range actionsOn(tt.x, tt.by) {
			got = append(got, a.Path[strings.LastIndexByte(a.Path, '/')+1:])
			if word := got[len(got)-1]; a.Page == slices.Contains([]string{"pause", "activate", "archive", "unarchive"}, word) {
				t.Errorf("%s: %s has a page: %v", name, word, a.Page)
			}
		}
		if d := cmp.Diff(strings.Join(got, " "), tt.want); d != "" {
			t.Errorf("%s (-got +want):\n%s", name, d)
		}
	}
}

func TestWaitingOf(t *testing.T) {
	t.Parallel()
	queue := &apiv1.QueuePlace{JobsAhead: 2, More: 1}
	for name, tt := range map[string]struct {
		reply *apiv1.GetExperimentResponse
		want  *waiting
	}{
		"runs":           {&apiv1.GetExperimentResponse{}, nil},
		"waits":          {&apiv1.GetExperimentResponse{Experiment: &apiv1.Experiment{Reason: new("no slots")}, Queue: queue}, &waiting{Reason: "no slots", Ahead: 2, More: 1}},
		"waits to begin": {&apiv1.GetExperimentResponse{Experiment: &apiv1.Experiment{Reason: new("pulls its image")}}, &waiting{Reason: "pulls its image", Ahead: -1}},
		"ended":          {&apiv1.GetExperimentResponse{Experiment: &apiv1.Experiment{Reason: new("failed"), EndTime: &timestamppb.Timestamp{}}}, nil},
	} {
		if d := cmp.Diff(waitingOf(tt.reply), tt.want); d != "" {
			t.Errorf("%s (-got +want):\n%s", name, d)
		}
	}
}

func TestReadTrialQuery(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sort            string
		smallerIsBetter bool
		want            string
		descending      bool
	}{
		{"", true, "BEST_VALIDATION_METRIC", false},
		{"", false, "BEST_VALIDATION_METRIC", true},
		{"-best", false, "BEST_VALIDATION_METRIC", false},
		{"-id", false, "ID", true},
		{"nonsense", true, "BEST_VALIDATION_METRIC", false},
		{"latest", false, "LATEST_VALIDATION_METRIC", true},
	} {
		p := readTrialQuery(url.Values{"sort": {tt.sort}, "offset": {"-3"}}, tt.smallerIsBetter).page()
		if p.Sort != tt.want || p.Descending != tt.descending || p.Offset != 0 {
			t.Errorf("%+v: got %+v", tt, p)
		}
	}
}

func TestShownFiles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		content string
		want    code
	}{
		"text":      {"a\tb\r\n\x1b[1mc", code{Text: "a\tb\n\uFFFD[1mc"}},
		"binary":    {"\xff\xfe", code{Binary: true}},
		"long text": {strings.Repeat("ä", mostText), code{Text: strings.Repeat("ä", mostText/2-1), Cut: true}},
	} {
		var got code
		if got.show([]byte(tt.content)); got.Text != tt.want.Text || got.Binary != tt.want.Binary || got.Cut != tt.want.Cut {
			t.Errorf("%s: got %d bytes, binary %v, cut %v", name, len(got.Text), got.Binary, got.Cut)
		}
	}
}

func TestPlacesOf(t *testing.T) {
	t.Parallel()
	projects := []*apiv1.Project{{Id: 1, WorkspaceId: 1}, {Id: 2, WorkspaceId: 2}, {Id: 3, WorkspaceId: 1}}
	got := placesOf(projects, map[int32]string{1: "a", 2: "b"}, 1)
	if len(got) != 2 || got[0].Workspace != "b" || got[1].Projects[0].GetId() != 3 {
		t.Errorf("got %+v", got)
	}
}

// What cannot be undone asks on a page, without script too.
func TestQuestions(t *testing.T) {
	t.Parallel()
	site := pagetest.New(t, Pages(), answers(t))
	page := site.Get("/det/experiments/7/kill", http.StatusOK)
	site.WantTexts(page, "Kill experiment 7,", "Steps since the latest checkpoint are lost.", "Kill the experiment", `href="/det/experiments/7"`)
	site.WantEscaped(page)
	site.WantTexts(site.Get("/det/experiments/7/cancel", http.StatusOK), "It ends after a checkpoint.")
	site.Get("/det/experiments/7/pause", http.StatusSeeOther) // there is no question
	if sent := site.Sent(); len(sent) > 0 {
		t.Errorf("got the calls %q", sent)
	}
}

func TestMovingNeedsAnotherProject(t *testing.T) {
	t.Parallel()
	for text, n := range map[string]int{"There is no other project.": 0, "<select": 1, "The ID of the project": mostProjects + 1} {
		known := answers(t)
		projects := &apiv1.GetWorkspaceProjectsResponse{Pagination: &apiv1.Pagination{Total: int32(n)}}
		for i := range n {
			projects.Projects = append(projects.Projects, &apiv1.Project{Id: int32(i) + 5, WorkspaceId: 1})
		}
		known["GET /api/v1/workspaces/0/projects"] = pagetest.JSON(t, projects)
		site := pagetest.New(t, Pages(), known)
		site.WantTexts(site.Get("/det/experiments/7/move", http.StatusOK), text)
	}
}

func TestOverviewSaysWhatAnExperimentWaitsFor(t *testing.T) {
	t.Parallel()
	known := answers(t)
	known["GET /api/v1/experiments/7"] = pagetest.JSON(t, &apiv1.GetExperimentResponse{
		Experiment: &apiv1.Experiment{Id: 7, UserId: 3, State: apiv1.Experiment_STATE_QUEUED, Reason: new("no free slots"), NumTrials: 1},
		Queue:      &apiv1.QueuePlace{}, LastLines: []string{"a 10 %\r100 %", "\x1b[31mred\x1b[0m"},
	})
	site := pagetest.New(t, Pages(), known)
	page := site.Get("/det/experiments/7", http.StatusOK)
	site.WantTexts(page, "<bdi>no free slots</bdi>. It is the next", "<dt>Checkpoints</dt><dd>none</dd>", "100 %\nred\n", `kind=TensorBoard&amp;experiments=7"`)
	site.WantNone(page, "have colours", "/det/experiments/7/kill")
}
