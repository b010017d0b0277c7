package server

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// study is a fake of the experiments: experiment 7 of user 2 (determined) with trial 1 in task t1, and
// experiment 8 of user 1 (admin) with trial 2.
type study struct {
	Experiments
	said []string
}

type studyTrials struct {
	Trials
	*study
}

func (s *study) Owner(id int32) (int32, error) {
	switch id {
	case 7:
		return 2, nil
	case 8:
		return 1, nil
	}
	return 0, status.Missing("experiment", strconv.Itoa(int(id)))
}

func (s *study) ProjectOf(id int32) (int32, error) {
	_, err := s.Owner(id)
	return 1, err
}

func (s *study) CheckReader(by *apiv1.User, id int32, content string) error {
	owner, err := s.Owner(id)
	if err != nil {
		return err
	}
	return record.Experiment{ID: id, UserID: owner}.CheckReader(by, content)
}

func (s *study) Ask(_ context.Context, by *apiv1.User, id int32, r lifecycle.Request) error {
	s.said = append(s.said, by.GetUsername()+" "+string(r)+" "+strconv.Itoa(int(id)))
	return nil
}

func (s *study) DeleteRecords(_ context.Context, by *apiv1.User, id int32) ([]string, error) {
	s.said = append(s.said, by.GetUsername()+" delete records "+strconv.Itoa(int(id)))
	return []string{"s3://b/u"}, nil
}

func (s *study) Experiment(context.Context, int32) (*apiv1.GetExperimentResponse, error) {
	return &apiv1.GetExperimentResponse{Experiment: &apiv1.Experiment{Id: 8, UserId: 1, OriginalConfig: "secret: x"}}, nil
}

func (s *study) ModelDefinition(context.Context, int32) (int64, iter.Seq2[[]byte, error], error) {
	return 0, func(func([]byte, error) bool) {}, nil
}

func (t studyTrials) TrialTasks(_ context.Context, id int32) (record.TrialTasks, error) {
	switch id {
	case 1:
		return record.TrialTasks{Experiment: 7, Owner: 2, Tasks: []string{"t1"}}, nil
	case 2:
		return record.TrialTasks{Experiment: 8, Owner: 1, Tasks: []string{"t2"}, Ended: true}, nil
	case 4:
		return record.TrialTasks{Experiment: 7, Owner: 2, Tasks: []string{"t1"}, Ended: true}, nil
	case 3: // it was continued
		return record.TrialTasks{Experiment: 7, Owner: 2, Tasks: []string{"t3", "t4", "t5"}, Ended: true}, nil
	}
	return record.TrialTasks{}, status.Missing("trial", strconv.Itoa(int(id)))
}

func (t studyTrials) ReportProgress(_ context.Context, id int32, done float64) error {
	t.said = append(t.said, "progress "+strconv.Itoa(int(id))+" "+strconv.FormatFloat(done, 'g', -1, 64))
	return nil
}

func (t studyTrials) Trial(_ context.Context, id int32) (*apiv1.Trial, error) {
	return &apiv1.Trial{Id: id}, nil
}

func newStudy(t *testing.T) (*world, *study) {
	t.Helper()
	s := &study{}
	return newWorld(t, func(c *Config) { c.Experiments, c.Trials = s, studyTrials{study: s} }), s
}

// A task may report only about its own trial, and a user only about trials of their own experiments.
func TestReportPermissions(t *testing.T) {
	t.Parallel()
	w, _ := newStudy(t)
	const report = `{"progress":0.5,"is_raw":true}`
	for _, tt := range []struct {
		name, token, method, path, body string
		code                            int
		says                            string
	}{
		{"the trial's own task", w.task, "POST", "trials/1/progress", report, http.StatusOK, ""},
		{"another trial's task", w.task, "POST", "trials/2/progress", report, http.StatusForbidden, "this token is not for a task of trial 2"},
		{"the owner", w.user, "POST", "trials/1/progress", report, http.StatusOK, ""},
		{"another user", w.user, "POST", "trials/2/progress", report, http.StatusForbidden, "trial 2 belongs to another user"},
		{"an administrator", w.admin, "POST", "trials/1/progress", report, http.StatusOK, ""},
		{"tools inside a task, of another user's trial", w.tools, "POST", "trials/2/progress", report, http.StatusForbidden, "trial 2 belongs to another user"},
		{"a trial that does not exist", w.task, "POST", "trials/9/progress", report, http.StatusNotFound, "trial '9' not found"},
		{"a trial that is no number", w.task, "POST", "trials/x/progress", report, http.StatusNotFound, "trial 'x' not found"},
		{"more than all", w.task, "POST", "trials/1/progress", `{"progress":1.5}`, http.StatusBadRequest, "between 0 and 1"},
		{"no number", w.task, "POST", "trials/1/progress", `{"progress":"NaN"}`, http.StatusBadRequest, "between 0 and 1"},
		{"no reason", w.task, "POST", "trials/1/early_exit", `{}`, http.StatusBadRequest, "EXITED_REASON_INVALID_HP"},
		{"a long state", w.task, "POST", "trials/1/runner/metadata", `{"state":"` + strings.Repeat("x", 300) + `"}`, http.StatusBadRequest, "at most 256 bytes"},
		{"a run of another trial", w.task, "POST", "runs/start", `{"runId":2}`, http.StatusForbidden, "this token is not for a task of trial 2"},
		{"metadata of another run", w.task, "POST", "runs/2/metadata", `{"metadata":{}}`, http.StatusForbidden, "this token is not for a task of trial 2"},
		{"reading the own trial", w.task, "GET", "trials/1", "", http.StatusOK, `"id":1`},
		{"reading another trial", w.task, "GET", "trials/2", "", http.StatusForbidden, "this token is not for a task of trial 2"},
		{"reading another's trial, as a user", w.user, "GET", "trials/2", "", http.StatusOK, `"id":2`},
		{"reading an experiment, as a task of none", w.task, "GET", "experiments/8", "", http.StatusForbidden, "this token is not for a task of experiment 8"},
		{"pausing, as a task", w.task, "POST", "experiments/7/pause", "", http.StatusForbidden, "requires the token in DET_USER_TOKEN"},
		{"killing, as a task", w.task, "POST", "trials/1/kill", "", http.StatusForbidden, "requires the token in DET_USER_TOKEN"},
		{"without a token", "", "GET", "experiments", "", http.StatusUnauthorized, "missing token"},
	} {
		rec := w.ask(t, tt.method, prefix+tt.path, tt.token, tt.body)
		if rec.Code != tt.code || !strings.Contains(squeeze(rec.Body.String()), tt.says) {
			t.Errorf("%s: got %d %s, want %d and %q", tt.name, rec.Code, rec.Body, tt.code, tt.says)
		}
	}
}

// The submitted configuration and the files are visible only to the owner and administrators.
func TestHiddenFieldsOfOtherUsersExperiment(t *testing.T) {
	t.Parallel()
	w, s := newStudy(t)
	if rec := w.ask(t, "GET", prefix+"experiments/8", w.user, ""); rec.Code != http.StatusOK || strings.Contains(rec.Body.String(), "secret: x") {
		t.Errorf("another user reads %d %s", rec.Code, rec.Body)
	}
	if rec := w.ask(t, "GET", prefix+"experiments/8", w.admin, ""); !strings.Contains(rec.Body.String(), "secret: x") {
		t.Errorf("the owner reads %s", rec.Body)
	}
	for _, path := range []string{"experiments/8/model_def", "experiments/8/file_tree"} {
		if rec := w.ask(t, "GET", prefix+path, w.user, ""); rec.Code != http.StatusForbidden {
			t.Errorf("%s: got %d %s", path, rec.Code, rec.Body)
		}
	}
	if rec := w.ask(t, "POST", prefix+"experiments/7/pause", w.user, ""); rec.Code != http.StatusOK || len(s.said) != 1 || s.said[0] != "determined pause 7" {
		t.Errorf("pause: %d %s, and %q was asked", rec.Code, rec.Body, s.said)
	}
}

// Only the records are deleted with keepFiles, which the implementation permits to administrators.
func TestDeletionThatKeepsFiles(t *testing.T) {
	t.Parallel()
	w, s := newStudy(t)
	if rec := w.ask(t, "DELETE", prefix+"experiments/8?keepFiles=true", w.admin, ""); rec.Code != http.StatusOK || !strings.Contains(squeeze(rec.Body.String()), `"keptFiles":["s3://b/u"]`) {
		t.Errorf("got %d %s, want the directory that remains", rec.Code, rec.Body)
	}
	if rec := w.ask(t, "DELETE", prefix+"experiments/8?keepFiles=maybe", w.admin, ""); rec.Code != http.StatusBadRequest {
		t.Errorf("got %d %s for no flag, want 400", rec.Code, rec.Body)
	}
	if got := strings.Join(s.said, ","); got != "admin delete records 8" {
		t.Errorf("got %q, want one deletion of records", got)
	}
}

// In a request for several experiments, an error for one does not affect the others.
func TestBulkRequestReturnsResultPerExperiment(t *testing.T) {
	t.Parallel()
	w, s := newStudy(t)
	rec := w.ask(t, "POST", prefix+"projects/1/experiments/kill", w.admin, `{"experimentIds":[7,8]}`)
	if rec.Code != http.StatusOK || strings.Join(s.said, ",") != "admin kill 7,admin kill 8" || !strings.Contains(squeeze(rec.Body.String()), `{"error":"","id":8}`) {
		t.Errorf("got %d %s, and %q was asked", rec.Code, rec.Body, s.said)
	}
	if rec := w.ask(t, "POST", prefix+"projects/1/experiments/kill", w.admin, `{}`); rec.Code != http.StatusBadRequest {
		t.Errorf("nothing named: got %d %s", rec.Code, rec.Body)
	}
	if rec := w.ask(t, "DELETE", prefix+"projects/1/experiments/delete", w.admin, `{"experimentIds":[7]}`); rec.Code != http.StatusOK || s.said[len(s.said)-1] != "admin delete 7" {
		t.Errorf("got %d %s, and %q was asked", rec.Code, rec.Body, s.said)
	}
}

// The pages of Determined use project -1 for experiments of any project.
func TestBulkRequestForAnyProject(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	id := strconv.Itoa(int(w.experiment))
	for path, body := range map[string]string{
		"projects/-1/experiments/pause":    `{"filters":{}}`,
		"projects/1/experiments/activate":  `{"filters":{"projectId":-1}}`,
		"projects/-1/experiments/cancel":   `{"filters":{"projectId":1}}`,
		"projects/-1/experiments/activate": `{"experimentIds":[` + id + `]}`,
	} {
		rec := w.ask(t, http.MethodPost, prefix+path, w.user, body)
		if rec.Code != http.StatusOK || !strings.Contains(squeeze(rec.Body.String()), `"id":`+id) {
			t.Errorf("%s %s: got %d %s, want it to reach experiment %s", path, body, rec.Code, rec.Body, id)
		}
	}
	if rec := w.ask(t, http.MethodGet, prefix+"experiments?projectId=-1", w.user, ""); !strings.Contains(squeeze(rec.Body.String()), `"total":1`) {
		t.Errorf("got %d %s, want every experiment", rec.Code, rec.Body)
	}
}

// The project of the path holds for IDs and filters alike, and a filter replaces the IDs.
func TestBulkRequestKeepsToItsProject(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	id := strconv.Itoa(int(w.experiment))
	for _, c := range []struct {
		name, path, body string
		code             int
		says             string
	}{
		{"an ID of another project", "projects/77/experiments/pause", `{"experimentIds":[` + id + `]}`, http.StatusOK, "experiment '" + id + "' not found in project 77: it is in project 1"},
		{"an unknown ID", "projects/1/experiments/pause", `{"experimentIds":[99]}`, http.StatusOK, "experiment '99' not found"},
		{"a filter that matches nothing", "projects/77/experiments/pause", `{"filters":{}}`, http.StatusNotFound, "none that you may change matches the filters in project 77"},
		{"IDs beside a filter that matches nothing", "projects/1/experiments/pause", `{"experimentIds":[` + id + `],"filters":{"name":"other"}}`, http.StatusNotFound, "no experiment was changed"},
		{"another project in the filter", "projects/77/experiments/pause", `{"filters":{"projectId":1}}`, http.StatusBadRequest, "filters.projectId: must be the project of the path, 77 (is 1)"},
		{"a filter beside the ID of none", "projects/1/experiments/pause", `{"experimentIds":[99],"filters":{}}`, http.StatusOK, `"id":` + id},
	} {
		rec := w.ask(t, http.MethodPost, prefix+c.path, w.user, c.body)
		if rec.Code != c.code || !strings.Contains(squeeze(rec.Body.String()), c.says) {
			t.Errorf("%s: got %d %s, want %d and %q", c.name, rec.Code, rec.Body, c.code, c.says)
		}
	}
}
