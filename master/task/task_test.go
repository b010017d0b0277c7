package task_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

const (
	pulling    = apiv1.Container_STATE_PULLING
	running    = apiv1.Container_STATE_RUNNING
	terminated = apiv1.Container_STATE_TERMINATED
)

// life returns the steps of a command from its launch to its end. Each step may be repeated.
func life(m *master, id string) []func() error {
	a := first(id)
	change := func(s apiv1.Container_State, x *agentv1.Exit) func() error {
		return func() error {
			return m.tasks.Changed(m.t.Context(), rm.ContainerChange{
				Allocation: a, Container: containerID(a, 0), State: s, Exit: x, At: time.Now(),
			})
		}
	}
	return []func() error{
		func() error { _, err := m.tasks.Assigned(m.t.Context(), assignment(a, 1)); return err },
		change(pulling, nil), change(running, nil), change(terminated, exit(3)),
		func() error {
			return m.tasks.Ended(m.t.Context(), a, rm.End{Cause: rm.CauseExited, At: time.Now()})
		},
	}
}

func (m *master) must(steps ...func() error) {
	m.t.Helper()
	for _, step := range steps {
		if err := step(); err != nil {
			m.t.Fatal(err)
		}
	}
}

func wantLines(id string) []string {
	return []string{
		"INFO Scheduling x (id: " + id + ".1)",
		"INFO x was assigned to an agent",
		"INFO Resources for x have started",
		"ERROR crashed: resources failed with non-zero exit code: container failed with non-zero exit code: 3 (exit code 3)",
	}
}

func TestEachStepIsReportedOnce(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["false"],"description":"x"}`).GetCommand().GetId()
	for _, step := range life(m, id) {
		m.must(step, step)
	}
	if d := cmp.Diff(m.lines(id), wantLines(id)); d != "" {
		t.Errorf("-got +want:\n%s", d)
	}
	c := m.command(id)
	if c.GetExitCode() != 3 || !strings.HasPrefix(c.GetExitStatus(), "resources failed with non-zero exit code") || c.GetState() != apiv1.Task_STATE_TERMINATED {
		t.Errorf("got %v, want it terminated with code 3", c)
	}
	if n := len(m.doors.open); n != 0 {
		t.Errorf("got %d allocations with tokens after the end, want none", n)
	}
}

func TestARestartAnywhereLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for at := range 6 {
		m := newMaster(t)
		id := m.launch(`{"entrypoint":["false"],"description":"x"}`).GetCommand().GetId()
		for i, step := range life(m, id) {
			if i == at {
				m.restart()
			}
			m.must(step)
			if i == at {
				m.restart()
				m.must(step)
			}
		}
		m.restart()
		if d := cmp.Diff(m.lines(id), wantLines(id)); d != "" {
			t.Errorf("restart at step %d (-got +want):\n%s", at, d)
		}
		if c := m.command(id); c.GetExitCode() != 3 {
			t.Errorf("restart at step %d: got %v, want code 3", at, c)
		}
	}
}

// The change is stored and the process dies before the log has its line.
func TestCrashBetweenChangeAndLineLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for at := range 5 {
		m := newMaster(t)
		id := m.launch(`{"entrypoint":["false"],"description":"x"}`).GetCommand().GetId()
		for i, step := range life(m, id) {
			if i == at {
				m.logs.Close()
				err := step()
				if hasLine := i != 1 && i != 3; (err != nil) != hasLine {
					t.Errorf("step %d without a log: got %v, want an error: %v", i, err, hasLine)
				}
				m.restart()
			}
			m.must(step)
		}
		if d := cmp.Diff(m.lines(id), wantLines(id)); d != "" {
			t.Errorf("crash in step %d (-got +want):\n%s", at, d)
		}
	}
}

func TestAnAcknowledgedLaunchIsSubmittedAfterARestart(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId()
	m.machine = newMachine() // the machines have forgotten it as well
	m.restart()
	if !m.machine.has(first(id)) {
		t.Error("got no submission after the restart, want one")
	}
}

func TestRepeatedSubmissionReturnsTheFirst(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	req := command(t, `{"entrypoint":["x"]}`)
	req.RequestId = "r1"
	ids := make(chan string, 16)
	for range cap(ids) {
		go func() {
			r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
			if err != nil {
				t.Error(err)
			}
			ids <- r.GetCommand().GetId()
		}()
	}
	want := <-ids
	for range cap(ids) - 1 {
		if got := <-ids; got != want {
			t.Errorf("got %s, want the first one, %s", got, want)
		}
	}
	m.restart()
	r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
	if err != nil || r.GetCommand().GetId() != want {
		t.Errorf("after a restart: got %v and %v, want %s", r, err, want)
	}
	other, err := m.tasks.Launch(t.Context(), bob(), req, nil)
	if err != nil || other.GetCommand().GetId() == want {
		t.Errorf("another user's request: got %v and %v, want a separate command", other, err)
	}
	if n := len(m.commands()); n != 2 {
		t.Errorf("got %d commands, want one of each user", n)
	}
}

func TestLaunchRefuses(t *testing.T) {
	t.Parallel()
	unfulfillable := &rm.Unfulfillable{Pool: "gpu", Slots: 9, Reason: "it has 8"}
	for _, tt := range []struct {
		name    string
		req     *apiv1.LaunchCommandRequest
		invalid error
		code    status.Code
		want    string
	}{
		{"an unknown key", command(t, `{"entrypoint":["x"],"x":1}`), nil, status.InvalidArgument, "unable to decode the merged config"},
		{"an unknown pool", command(t, `{"entrypoint":["x"],"resources":{"resource_pool":"no"}}`), nil, status.InvalidArgument, `there is no resource pool "no"`},
		{"too many slots", command(t, `{"entrypoint":["x"],"resources":{"slots":9}}`), unfulfillable, status.InvalidArgument, "request unfulfillable"},
		{"a template", &apiv1.LaunchCommandRequest{TemplateName: "base"}, nil, status.NotFound, "template 'base' not found"},
		{"data", &apiv1.LaunchCommandRequest{Config: command(t, `{"entrypoint":["x"]}`).GetConfig(), Data: []byte("x")}, nil, status.InvalidArgument, "not supported for commands"},
		{"a file that climbs out", &apiv1.LaunchCommandRequest{
			Config: command(t, `{"entrypoint":["x"]}`).GetConfig(), Files: []*apiv1.File{{Path: "../x", Type: 48}},
		}, nil, status.InvalidArgument, "must not contain .."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			m.machine.invalid = tt.invalid
			_, err := m.tasks.Launch(t.Context(), ann(), tt.req, nil)
			if status.Of(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %v with %q", err, tt.code, tt.want)
			}
			if n := len(m.commands()); n != 0 {
				t.Errorf("got %d commands, want none", n)
			}
		})
	}
}

func TestOnlyAdministratorsRunTasksWhereUsersAreNotTrusted(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.edit = func(c *task.Config) { c.AdministratorsOnly = true }
	m.restart()
	_, err := m.tasks.Launch(t.Context(), ann(), &apiv1.LaunchCommandRequest{}, nil)
	if status.Of(err) != status.PermissionDenied || !strings.Contains(err.Error(), "--trust-users") {
		t.Errorf("got %v, want an error with the flag", err)
	}
	_, err = m.tasks.Launch(t.Context(), root(), &apiv1.LaunchCommandRequest{}, nil)
	if status.Of(err) == status.PermissionDenied {
		t.Errorf("an administrator is refused: %v", err)
	}
}

func TestACommandRunsOnOneMachine(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"],"resources":{"slots":2}}`).GetCommand().GetId()
	m.restart()
	if !m.machine.submitted[first(id)].SingleNode {
		t.Error("a command of two slots may be split over two machines, where it would run twice")
	}
}

func TestCommandWithTooManySlotsAlwaysFails(t *testing.T) {
	t.Parallel()
	for _, launchError := range []bool{true, false} {
		m := newMaster(t)
		m.stop()
		m.edit = func(c *task.Config) { c.LaunchError = launchError }
		m.start()
		m.machine.invalid = &rm.Unfulfillable{Pool: "gpu", Slots: 9, Reason: "it has 8"}
		r, err := m.tasks.Launch(t.Context(), ann(), command(t, `{"entrypoint":["x"],"resources":{"slots":9}}`), nil)
		if status.Of(err) != status.InvalidArgument || !strings.Contains(err.Error(), "request unfulfillable") {
			t.Errorf("launch_error %v: got %v, %v, want an error", launchError, r, err)
		}
	}
}

func TestPodSpecIsPassedToTheResourceManager(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.machine.remarks = []string{"environment.pod_spec has no effect: there are no pods"}
	id := m.launch(`{"entrypoint":["x"],"environment":{"pod_spec":{"spec":{"nodeSelector":{"a":"b"}}}}}`).GetCommand().GetId()
	m.restart()
	got := string(m.machine.submitted[rm.AllocationID(id+".1")].PodSpec)
	if want := `{"spec":{"nodeSelector":{"a":"b"}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if all := strings.Join(m.lines(id), "\n"); !strings.Contains(all, "there are no pods") {
		t.Errorf("got %q, want the remarks of the resource manager", all)
	}
}

func TestPoolsFollowTheSlots(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	if got := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetResourcePool(); got != "gpu" {
		t.Errorf("one slot: got pool %s, want gpu", got)
	}
	if got := m.launch(`{"entrypoint":["x"],"resources":{"slots":0}}`).GetCommand().GetResourcePool(); got != "aux" {
		t.Errorf("no slots: got pool %s, want aux", got)
	}
}

func TestSuccess(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"],"description":"x"}`).GetCommand().GetId()
	if s := m.assign(first(id), 1)[0]; s.GetSessionToken() != "own-"+id+".1" {
		t.Errorf("got %v, want a spec with the allocation's token", s)
	}
	m.changed(first(id), 0, running, nil)
	if c := m.command(id); c.GetState() != apiv1.Task_STATE_RUNNING || c.GetExitStatus() != "" || c.ExitCode != nil {
		t.Errorf("got %v, want it running without a status", c)
	}
	m.changed(first(id), 0, terminated, exit(0))
	m.ended(first(id), rm.CauseExited, "")
	if c := m.command(id); c.GetExitStatus() != "allocation exited successfully" || c.ExitCode == nil || c.GetExitCode() != 0 {
		t.Errorf("got %v, want success", c)
	}
	got := m.lines(id)
	if last := got[len(got)-1]; last != "INFO resources exited successfully with a zero exit code" {
		t.Errorf("got %q last, want the words of success", last)
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"],"description":"x"}`).GetCommand().GetId()
	if _, err := m.tasks.Kill(t.Context(), bob(), id); status.Of(err) != status.PermissionDenied {
		t.Errorf("somebody else: got %v, want PermissionDenied", err)
	}
	m.assign(first(id), 1)
	m.changed(first(id), 0, running, nil)
	for range 2 {
		if _, err := m.tasks.Kill(t.Context(), root(), id); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.machine.killed(first(id)); got != "killed by user admin" {
		t.Errorf("got reason %q, want who killed it", got)
	}
	m.machine = newMachine()
	m.restart()
	if got := m.machine.killed(first(id)); got == "" {
		t.Error("the wish was not carried out after a restart")
	}
	m.changed(first(id), 0, terminated, exit(137))
	m.ended(first(id), rm.CauseKilled, "killed by user admin")
	if c := m.command(id); c.GetExitStatus() != "killed by user admin" || c.ExitCode != nil {
		t.Errorf("got %v, want it killed and without an exit code", c)
	}
	if c := m.command(id); c.GetStatus() != "killed" || c.GetKilledBy() != "admin" || c.GetReason() != "killed by user admin" || c.GetEndTime() == nil {
		t.Errorf("got %v, want who killed it", c)
	}
	got := m.lines(id)
	want := []string{"INFO forcibly killing allocation's remaining resources (reason: killed by user admin)", "INFO killed: killed by user admin"}
	if d := cmp.Diff(got[len(got)-2:], want); d != "" {
		t.Errorf("-got +want:\n%s", d)
	}
	if _, err := m.tasks.Kill(t.Context(), ann(), id); err != nil {
		t.Errorf("one that has ended: got %v, want no error", err)
	}
}

// The detail of a command that failed ends with what its program printed last.
func TestDetailHasTheLastLines(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(echo).GetCommand().GetId()
	m.assign(first(id), 1)
	m.changed(first(id), 0, running, nil)
	lines := &agentv1.Logs{AllocationId: string(first(id)), ContainerId: string(containerID(first(id), 0))}
	for i := range 12 {
		lines.Lines = append(lines.Lines, &agentv1.Line{Text: []byte("line " + strconv.Itoa(i)), Stdtype: "stderr"})
	}
	if _, err := m.tasks.AppendLogs(t.Context(), "a1", lines); err != nil {
		t.Fatal(err)
	}
	if got, err := m.tasks.Detail(t.Context(), id); err != nil || len(got.GetLastLines()) != 0 {
		t.Errorf("got %v and %v while it runs, want no lines", got, err)
	}
	m.changed(first(id), 0, terminated, exit(1))
	m.ended(first(id), rm.CauseExited, "")
	got, err := m.tasks.Detail(t.Context(), id)
	if last := got.GetLastLines(); err != nil || len(last) != 10 || last[0] != "line 2" || last[9] != "line 11" {
		t.Errorf("got %q and %v, want the last ten", last, err)
	}
}

func TestKillBeforePlacementPreventsStart(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId()
	if _, err := m.tasks.Kill(t.Context(), ann(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := m.tasks.Assigned(t.Context(), assignment(first(id), 1)); err == nil {
		t.Error("got a spec for a killed command, want an error")
	}
	m.machine = newMachine() // crashed before the end was reported
	m.restart()
	if c := m.command(id); c.GetState() != apiv1.Task_STATE_TERMINATED || c.GetExitStatus() != "killed by user ann" {
		t.Errorf("got %v, want it ended", c)
	}
}

func TestTheFirstFailureOfAGangEndsTheRest(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"],"resources":{"slots":2}}`).GetCommand().GetId()
	m.assign(first(id), 2)
	m.changed(first(id), 0, running, nil)
	m.changed(first(id), 1, running, nil)
	m.changed(first(id), 1, terminated, exit(9))
	if m.machine.killed(first(id)) == "" {
		t.Error("the other container was not killed")
	}
	m.changed(first(id), 0, terminated, exit(137))
	m.ended(first(id), rm.CauseKilled, "")
	if c := m.command(id); c.GetExitCode() != 9 {
		t.Errorf("got code %d, want that of the first failure", c.GetExitCode())
	}
}

func TestExitCodeOfKilledProgramHasAReason(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId()
	m.assign(first(id), 1)
	killed := exit(137)
	killed.Message = "it used too much memory (OOMKilled)"
	m.changed(first(id), 0, terminated, killed)
	m.ended(first(id), rm.CauseExited, "")
	c := m.command(id)
	if c.GetExitCode() != 137 || c.GetReason() != killed.GetMessage() || !strings.HasSuffix(c.GetExitStatus(), "; "+killed.GetMessage()) {
		t.Errorf("got %v, want the exit code and its reason", c)
	}
	if lines := m.lines(id); !strings.HasSuffix(lines[len(lines)-1], killed.GetMessage()) {
		t.Errorf("got log %q, want the reason at its end", lines)
	}
}

func TestFailedStartHasAReason(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId()
	m.assign(first(id), 1)
	m.changed(first(id), 0, terminated, &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED, Message: "no such image"})
	m.ended(first(id), rm.CauseExited, "")
	if c := m.command(id); c.ExitCode != nil || c.GetExitStatus() != "resources could not be started: no such image" {
		t.Errorf("got %v, want the reason and no code", c)
	}
}

func TestOwnersMayPreemptPreemptibleTasks(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	once := first(m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId())
	again := first(m.launch(`{"entrypoint":["x"],"resources":{"preemptible":true}}`).GetCommand().GetId())
	tests := []struct {
		name string
		by   *apiv1.User
		id   rm.AllocationID
		want status.Code
	}{
		{"somebody else's", bob(), again, status.PermissionDenied},
		{"one that would not be run again", ann(), once, status.FailedPrecondition},
		{"none", ann(), "t.9", status.NotFound},
		{"the owner's", ann(), again, 0},
	}
	for _, tt := range tests {
		m.machine.preempts = map[rm.AllocationID]string{}
		err := m.tasks.Preempt(t.Context(), tt.by, string(tt.id))
		if tt.want == 0 && (err != nil || m.machine.preempts[tt.id] != "preempted by user ann") {
			t.Errorf("%s: got %v and %v, want it preempted by ann", tt.name, err, m.machine.preempts)
		}
		if tt.want != 0 && (status.Of(err) != tt.want || len(m.machine.preempts) > 0) {
			t.Errorf("%s: got %v and %v, want %v", tt.name, err, m.machine.preempts, tt.want)
		}
	}
}

func TestAPreemptibleCommandIsRunAgain(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"],"resources":{"preemptible":true}}`).GetCommand().GetId()
	a := first(id)
	m.assign(a, 1)
	m.changed(a, 0, running, nil)
	got := make(chan bool, 1)
	go func() {
		preempt, err := m.tasks.PreemptionSignal(t.Context(), string(a), time.Minute)
		if err != nil {
			t.Error(err)
		}
		got <- preempt
	}()
	if _, err := m.tasks.Preempted(t.Context(), a, "slots are needed", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if !<-got {
		t.Error("the signal did not arrive")
	}
	if listens, err := m.tasks.Preempted(t.Context(), a, "slots are needed", time.Now()); err != nil || !listens {
		t.Errorf("got %v and %v, want that the program listens", listens, err)
	}
	m.changed(a, 0, terminated, exit(143))
	m.ended(a, rm.CauseExited, "")
	m.ended(a, rm.CauseExited, "")
	second := rm.AllocationID(id + ".2")
	if !m.machine.has(second) {
		t.Fatal("the second allocation was not submitted")
	}
	m.restart()
	m.assign(second, 1)
	m.changed(second, 0, running, nil)
	m.changed(second, 0, terminated, exit(0))
	m.ended(second, rm.CauseExited, "")
	if c := m.command(id); c.GetExitStatus() != "allocation exited successfully" {
		t.Errorf("got %v, want success at last", c)
	}
	r, err := m.tasks.Task(t.Context(), id)
	if err != nil || len(r.GetTask().GetAllocations()) != 2 {
		t.Errorf("got %v and %v, want two allocations", r, err)
	}
	if d := cmp.Diff(len(m.lines(id)), 10); d != "" {
		t.Errorf("lines %q (-got +want):\n%s", m.lines(id), d)
	}
}

func TestARefusedSubmissionEndsTheTask(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.machine.refuse = errRefused
	id := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId()
	if c := m.command(id); c.GetState() != apiv1.Task_STATE_TERMINATED || c.GetExitStatus() != errRefused.Error() {
		t.Errorf("got %v, want it ended with the reason", c)
	}
}

func TestEndAndLastLineAreStoredTogether(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId()
	m.logs.Close()
	if err := m.tasks.Ended(t.Context(), first(id), rm.End{Cause: rm.CauseRefused, Reason: "no pool"}); err == nil {
		t.Error("got no error without a log")
	}
	m.restart()
	if c := m.command(id); c.GetState() == apiv1.Task_STATE_TERMINATED {
		t.Errorf("got %v, want it to wait: its last line could not be written", c)
	}
	m.ended(first(id), rm.CauseRefused, "no pool")
	got := m.lines(id)
	if last := got[len(got)-1]; last != "ERROR crashed: no pool" {
		t.Errorf("got %q last, want why it ended", last)
	}
}

func TestFollowingEndsWithTheLastLine(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"],"description":"x"}`).GetCommand().GetId()
	seq, err := m.tasks.Log(t.Context(), log.Filter{Task: id}, true)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []string)
	go func() {
		var lines []string
		for e, err := range seq {
			if err != nil {
				t.Error(err)
			}
			lines = append(lines, string(e.Level)+" "+e.Text)
		}
		got <- lines
	}()
	m.must(life(m, id)...)
	if d := cmp.Diff(<-got, wantLines(id)); d != "" {
		t.Errorf("-got +want:\n%s", d)
	}
}

func TestContainersAndShippersWriteIntoOneLog(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId()
	a := first(id)
	m.assign(a, 1)
	send := &agentv1.Logs{
		ContainerId: string(containerID(a, 0)), AllocationId: string(a),
		Lines: []*agentv1.Line{{Text: []byte("one"), Stdtype: "stdout"}, {Text: []byte("two"), Stdtype: "stderr"}},
	}
	for range 2 {
		if next, err := m.tasks.AppendLogs(t.Context(), "a1", send); next != 2 || err != nil {
			t.Errorf("got %d and %v, want 2", next, err)
		}
	}
	send.FirstSeq = 5
	if next, err := m.tasks.AppendLogs(t.Context(), "a1", send); next != 2 || err != nil {
		t.Errorf("a gap: got %d and %v, want to be asked for line 2", next, err)
	}
	if next, err := m.tasks.NextSeq(t.Context(), a, containerID(a, 0)); next != 2 || err != nil {
		t.Errorf("got %d and %v, want 2", next, err)
	}
	if next, err := m.tasks.AppendLogs(t.Context(), "a1", &agentv1.Logs{AllocationId: "no.1", FirstSeq: 3, Lines: send.GetLines()}); next != 5 || err != nil {
		t.Errorf("an unknown allocation: got %d and %v, want its lines acknowledged", next, err)
	}
	level := "ERROR"
	ship := func(by *apiv1.User, logs ...*apiv1.TaskLog) error {
		return m.tasks.Ship(t.Context(), by, &apiv1.PostTaskLogsRequest{Logs: logs})
	}
	if err := ship(ann(), &apiv1.TaskLog{TaskId: id, Log: "three\n", Level: &level}); err != nil {
		t.Error(err)
	}
	other, loud := "other.1", "LOUD"
	for name, err := range map[string]error{
		"another's allocation": ship(ann(), &apiv1.TaskLog{TaskId: id, AllocationId: &other}),
		"no level":             ship(ann(), &apiv1.TaskLog{TaskId: id, Level: &loud}),
	} {
		if status.Of(err) != status.InvalidArgument {
			t.Errorf("%s: got %v, want InvalidArgument", name, err)
		}
	}
	if err := ship(bob(), &apiv1.TaskLog{TaskId: id}); status.Of(err) != status.PermissionDenied {
		t.Errorf("another user: got %v, want PermissionDenied", err)
	}
	got := m.lines(id)
	if d := cmp.Diff(got[len(got)-3:], []string{" one", " two", "ERROR three"}); d != "" {
		t.Errorf("-got +want:\n%s", d)
	}
}

// The output of programs contains its rank and level as text. A log stores both as fields, whether the
// line came from a container or through the API, but of a command's container only what can be undone.
func TestRanksAndLevelsAreParsed(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId()
	a := first(id)
	m.assign(a, 2)
	_, err := m.tasks.AppendLogs(t.Context(), "a1", &agentv1.Logs{
		ContainerId: string(containerID(a, 1)), AllocationId: string(a),
		Lines: []*agentv1.Line{{Text: []byte("[rank=3] WARNING: hot")}, {Text: []byte("WARNING: hot")}, {Text: []byte("plain")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	rank, level := int32(7), "INFO"
	err = m.tasks.Ship(t.Context(), ann(), &apiv1.PostTaskLogsRequest{Logs: []*apiv1.TaskLog{
		{TaskId: id, Log: "\r[rank=4] ERROR: a\r[rank=5] b\r\n"},
		{TaskId: id, Log: "[rank=1] INFO: read by the sender\n", RankId: &rank},
		{TaskId: id, Log: "ERROR: read by the sender\n", Level: &level},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e, err := range m.logs.Query(t.Context(), log.Filter{Task: id, Sources: []string{"", "task"}}) {
		if err != nil {
			t.Fatal(err)
		}
		_, message, _ := strings.Cut(e.Message(), "Z] ")
		got = append(got, strings.TrimLeft(strings.TrimSpace(message[8:]), " "))
	}
	want := []string{
		"[rank=3] || WARNING: hot", "[rank=1] || WARNING: hot", "[rank=1] || plain", "[rank=4] || ERROR: a", "[rank=5] || b",
		"[rank=7] || [rank=1] INFO: read by the sender", "|| INFO: ERROR: read by the sender",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("-got +want:\n%s", d)
	}
}

func TestEndedTasksLeaveTheListAndKeepTheirLog(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	req := command(t, `{"entrypoint":["x"],"description":"x"}`)
	req.Files = []*apiv1.File{{Path: "a", Type: 48, Content: []byte("x")}}
	r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := r.GetCommand().GetId()
	if data := m.context(id); len(data) == 0 {
		t.Error("got no files")
	}
	m.must(life(m, id)...)
	for _, tt := range []struct {
		after time.Duration
		n     int
	}{{23 * time.Hour, 0}, {25 * time.Hour, 1}, {26 * time.Hour, 0}} {
		if n, err := m.tasks.Collect(t.Context(), time.Now().Add(tt.after), 0); n != tt.n || err != nil {
			t.Errorf("after %v: got %d and %v, want %d", tt.after, n, err, tt.n)
		}
	}
	if _, err := m.tasks.Command(m.t.Context(), id); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want it gone from the list", err)
	}
	m.restart()
	if d := cmp.Diff(m.lines(id), wantLines(id)); d != "" {
		t.Errorf("its log (-got +want):\n%s", d)
	}
	if _, err := m.tasks.Collect(t.Context(), time.Now().Add(50*time.Hour), 48*time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := m.tasks.Log(t.Context(), log.Filter{Task: id}, false); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want the log gone with the task", err)
	}
}

func TestPriority(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId()
	ask := func(u *apiv1.User, p int32) error {
		_, err := m.tasks.SetPriority(t.Context(), u, &apiv1.SetCommandPriorityRequest{CommandId: id, Priority: p})
		return err
	}
	if err := ask(ann(), 5); err != nil {
		t.Error(err)
	}
	for name, tt := range map[string]struct{ got, want error }{
		"0":        {ask(ann(), 0), status.New(status.InvalidArgument, "")},
		"100":      {ask(ann(), 100), status.New(status.InvalidArgument, "")},
		"not mine": {ask(bob(), 5), status.New(status.PermissionDenied, "")},
	} {
		if status.Of(tt.got) != status.Of(tt.want) {
			t.Errorf("%s: got %v, want %v", name, tt.got, status.Of(tt.want))
		}
	}
	m.machine = newMachine()
	m.restart()
	if a, _ := m.machine.Allocation(first(id)); a.Request.Priority != 5 {
		t.Errorf("after a restart: got priority %d, want 5", a.Request.Priority)
	}
}

func TestLaunchFailsBeforeAttach(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.stop()
	m.open()
	_, err := m.tasks.Launch(t.Context(), ann(), command(t, `{"entrypoint":["x"]}`), nil)
	if status.Of(err) != status.Unavailable || errors.Is(err, errRefused) {
		t.Errorf("got %v, want Unavailable", err)
	}
}
