//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// draw needs a terminal as well.
func draw(ts *testscript.TestScript, neg bool, args []string) { terminal(ts, neg, args) }

// terminal needs a terminal that a test can create, as on Linux.
func terminal(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("terminals are tried on Linux only")
}
