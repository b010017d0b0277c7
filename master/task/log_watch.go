package task

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// LogWatcher is implemented by owners that react to the output of their tasks. After an error the lines
// are not stored, and are sent again.
type LogWatcher interface {
	// LogPolicies returns the policies for the lines of a task. It is called with the first lines, and
	// again after a restart.
	LogPolicies(ctx context.Context, id rm.TaskID) ([]container.LogPolicy, error)
	// LogMatched reports a matching line, once for each policy, run and machine, and perhaps again after
	// a restart. All matches of a run are reported before its end.
	LogMatched(ctx context.Context, m LogMatch) error
}

// LogMatch is a line that matches a policy.
type LogMatch struct {
	Task rm.TaskID
	Run  int
	// Agent is the machine that the line came from.
	Agent  rm.AgentID
	Policy container.LogPolicy
	Line   string
	At     time.Time
}

// logWatch holds the log policies of a task and the matches reported so far.
type logWatch struct {
	mu       sync.Mutex // guards the fields below
	asked    bool
	policies []logPattern
	told     map[string]bool
}

type logPattern struct {
	policy container.LogPolicy
	match  *regexp.Regexp
}

// watchLines reports the lines that match its policies to a task's owner, and records what the program of a
// kind prints about its readiness.
func (w *logWriter) watchLines(ctx context.Context, e *entry, a lifecycle.Allocation, b log.Batch) error {
	if err := w.noteReadiness(ctx, e, a, b.Lines); err != nil {
		return err
	}
	owner, found := w.reg.ownerOf(e.latestSnapshot().task.Kind)
	watcher, watches := owner.(LogWatcher)
	if !found || !watches || len(b.Lines) == 0 {
		return nil
	}
	l := &e.watch
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked {
		policies, err := watcher.LogPolicies(ctx, a.Task)
		if err != nil {
			return fmt.Errorf("get the log policies of task %s: %w", a.Task, err)
		}
		l.asked, l.policies, l.told = true, compilePolicies(policies), map[string]bool{}
	}
	agent := agentOf(a, b)
	for i, p := range l.policies {
		key := fmt.Sprintf("%d/%d/%s", a.Run, i, agent)
		if l.told[key] {
			continue
		}
		line, matches := firstMatch(p, b.Lines)
		if !matches {
			continue
		}
		err := watcher.LogMatched(ctx, LogMatch{
			Task: a.Task, Run: a.Run, Agent: agent, Policy: p.policy, Line: line.Text, At: line.At,
		})
		if err != nil {
			return fmt.Errorf("report a log policy match of task %s: %w", a.Task, err)
		}
		l.told[key] = true
	}
	return nil
}

// noteReadiness records that the program of a task has printed that it is ready, or that it waits.
func (w *logWriter) noteReadiness(ctx context.Context, e *entry, a lifecycle.Allocation, lines []log.Line) error {
	k := kindOf(e.latestSnapshot().task.Kind)
	if k.ready == "" || a.Ready {
		return nil
	}
	ready := slices.ContainsFunc(lines, func(l log.Line) bool { return strings.HasPrefix(l.Text, k.ready) })
	waiting := slices.ContainsFunc(lines, func(l log.Line) bool { return strings.HasPrefix(l.Text, k.waiting) })
	if !ready && (!waiting || a.Waiting) {
		return nil
	}
	now := w.cfg.Now()
	return w.records.changeAllocation(ctx, a.ID, func(a lifecycle.Allocation) lifecycle.Allocation { return a.Report(ready, now) })
}

// agentOf returns the machine that lines came from. Programs that send lines themselves may omit it.
func agentOf(a lifecycle.Allocation, b log.Batch) rm.AgentID {
	if b.Agent != "" {
		return rm.AgentID(b.Agent)
	}
	for _, c := range a.Containers {
		if b.Container == "" || string(c.ID) == b.Container {
			return c.Agent
		}
	}
	return ""
}

// compilePolicies compiles the policies. It skips those without a pattern, which only replace others by
// name.
func compilePolicies(list []container.LogPolicy) []logPattern {
	var out []logPattern
	for _, p := range list {
		re, err := compilePattern(p.Pattern)
		if p.Pattern == "" || err != nil { // it was checked when it was accepted
			continue
		}
		out = append(out, logPattern{p, re})
	}
	return out
}

// compilePattern compiles a pattern that may match anywhere in a line. It removes a leading and a
// trailing .*, which do not affect the match but make the search much slower.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if strings.Contains(pattern, `\Q`) {
		return regexp.Compile(pattern)
	}
	short := pattern
	if rest, found := strings.CutPrefix(short, ".*"); found && rest != "" && !strings.ContainsRune("?+*{", rune(rest[0])) {
		short = rest
	}
	if rest, found := strings.CutSuffix(short, ".*"); found && rest != "" && !strings.ContainsRune(`\[(|`, rune(rest[len(rest)-1])) {
		short = rest
	}
	if re, err := regexp.Compile(short); err == nil {
		return re, nil
	}
	return regexp.Compile(pattern)
}

// ownConfig is part of the line in which programs of trials print their configuration, whose patterns
// would match themselves.
const ownConfig = `"log_policies":`

func firstMatch(p logPattern, lines []log.Line) (log.Line, bool) {
	for _, l := range lines {
		if p.match.MatchString(l.Text) && !strings.Contains(l.Text, ownConfig) {
			return l, true
		}
	}
	return log.Line{}, false
}
