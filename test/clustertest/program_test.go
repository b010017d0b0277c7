package clustertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type passes func() int

func (p passes) Run() int { return p() }

func TestBuildsAreDeletedAfterTests(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "det-deploy-bin-1")
	code := Tests{passes(func() int {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Error(err)
		}
		builds.add(dir)
		return 7
	})}.Run()
	if _, err := os.Stat(dir); code != 7 || !os.IsNotExist(err) {
		t.Errorf("got code %d, and %v for the directory; want 7 and none", code, err)
	}
}

// Release binaries must be built like those that were tested.
func TestTagsAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"Makefile": "TAGS := " + Tags + "\n", "test/run.sh": "-tags=" + Tags + "}", ".golangci.yml": ", " + Tags + "]",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q", file, want)
		}
	}
}
