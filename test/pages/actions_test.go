package pages_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/test/browser"
)

// testTasks starts a command with the form, follows its log and kills it.
func testTasks(t *testing.T, b *browser.Browser) {
	tb := b.Tab(t)
	tb.Visit("/det/tasks/new")
	tb.Submit("Start", map[string]string{
		"name": "ticks", "slots": "0", "program": "i=0; while :; do i=$((i+1)); echo \"tick $i <b>\"; sleep 0.2; done",
	})
	tb.Await("The command was started.", "running")
	task := tb.Path()
	tb.Visit(task + "/logs")
	tb.Await("tick 1 <b>", "tick 30 <b>") // the first page has fewer lines
	tb.WantAccessible("a log that grows")
	tb.Visit(task + "/logs?search=TICK+1")
	tb.Await("tick 1 <b>")
	tb.WithoutScript()
	tb.Visit(task + "/logs?search=tick+%5B34%5D+&regexp=on")
	tb.Await("tick 3 <b>", "tick 4 <b>")
	tb.Visit(task + "/kill")
	tb.Await("Kill command")
	tb.Submit("Kill", nil)
	tb.Await("The command is being killed.")
	if at := tb.Path(); at != task {
		t.Errorf("after the kill: got the page %s, want that of the task", at)
	}
}

// testMachines drains a machine and a slot, and enables them again.
func testMachines(t *testing.T, b *browser.Browser) {
	tb := b.Tab(t)
	tb.Visit("/det/machines/gpu-1")
	for _, of := range []string{"the machine", "slot 1"} {
		tb.Submit("Drain "+of, nil)
		tb.Await("gets no new tasks")
		tb.Submit("Enable "+of, nil)
		tb.Await("takes tasks again")
	}
}

// testUsers creates a user, who logs in and is deactivated.
func testUsers(t *testing.T, b *browser.Browser) {
	tb := b.Tab(t)
	tb.Expect("422")
	tb.Visit("/det/users")
	tb.Submit("Create user", map[string]string{"username": "carol", "password": "all in small letters"})
	tb.Await("The password must have at least 8 characters")
	tb.WantAccessible("a form with a problem")
	tb.Submit("Create user", map[string]string{"username": "carol", "password": "Correct-Horse-9"})
	tb.Await("The user was created.", "carol")
	user := tb.Path()
	tb.Visit(user + "/deactivate")
	tb.Await("cannot log in")
	tb.Submit("Deactivate", nil)
	tb.Await("The user was deactivated.", "inactive")
}
