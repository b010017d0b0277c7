package master_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/client"
)

// httpUser calls a master's API as the administrator.
type httpUser struct {
	*testing.T

	url, token string
}

// call returns the status code and body of the response.
func (u httpUser) call(path, body string) (int, string) {
	u.Helper()
	r, err := http.NewRequestWithContext(u.Context(), http.MethodPost, u.url+path, strings.NewReader(body))
	if err != nil {
		u.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+u.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		u.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		u.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// must decodes the response of a call that has to succeed.
func (u httpUser) must(path, body string, out any) {
	u.Helper()
	code, text := u.call(path, body)
	if code != http.StatusOK {
		u.Fatalf("%s: got %d %s", path, code, text)
	}
	if err := json.NewDecoder(bytes.NewBufferString(text)).Decode(out); err != nil {
		u.Fatal(err)
	}
}

func TestStoredBytesPerUserAreLimited(t *testing.T) {
	t.Parallel()
	p := newParts(t)
	p.Config.Security.Limits.StoredPerUser = 1000
	address, _ := startMaster(t, p)
	anybody, err := client.New(client.Config{URL: "http://" + address.String()})
	if err != nil {
		t.Fatal(err)
	}
	defer anybody.Close()
	in, err := anybody.Login(t.Context(), "admin", password)
	if err != nil {
		t.Fatal(err)
	}
	u := httpUser{t, "http://" + address.String() + "/api/v1/", in.GetToken()}

	var x struct{ Experiment struct{ ID int } }
	experiment := `{"unmanaged": true, "config": "name: mine\nsearcher: {name: single, metric: loss}\ncheckpoint_storage: {type: directory, container_path: /c}"}`
	u.must("experiments", experiment, &x)
	var made struct {
		Trial struct {
			ID     int
			TaskID string `json:"taskId"`
		}
	}
	u.must("trials", fmt.Sprintf(`{"experimentId": %d, "unmanaged": true}`, x.Experiment.ID), &made)
	var none struct{}
	trial := made.Trial.ID
	u.must(fmt.Sprintf("trials/%d/start", trial), "{}", &none)
	u.must("task/logs", fmt.Sprintf(`{"logs": [{"taskId": %q, "log": %q}]}`, made.Trial.TaskID, strings.Repeat("x", 600)), &none)
	report := func(steps int) string {
		return fmt.Sprintf(`{"trialId": %d, "trialRunId": 1, "stepsCompleted": %d, "metrics": {"avgMetrics": {"text": %q}}}`, trial, steps, strings.Repeat("y", 600))
	}
	training := fmt.Sprintf("trials/%d/training_metrics", trial)
	u.must(training, report(1), &none)

	for path, body := range map[string]string{
		training: report(2), "experiments": experiment, "commands": `{"config": {"entrypoint": ["true"]}}`,
	} {
		code, text := u.call(path, body)
		if code != http.StatusTooManyRequests || !strings.Contains(text, "user admin stores 1.") || !strings.Contains(text, "limit security.limits.stored_bytes_per_user of 1000 bytes (metrics ") || !strings.Contains(text, ", logs ") {
			t.Errorf("%s: got %d %s", path, code, text)
		}
	}
	u.must("task/logs", fmt.Sprintf(`{"logs": [{"taskId": %q, "log": "more"}]}`, made.Trial.TaskID), &none)
}
