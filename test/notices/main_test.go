package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPartsWithTheSameTextsShareThem(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a/LICENSE": "MIT, Ann\r\n", "b/LICENSE.md": "MIT, Ann\n\n", "c/COPYING": "GPL", "c/NOTICE.txt": "by Carl", "c/license.go": "package c", "d/README": "no license"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var parts []part
	for _, name := range []string{"a", "b", "c"} {
		files, err := licensesIn(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part{name, files})
	}
	got, err := compose(parts)
	if err != nil {
		t.Fatal(err)
	}
	if _, list, _ := strings.Cut(got, "\n\n"); list != line+"a\nb\n"+line+"\nMIT, Ann\n\n"+line+"c\n"+line+"\nGPL\n\nby Carl\n\n" {
		t.Errorf("got %s", got)
	}
	if _, err := licensesIn(filepath.Join(dir, "d")); err == nil {
		t.Error("a module without a license is no error")
	}
}
