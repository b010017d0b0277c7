package lifecycle_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

func storedTask(id string, change ...func(*lifecycle.Task)) lifecycle.Task {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
	t := lifecycle.Task{
		ID: rm.TaskID(id), Kind: lifecycle.Command, Name: "Command (" + id + ")", UserID: 7, Username: "ann",
		Unix: security.AgentUser{User: "ann", UID: 1000, Group: "users", GID: 100}, Workspace: 1, Submitted: at,
		Pool: "default", Slots: 2, Weight: 1.5, PreemptionTimeout: time.Hour,
		Config: json.RawMessage(`{"a":[1,{"b":"} ] , \" \\"}],"c":"x` + "\u003c" + `y"}`),
	}
	for _, f := range change {
		f(&t)
	}
	return t
}

// The result equals that of encoding/json, and a rejected document changes nothing.
func TestStoredTasksAreDecodedLikeJSON(t *testing.T) {
	t.Parallel()
	like := storedTask("first")
	for _, tt := range []struct {
		name string
		task lifecycle.Task
		want bool
	}{
		{"one that waits", storedTask("t"), true},
		{"the same one", like, true},
		{"of an array", storedTask("t", func(t *lifecycle.Task) { t.Array = &lifecycle.Array{ID: "a", Index: 3, Size: 10} }), true},
		{"another configuration", storedTask("t", func(t *lifecycle.Task) { t.Config = json.RawMessage(`{"a":[1]}`) }), true},
		{"without a configuration", storedTask("t", func(t *lifecycle.Task) { t.Config = nil }), true},
		{"empty", lifecycle.Task{}, true},
		{"a name with escapes", storedTask("t", func(t *lifecycle.Task) { t.Name = "a \"b\" & c" }), false},
		{"one that has ended", storedTask("t", func(t *lifecycle.Task) { t.Ended = t.Submitted }), false},
		{"warnings", storedTask("t", func(t *lifecycle.Task) { t.Warnings = []string{"w"} }), false},
	} {
		data, err := json.Marshal(tt.task)
		if err != nil {
			t.Fatal(err)
		}
		var want lifecycle.Task
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		got := lifecycle.Task{Name: "untouched"}
		if ok := got.DecodeLike(data, &like); ok != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, ok, tt.want)
		}
		if !tt.want {
			want = lifecycle.Task{Name: "untouched"}
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("%s (-got +want):\n%s", tt.name, d)
		}
		// A truncated document is rejected.
		for n := range len(data) {
			if cut := (&lifecycle.Task{}); cut.DecodeLike(data[:n], &like) {
				t.Errorf("%s: %q was read", tt.name, data[:n])
			}
		}
	}
}

func TestStoredAllocationsAreDecodedLikeJSON(t *testing.T) {
	t.Parallel()
	task := storedTask("t")
	waits := lifecycle.First(task, task.Submitted)
	task.Warnings = []string{"one", "two"}
	warned := lifecycle.First(task, task.Submitted)
	killed := waits.Kill("killed by ann", task.Submitted)
	for _, tt := range []struct {
		name       string
		allocation lifecycle.Allocation
		want       bool
	}{
		{"one that waits", waits, true}, {"one with warnings", warned, true}, {"empty", lifecycle.Allocation{}, true}, {"one that was killed", killed, false},
	} {
		data, err := json.Marshal(tt.allocation)
		if err != nil {
			t.Fatal(err)
		}
		var want, got lifecycle.Allocation
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if ok := got.DecodeLike(data, &waits); ok != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, ok, tt.want)
		}
		if !tt.want {
			want = lifecycle.Allocation{}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%s", tt.name, cmp.Diff(got, want))
		}
		for n := range len(data) {
			if cut := (&lifecycle.Allocation{}); cut.DecodeLike(data[:n], &waits) {
				t.Errorf("%s: %q was read", tt.name, data[:n])
			}
		}
	}
}

func TestInvalidDocumentsAreRejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `null`, `[]`, `{}x`, `{"id"}`, `{"id":1}`, `{"id":"a""kind":"b"}`, `{"slots":1.5}`, `{"slots":"1"}`, `{"user_id":4294967296}`,
		`{"submitted":"yesterday"}`, `{"config":{"a":}}`, `{"config":[}]}`, `{"unix":7}`, `{"unknown":1}`, `{"array":{"x":1}}`, `{"id":"a",}`, strings.Repeat("{", 99),
	} {
		got := lifecycle.Task{Name: "untouched"}
		if got.DecodeLike([]byte(text), &lifecycle.Task{}) || got.Name != "untouched" {
			t.Errorf("%s was read as %v", text, got)
		}
	}
}
