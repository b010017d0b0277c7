package model

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func TestVersionsAreChangedAndDeleted(t *testing.T) {
	t.Parallel()
	var calls []string
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls = append(calls, strings.Join(strings.Fields(strings.TrimSpace(r.Method+" "+r.URL.Path+" "+strings.ReplaceAll(string(body), " ", ""))), " "))
		fmt.Fprint(w, `{"modelVersion":{"version":2,"model":{"name":"digits"}}}`)
	}))
	defer hs.Close()
	run := func(args ...string) string {
		s, _, errs := term.Test("", false)
		home := t.TempDir()
		c := New(s.WithEnv(func(key string) string { return map[string]string{"HOME": home}[key] }))
		c.SetArgs(append([]string{args[0], "--master", hs.URL}, args[1:]...))
		c.SilenceErrors, c.SilenceUsage = true, true
		if err := c.ExecuteContext(t.Context()); err != nil {
			return err.Error()
		}
		return errs.String()
	}
	if got := run("edit-version", "digits", "2", "--comment", "", "--label", "a"); got != "Updated version 2 of model digits.\n" {
		t.Errorf("got %q", got)
	}
	if got := run("delete-version", "digits", "2", "--yes"); got != "Deleted version 2 of model digits.\n" {
		t.Errorf("got %q", got)
	}
	if got := run("delete-version", "digits", "2"); !strings.Contains(got, "--yes") {
		t.Errorf("got %q without a confirmation", got)
	}
	var changes []string
	for _, c := range calls {
		if !strings.HasPrefix(c, "GET ") {
			changes = append(changes, c)
		}
	}
	want := `[PATCH /api/v1/models/digits/versions/2 {"comment":"","labels":["a"]} DELETE /api/v1/models/digits/versions/2]`
	if got := fmt.Sprint(changes); got != want {
		t.Errorf("got the calls %s, want %s", got, want)
	}
}
