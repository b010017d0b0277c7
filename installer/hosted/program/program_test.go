package program_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/installer/hosted/program"
)

// elfFile writes a minimal file that passes for a Linux program of a machine type.
func elfFile(t *testing.T, machine uint16) string {
	t.Helper()
	head := make([]byte, 64)
	copy(head, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(head[16:], 2) // an executable
	binary.LittleEndian.PutUint16(head[18:], machine)
	binary.LittleEndian.PutUint32(head[20:], 1)
	binary.LittleEndian.PutUint16(head[52:], 64)
	path := filepath.Join(t.TempDir(), "det-deploy")
	must(t, os.WriteFile(path, head, 0o600))
	return path
}

func TestLoadReadsArchitectures(t *testing.T) {
	t.Parallel()
	amd, arm := elfFile(t, 62), elfFile(t, 183)
	script := filepath.Join(t.TempDir(), "script")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o600))
	got, err := program.Load([]string{"arm64=" + arm}, amd)
	if err != nil || got["amd64"].Path != amd || got["arm64"].Path != arm || got["amd64"].SHA256 == got["arm64"].SHA256 {
		t.Errorf("got %v and %v, want one for each", got, err)
	}
	if got, err := program.Load(nil, script); err != nil || len(got) != 0 {
		t.Errorf("a program that does not run there: got %v and %v, want none", got, err)
	}
	for named, want := range map[string]string{
		"arm64=" + amd:    "is a program for linux/amd64 and not for linux/arm64",
		"amd64=" + script: "is a program for another system",
		"amd64=/no/where": "read /no/where",
		"riscv=" + amd:    "must be amd64=PATH or arm64=PATH",
		"amd64":           "must be amd64=PATH or arm64=PATH",
	} {
		if _, err := program.Load([]string{named}, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", named, err, want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
