package launcher

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
)

const (
	// consoleWait bounds the call for a machine's console output, which must not delay the termination
	// of an unusable machine.
	consoleWait = 20 * time.Second
	// consoleLines is the number of lines in the master's log, reasonLines in the history.
	consoleLines = 30
	reasonLines  = 3
	reasonLength = 400
)

// readConsole reads the last boot lines of a machine that never joined, once, before it is terminated.
// It reports whether the termination has to wait for that.
func (p *platform) readConsole(ctx context.Context, m elastic.Machine) bool {
	c, can := p.pool.Instances.(cloud.Console)
	if !can || m.Cause != elastic.CauseNoJoin || p.examined[m.ID] {
		return false
	}
	p.examined[m.ID], p.ending[m.ID] = true, true
	p.meters.calls.WithLabelValues("console").Inc()
	p.startCall(ctx, callWait, func(ctx context.Context) func(time.Time) {
		ctx, cancel := context.WithTimeout(ctx, consoleWait)
		defer cancel()
		text, err := c.Console(ctx, m.ID)
		return func(time.Time) { p.handleConsole(m.ID, text, err) }
	})
	return true
}

func (p *platform) handleConsole(id cloud.InstanceID, text string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ending, id)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	switch {
	case err != nil:
		p.log.Warn("machine never joined; cannot read its boot log", "instance_id", id, "err", err)
	default:
		p.log.Warn("machine never joined", "instance_id", id, "last_lines", strings.Join(lastLines(lines, consoleLines), "\n"))
	}
	if m := p.fleet.Machines[id]; m != nil {
		m.Reason += "; " + diagnoseJoin(lines, err)
		p.ledger.unsaved.machines[id] = true
	}
}

// diagnoseJoin returns the likely reason why a machine never joined, in one line.
func diagnoseJoin(lines []string, err error) string {
	if err != nil {
		return fmt.Sprintf("its boot log cannot be read: %v", err)
	}
	text := strings.Join(lastLines(lines, reasonLines), " / ")
	if text == "" {
		return "its boot log is empty"
	}
	if len(text) > reasonLength {
		text = "…" + strings.ToValidUTF8(text[len(text)-reasonLength:], "")
	}
	return "its last lines: " + text
}

func lastLines(lines []string, n int) []string { return lines[max(len(lines)-n, 0):] }
