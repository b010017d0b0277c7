package experiment_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/store/archive"
	"github.com/det-deploy/det-deploy/test/rest"
)

// holder is a program that only runs and writes its identity for the test.
type holder struct {
	URL        string `json:"master_url"`
	Token      string `json:"session_token"`
	Task       string `json:"task_id"`
	Allocation string `json:"allocation_id"`
	Container  string `json:"container"`
	Trial      int    `json:"trial"`
}

// TestEachCallOfAProgramMayBeMadeTwice repeats every call with which a program changes something,
// with the same body, and compares the whole store: a lost response must have no effect.
func TestEachCallOfAProgramMayBeMadeTwice(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	l := openLab(t, options{tiny: true})
	id := l.create("line", "single.yaml", "hyperparameters.hold=true", "checkpoint_storage={save_trial_latest: 10}")
	p := l.awaitHolder()
	l.await(id, "RUNNING") // the agent's report of the state changes the store too
	const first, second = "5b1d9d1c-3f7e-4b7e-8a58-0c6c7f0a7c11", "5b1d9d1c-3f7e-4b7e-8a58-0c6c7f0a7c12"
	save := func(uuid string, steps int) string {
		return fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{"steps_completed":%d},"resources":{"w":"2"},"training":{}}`,
			uuid, p.Task, p.Allocation, steps)
	}
	report := func(group string, steps int) string {
		return fmt.Sprintf(`{"group":%q,"metrics":{"trialId":%d,"trialRunId":1,"stepsCompleted":%d,"metrics":{"avgMetrics":{"validation_loss":0.5,"bad":"NaN"}}}}`, group, p.Trial, steps)
	}
	gather := `{"requestUuid":"r1","numPeers":1,"data":{"rank":0}}`
	for _, call := range [][3]string{
		{"POST", "runs/start", `{"runId":{trial}}`},
		{"POST", "trials/{trial}/runner/metadata", `{"state":"training"}`},
		{"POST", "runs/{trial}/metadata", `{"runId":{trial},"metadata":{"a":{"b":[1]}}}`},
		{"GET", "runs/{trial}/metadata", ""},
		{"POST", "trials/{trial}/metrics", report("training", 1)},
		{"POST", "trials/{trial}/metrics", report("validation", 1)},
		{"POST", "trials/{trial}/metrics", report("own", 1)},
		{"POST", "trials/{trial}/metrics", strings.Replace(report("cpu", 1), `"stepsCompleted":1`, `"reportTime":"2026-01-02T03:04:05Z"`, 1)},
		{"POST", "trials/{trial}/progress", `{"progress":0.5,"is_raw":true}`},
		{"POST", "checkpoints", save(first, 1)},
		{"POST", "checkpoints", save(second, 2)},
		{"GET", "checkpoints/" + first, ""},
		{"PATCH", "checkpoints", fmt.Sprintf(`{"checkpoints":[{"uuid":%q,"resources":{"resources":{}}}]}`, second)},
		{"GET", "experiments/" + id + "/searcher/best_searcher_validation_metric", ""},
		{"GET", "trials/{trial}", ""},
		{"GET", "allocations/{allocation}/signals/preemption?timeout_seconds=0", ""},
		{"POST", "allocations/{allocation}/all_gather", gather},
		{"POST", "allocations/{allocation}/notify_container_running", gather},
		{"GET", "allocations/{allocation}/resources/{container}/rendezvous", ""},
		{"POST", "allocations/{allocation}/proxy_address", `{"proxyAddress":"10.0.0.1"}`},
		{"POST", "allocations/{allocation}/acceleratorData", `{"acceleratorData":{"nodeName":"n"}}`},
		{"POST", "allocations/{allocation}/ready", ""},
		{"POST", "allocations/{allocation}/waiting", ""},
		{"POST", "allocations/{allocation}/signals/ack_preemption", ""},
		{"POST", "trials/{trial}/early_exit", `{"reason":"EXITED_REASON_INVALID_HP"}`},
	} {
		fill := strings.NewReplacer("{trial}", fmt.Sprint(p.Trial), "{allocation}", p.Allocation, "{container}", p.Container)
		path, body := fill.Replace(call[1]), fill.Replace(call[2])
		one := p.call(t, call[0], path, body)
		before := l.dumpStore()
		two := p.call(t, call[0], path, body)
		if diff := cmp.Diff(withoutTimes(one), withoutTimes(two)); diff != "" {
			t.Errorf("%s %s: the second answer is another one (-first +second):\n%s", call[0], call[1], diff)
		}
		if diff := cmp.Diff(before, l.dumpStore()); diff != "" {
			t.Errorf("%s %s: the store has changed with the second call (-before +after):\n%s", call[0], call[1], diff)
		}
	}
}

// awaitHolder waits until a holding program has written its identity.
func (l *lab) awaitHolder() (p holder) {
	l.t.Helper()
	l.Eventually("the program runs", patience, func() error {
		text, err := os.ReadFile(l.inStorage("holder"))
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &p)
	})
	return p
}

// call makes a call as the program does.
func (p holder) call(t *testing.T, method, path, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.URL+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Grpc-Metadata-X-Allocation-Token", "Bearer "+p.Token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Errorf("%s %s: got %d %s, error %v", method, path, a.StatusCode, text, err)
	}
	return string(text)
}

var instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|"wallClockTime":[0-9.]+`)

// withoutTimes replaces all times in a text.
func withoutTimes(text string) string { return instant.ReplaceAllString(text, "TIME") }

// dumpStore returns all rows of the master's database, without times and without records of
// sessions and requests.
func (l *lab) dumpStore() (out []string) {
	l.t.Helper()
	beside, err := store.Open(l.t.Context(), store.Config{Path: filepath.Join(l.Dir, "master", "master.db"), ReadOnly: true})
	if err != nil {
		l.t.Fatal(err)
	}
	defer beside.Close() //nolint:errcheck // it was read
	var backup bytes.Buffer
	if err := beside.Backup(l.t.Context(), &backup); err != nil {
		l.t.Fatal(err)
	}
	reader, _, err := archive.Open(&backup)
	if err != nil {
		l.t.Fatal(err)
	}
	err = reader.ReadRows(func(table archive.Table, fields []archive.Field) error {
		row := table.Name
		for i, f := range fields {
			row += fmt.Sprintf(" %s=%d%s", table.Columns[i].Name, f.Number, f.Bytes)
		}
		if !strings.Contains(row, " kind=0session ") && !strings.Contains(row, " kind=0audit ") {
			out = append(out, withoutTimes(row))
		}
		return nil
	})
	if err != nil || len(out) == 0 {
		l.t.Fatalf("read the master's store: %d rows, error %v", len(out), err)
	}
	slices.Sort(out)
	return out
}
