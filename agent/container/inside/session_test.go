package inside

import (
	"slices"
	"testing"
)

func TestMembersOf(t *testing.T) {
	t.Parallel()
	table := []Proc{
		{PID: 1, Session: 1}, {PID: 10, Parent: 1, Session: 10}, // others
		{PID: 20, Parent: 10, Session: 20},                                     // the program
		{PID: 21, Parent: 20, Session: 20}, {PID: 22, Parent: 21, Session: 22}, // its child, and one with a session of its own
		{PID: 23, Parent: 1, Session: 20},  // one that it left behind
		{PID: 24, Parent: 20, Session: 20}, // of another container, under a reused ID
		{PID: 30, Parent: 10, Session: 10}, {PID: 31, Parent: 24, Session: 24},
	}
	belongs := func(pid int) bool { return pid != 24 }
	if got, want := membersOf(table, 20, belongs), []int{20, 21, 22, 23}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := membersOf(table, 99, belongs); len(got) != 0 {
		t.Errorf("got %v for a program that has exited, want none", got)
	}
}

func TestSignalNumber(t *testing.T) {
	t.Parallel()
	if sig, err := SignalNumber("INT"); err != nil || sig != 2 {
		t.Errorf("got %v, %v", sig, err)
	}
	for _, name := range []string{"", "int", "STOP", "9"} {
		if sig, err := SignalNumber(name); err == nil {
			t.Errorf("%q is signal %v", name, sig)
		}
	}
}
