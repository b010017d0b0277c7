package pages_test

import "testing"

// testTasks starts a command with the form, follows its log and kills it.
func testTasks(t *testing.T, b *browser) {
	tb := b.open(t)
	tb.visit("/det/tasks/new")
	tb.submit("Start", map[string]string{
		"name": "ticks", "slots": "0", "program": "i=0; while :; do i=$((i+1)); echo \"tick $i <b>\"; sleep 0.2; done",
	})
	tb.await("The command was started.", "running")
	task := tb.path()
	tb.visit(task + "/logs")
	tb.await("tick 1 <b>", "tick 30 <b>") // the first page has fewer lines
	tb.wantAccessible("a log that grows")
	tb.visit(task + "/logs?search=TICK+1")
	tb.await("tick 1 <b>")
	tb.withoutScript()
	tb.visit(task + "/logs?search=tick+%5B34%5D+&regexp=on")
	tb.await("tick 3 <b>", "tick 4 <b>")
	tb.visit(task + "/kill")
	tb.await("Kill command")
	tb.submit("Kill", nil)
	tb.await("The command is being killed.")
	if at := tb.path(); at != task {
		t.Errorf("after the kill: got the page %s, want that of the task", at)
	}
}

// testMachines drains a machine and a slot, and enables them again.
func testMachines(t *testing.T, b *browser) {
	tb := b.open(t)
	tb.visit("/det/machines/gpu-1")
	for _, of := range []string{"the machine", "slot 1"} {
		tb.submit("Drain "+of, nil)
		tb.await("gets no new tasks")
		tb.submit("Enable "+of, nil)
		tb.await("takes tasks again")
	}
}

// testUsers creates a user, who logs in and is deactivated.
func testUsers(t *testing.T, b *browser) {
	tb := b.open(t)
	tb.expect("422")
	tb.visit("/det/users")
	tb.submit("Create user", map[string]string{"username": "carol", "password": "all in small letters"})
	tb.await("The password must have at least 8 characters")
	tb.wantAccessible("a form with a problem")
	tb.submit("Create user", map[string]string{"username": "carol", "password": "Correct-Horse-9"})
	tb.await("The user was created.", "carol")
	user := tb.path()
	tb.visit(user + "/deactivate")
	tb.await("cannot log in")
	tb.submit("Deactivate", nil)
	tb.await("The user was deactivated.", "inactive")
}
