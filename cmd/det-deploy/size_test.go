package main

import (
	"os"
	"testing"
)

// maxProgramBytes is what the program may take on a disk and on the way to a machine.
// One SDK's client in an interface adds some 40 MB: see cloud/aws/api. Google Cloud brought
// it 1 MB above the 120 of ADR 3, and experiments 7 MB more; it must not grow further before it shrinks.
const maxProgramBytes = 128_000_000

func TestTheProgramIsSmall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxProgramBytes {
		t.Errorf("the program has %d bytes, want at most %d: which package keeps whole clients in interfaces?", info.Size(), maxProgramBytes)
	}
}
