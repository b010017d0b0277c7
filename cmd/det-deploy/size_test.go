package main

import (
	"os"
	"testing"
)

// maxProgramBytes limits the size of the program.
const maxProgramBytes = 200_000_000

func TestTheProgramIsNotLarge(t *testing.T) {
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
		t.Errorf("the program has %d bytes, want at most %d: which package is new in it, or keeps whole clients in interfaces?", info.Size(), maxProgramBytes)
	}
}
