//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// draw needs one, too.
func draw(ts *testscript.TestScript, neg bool, args []string) { terminal(ts, neg, args) }

// terminal needs a terminal that a test can make, as Linux has them.
func terminal(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("terminals are tried on Linux only")
}
