package machine_test

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/machine"
)

// answering returns a client of a machine that gives every request the same response.
func answering(t *testing.T, status int, body string, asked *string) *machine.Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "m.sock")
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = r.URL.String()
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return machine.New(socket)
}

func TestProofRequiresAudience(t *testing.T) {
	t.Parallel()
	var asked string
	got, err := answering(t, 200, `{"kind":"aws-sts","data":"YWJj","instance":"i-1"}`, &asked).Proof(t.Context(), "lab & co")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, machine.Proof{Kind: "aws-sts", Data: []byte("abc"), Instance: "i-1"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if want := "/v1/proof?audience=lab+%26+co"; asked != want {
		t.Errorf("got %s, want %s", asked, want)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	var asked string
	got, found, err := answering(t, 200, `{"n":7,"kind":"interruption","at":"2026-01-02T03:04:05Z","reason":"terminate"}`, &asked).Notice(t.Context(), 3)
	want := machine.Notice{N: 7, Kind: machine.Interruption, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Reason: "terminate"}
	if d := cmp.Diff(got, want); err != nil || !found || d != "" {
		t.Errorf("got %v, %v, -; want +:\n%s", found, err, d)
	}
	if want := "/v1/notice?after=3"; asked != want {
		t.Errorf("got %s, want %s", asked, want)
	}
	if _, found, err := answering(t, 204, "", &asked).Notice(t.Context(), 0); found || err != nil {
		t.Errorf("none came: got %v, %v; want neither a notice nor an error", found, err)
	}
}

func TestErrorResponseIsReturned(t *testing.T) {
	t.Parallel()
	var asked string
	tests := map[string]struct {
		client *machine.Client
		want   string
	}{
		"in words":    {answering(t, 503, `{"error":"the machine has no role"}`, &asked), "the machine has no role"},
		"by a number": {answering(t, 500, "", &asked), "500 Internal Server Error"},
		"by silence":  {machine.New("/nowhere.sock"), "is det-deploy-host.service running?"},
		"by nothing":  {answering(t, 204, "", &asked), "the response is empty"},
	}
	for name, tt := range tests {
		if _, err := tt.client.Proof(t.Context(), "lab"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}
