package main

import (
	"bytes"
	"os"
	"testing"
)

// maxProgramBytes is what the program may take on a disk and on the way to a machine.
// Package text/template adds 38 MB and an SDK's client in an interface up to 20: see ADR 86.
const maxProgramBytes = 88_000_000

func TestTheProgramIsSmall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Every function has its name in the table that stack traces are made of.
	if bytes.Contains(program, []byte("text/template.(*state).evalField")) {
		t.Error("the program executes templates of text/template, for which every method of every type is kept: use templates/engine, and build with the tags of the Makefile")
	}
	if len(program) > maxProgramBytes {
		t.Errorf("the program has %d bytes, want at most %d: which package is new in it, or keeps whole clients in interfaces?", len(program), maxProgramBytes)
	}
}
