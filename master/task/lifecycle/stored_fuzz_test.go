package lifecycle_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// FuzzStoredTask checks that a document that DecodeLike accepts is JSON and decodes to the result of
// encoding/json, regardless of the documents decoded before.
func FuzzStoredTask(f *testing.F) {
	seeds := documentsOf(f, storedTask("t"), storedTask("u", func(t *lifecycle.Task) {
		t.Name, t.Config, t.Array = "né", json.RawMessage(`{"a":{}}`), &lifecycle.Array{ID: "a", Index: 3, Size: 10}
	}), lifecycle.Task{})
	for _, text := range append(seeds, hostileDocuments()...) {
		f.Add([]byte(text), []byte(seeds[0]))
		f.Add([]byte(seeds[1]), []byte(text))
	}
	f.Fuzz(func(t *testing.T, data, before []byte) {
		var like lifecycle.Task
		if !like.DecodeLike(before, &lifecycle.Task{}) {
			like = storedTask("before")
		}
		var got, want lifecycle.Task
		if got.DecodeLike(data, &like) {
			checkLikeJSON(t, data, &got, &want)
		}
	})
}

// FuzzStoredAllocation is FuzzStoredTask for allocations.
func FuzzStoredAllocation(f *testing.F) {
	task := storedTask("t")
	waits := lifecycle.First(task, task.Submitted)
	for _, text := range append(documentsOf(f, waits, lifecycle.Allocation{}), hostileDocuments()...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want lifecycle.Allocation
		if got.DecodeLike(data, &waits) {
			checkLikeJSON(t, data, &got, &want)
		}
	})
}

func documentsOf[T any](f *testing.F, list ...T) (out []string) {
	f.Helper()
	for _, v := range list {
		data, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, string(data))
	}
	return out
}

// hostileDocuments returns documents that no version, or only another one, writes.
func hostileDocuments() []string {
	return []string{
		`{"id":"a","later":{"x":[1]}}`, `{"id":null}`, `{"config":null}`, `{"config": {} }`, `{"config":1}`, `{"lines":[]}`, `{"lines":null}`,
		`{"lines":[{}],"lines":[{"text":"a"}]}`, `{"array":{"id":"a"},"array":{"size":2}}`, `{"unix":{"uid":1},"unix":{"gid":2}}`,
		`{"unix":{"later":1}}`, `{"ID":"a"}`, `{"id":"a","id":"b"}`, `{"slots":+5}`, `{"slots":007}`, `{"slots":-0}`, `{"slots":1e2}`, `{"weight":1e400}`,
		`{"weight":-0}`, `{"weight":0.1}`, `{"weight":null}`, `{"preemption_timeout_ns":9223372036854775808}`, "{\"id\":\"a\tb\"}", "{\"id\":\"\xff\"}",
		`{"id":"\u00e9"}`, `{"id":"a"}` + "\n", `{"submitted":"2026-01-02T03:04:05Z"}`, `{"submitted":"2026-01-02 03:04:05Z"}`, `{"submitted":null}`,
	}
}

func checkLikeJSON(t *testing.T, data []byte, got, want any) {
	t.Helper()
	if err := json.Unmarshal(data, want); err != nil {
		t.Fatalf("%q was decoded but is invalid: %v", data, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q (-got +want):\n%s", data, cmp.Diff(got, want))
	}
}
