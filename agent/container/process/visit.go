package process

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/agent/container/inside"
)

// visit is the file of a program that has entered a task: its process ID and start time. If the agent
// is killed, nobody holds the other ends of the program's streams, and the next agent ends it.
type visit string

const visitPattern = "entered-*"

// newVisit returns an unused name.
func (d dir) newVisit() visit { return visit(d.filePath("entered-" + rand.Text())) }

// note writes the file once the program runs. It is not written on a full disk, which somebody may
// enter the task to clean up, nor for a program that has ended.
func (v visit) note(pid int) {
	if started, err := inside.StartTime(pid); err == nil {
		_ = os.WriteFile(string(v), []byte(strconv.Itoa(pid)+" "+started+"\n"), 0o600)
	}
}

func (v visit) end() { _ = os.Remove(string(v)) } // an agent that finds it later sees that the program has ended

// program returns the process ID of the program if it is running.
func (v visit) program() (pid int, runs bool) {
	data, err := os.ReadFile(string(v))
	if err != nil {
		return 0, false
	}
	id, started, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	if pid, err = strconv.Atoi(id); err != nil || started == "" {
		return 0, false
	}
	now, err := inside.StartTime(pid)
	return pid, err == nil && now == started
}

// endVisits ends the programs that an earlier agent started in its tasks. One that cannot be ended ends
// with its task.
func (r *Runtime) endVisits(ctx context.Context) {
	ids, _ := r.List(ctx, "") // whoever lists the tasks next gets the error
	for _, id := range ids {
		r.containerDir(id).endVisits(ctx)
	}
}

func (d dir) endVisits(ctx context.Context) {
	if !d.isOwn() {
		return
	}
	files, _ := filepath.Glob(d.filePath(visitPattern)) // the pattern is valid
	for _, f := range files {
		v := visit(f)
		if pid, runs := v.program(); runs {
			_ = inside.KillMembers(pid, d.memberCheck(ctx))
		}
		v.end()
	}
}

// memberCheck returns a function that reports whether a process belongs to the task.
func (d dir) memberCheck(ctx context.Context) func(pid int) bool {
	if !d.hasBundle() {
		return func(pid int) bool { return listMarked(pid, markVariable(d)) }
	}
	first, _, _ := d.pid(ctx) // without a first process the namespace has ended
	own, err := pidNamespace(first)
	return func(pid int) bool {
		theirs, theirErr := pidNamespace(pid)
		return err == nil && theirErr == nil && theirs == own
	}
}
