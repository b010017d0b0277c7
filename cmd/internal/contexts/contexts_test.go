package contexts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func TestSaveThenLoad(t *testing.T) {
	t.Parallel()
	f := contexts.File{Path: filepath.Join(t.TempDir(), "det-deploy", "contexts.yaml")}
	want := contexts.Context{Name: "lab", Master: "https://lab:8443", Cluster: "c1", User: "admin", Token: "secret", Fingerprint: "AB"}
	if err := f.Save(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	b, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := b.Get("lab")
	if d := cmp.Diff(got, want); d != "" || b.Current != "lab" {
		t.Errorf("current %q, got -, want +:\n%s", b.Current, d)
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %o, want 600: it holds tokens", info.Mode().Perm())
	}
	if err := f.Forget(t.Context(), "lab"); err != nil {
		t.Fatal(err)
	}
	if b, err = f.Load(); err != nil || b.Current != "" || len(b.Contexts) != 0 {
		t.Errorf("after forgetting: got %v, %v", b, err)
	}
}

func TestConcurrentChangesAreKept(t *testing.T) {
	t.Parallel()
	f := contexts.File{Path: filepath.Join(t.TempDir(), "contexts.yaml")}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := f.Save(t.Context(), contexts.Context{Name: fmt.Sprint(i), Master: "http://x"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b, err := f.Load()
	if err != nil || len(b.Contexts) != 20 {
		t.Errorf("got %d contexts, %v; want 20", len(b.Contexts), err)
	}
}

func TestLoadRejectsForeignFile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"a later version": {"version: 9\n", "version 9"},
		"an unknown key":  {"version: 1\ncolour: red\n", "colour"},
		"no YAML":         {"\t", "contexts.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := contexts.File{Path: filepath.Join(t.TempDir(), "contexts.yaml")}
			if err := os.WriteFile(f.Path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Load(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestTokenIsRedacted(t *testing.T) {
	t.Parallel()
	c := contexts.Context{Name: "lab", Token: "hunter2"}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v", c, c), string(raw)} {
		if strings.Contains(s, "hunter2") {
			t.Errorf("got the token in %s", s)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	f := contexts.File{Path: filepath.Join(home, "det-deploy", "contexts.yaml")}
	for _, c := range []contexts.Context{
		{Name: "far", Master: "https://far:8443", Token: "f"},
		{Name: "lab", Master: "http://lab:8080", Token: "l"},
	} {
		if err := f.Save(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name, flag string
		env        map[string]string
		want       string
		named      bool
	}{
		{"the current one", "", nil, "http://lab:8080", true},
		{"by name", "far", nil, "https://far:8443", true},
		{"by address, as saved", "lab", map[string]string{"DET_MASTER": "far"}, "http://lab:8080", true},
		{"the environment before the current one", "", map[string]string{"DET_MASTER": "far"}, "https://far:8443", true},
		{"another address", "https://new:1", nil, "https://new:1", false},
		{"an address without its scheme", "lab:8080", nil, "http://lab:8080", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := term.Test("", false)
			s = s.WithEnv(func(k string) string {
				if k == "XDG_CONFIG_HOME" {
					return home
				}
				return tt.env[k]
			})
			c, named, err := contexts.MasterFlag{Master: tt.flag}.Resolve(s)
			if err != nil || c.Master != tt.want || named != tt.named {
				t.Errorf("got %s, %t, %v; want %s, %t", c.Master, named, err, tt.want, tt.named)
			}
		})
	}
}

func TestNoMasterErrorHasHint(t *testing.T) {
	t.Parallel()
	s, _, _ := term.Test("", false)
	dir := t.TempDir()
	s = s.WithEnv(func(k string) string {
		if k == "HOME" {
			return dir
		}
		return ""
	})
	_, err := contexts.MasterFlag{}.Dial(s)
	if err == nil || !strings.Contains(err.Error(), "no master selected") {
		t.Errorf("got %v, want a *NoMasterError", err)
	}
}
