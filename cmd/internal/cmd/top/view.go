package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// View renders the screen: totals, machines, queue, the log of the selected task, and keys. Each table
// gets at most a third of the screen, and the log the remaining lines.
func (m *model) View() tea.View {
	top := []string{term.Bold.Paint(m.renderTitle()), m.renderCounts()}
	if m.away != nil {
		top = append(top, term.Red.Paint("as of "+m.snapshot.at.Format(time.TimeOnly)+": "+term.Harmless(m.away.Error())))
	}
	for _, p := range m.snapshot.problems {
		top = append(top, term.Red.Paint(term.Harmless(p)))
	}
	room := m.height - 1 // less the line of keys
	lines := append(top, m.renderBody(room-len(top))...)
	lines = fitLines(lines, room)
	lines = append(lines, term.Faint.Paint(m.renderKeys()))
	for i := range lines {
		lines[i] = term.CutLine(lines[i], m.width)
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	return v
}

// renderBody renders as many lines as there is room for.
func (m *model) renderBody(room int) []string {
	if m.wholeLog {
		return m.logPart(room)
	}
	third := max(room/3, 4)
	machines := m.renderTable("MACHINES", onMachines, m.machineTable(), m.machine, third)
	tasks := m.renderTable("QUEUE", onTasks, m.taskTable(), m.task, third)
	lines := append(machines, tasks...)
	return append(lines, m.logPart(room-len(lines))...)
}

// fitLines truncates or pads lines to the available room.
func fitLines(lines []string, room int) []string {
	room = max(room, 0)
	for len(lines) < room {
		lines = append(lines, "")
	}
	return lines[:room]
}

func (m *model) renderTitle() string { return "det-deploy top  " + m.url }

func (m *model) renderCounts() string {
	used, slots, running, waiting := 0, 0, 0, 0
	for _, one := range m.snapshot.machines {
		used, slots = used+one.used, slots+one.slots
	}
	for _, one := range m.snapshot.tasks {
		if one.state == "queued" {
			waiting++
		} else {
			running++
		}
	}
	return fmt.Sprintf("%s · %d of %d slots used · %s running, %d waiting · %s",
		term.Count(len(m.snapshot.machines), "machine"), used, slots, term.Count(running, "task"), waiting, m.snapshot.at.Format(time.TimeOnly))
}

func (m *model) machineTable() *term.Table {
	t := term.NewTable("MACHINE", "POOL", "STATE", "SLOTS", "TYPE", "COST/H", "FOR")
	for _, one := range m.snapshot.machines {
		slots := ""
		if one.slots > 0 {
			slots = fmt.Sprintf("%d/%d", one.used, one.slots)
		}
		t.Row(one.id, one.pool, one.state, slots, one.instance, one.price, m.since(one.since))
	}
	return t
}

func (m *model) taskTable() *term.Table {
	t := term.NewTable("TASK", "NAME", "USER", "POOL", "STATE", "SLOTS", "FOR", "REASON")
	for _, one := range m.snapshot.tasks {
		t.Row(one.id[:min(8, len(one.id))], term.CutLine(term.Harmless(one.name), 20), one.user, one.pool, one.state,
			fmt.Sprintf("%d/%d", one.held, one.asked), m.since(one.submitted), one.reason)
	}
	return t
}

// since formats the time between t and the snapshot.
func (m *model) since(t time.Time) string {
	d := m.snapshot.at.Sub(t)
	switch {
	case t.Unix() <= 0 || d < 0:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
}

// renderTable renders a blank line, the title and the rows around the selected one in the available room.
func (m *model) renderTable(title string, of focus, t *term.Table, selected string, room int) []string {
	head, rows := t.Lines()
	at := slices.Index(m.rowIDs(of), selected)
	from, to := visibleRows(at, len(rows), room-3)
	lines := []string{"", term.Bold.Paint(title) + hiddenRows(from, len(rows)-to), "  " + term.Faint.Paint(head)}
	for i := from; i < to; i++ {
		line := "  " + rows[i]
		if i == at {
			line = "> " + rows[i]
			if m.focus == of {
				line = term.Reversed.Paint(term.CutLine(line, m.width))
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// visibleRows returns the range of rows to show, which includes the selected one.
func visibleRows(selected, n, room int) (from, to int) {
	room = max(room, 1)
	from = max(0, min(selected-room/2, n-room))
	return from, min(n, from+room)
}

// hiddenRows returns text with the number of rows above and below the visible ones.
func hiddenRows(above, below int) string {
	if above+below == 0 {
		return ""
	}
	return fmt.Sprintf("  %d more above, %d below", above, below)
}

// logPart renders the last lines of the selected task's log.
func (m *model) logPart(room int) []string {
	if m.task == "" || room < 3 {
		return nil
	}
	lines := []string{"", term.Bold.Paint("LOG") + "  " + m.task}
	if m.logErr != nil {
		return append(lines, term.Red.Paint("  "+term.Harmless(m.logErr.Error())))
	}
	for _, line := range m.log[max(0, len(m.log)-room+2):] {
		lines = append(lines, "  "+line)
	}
	return lines
}

// renderKeys lists the available keys.
func (m *model) renderKeys() string {
	if m.wholeLog {
		return "↑/↓ other task · esc back · q quit"
	}
	other := map[focus]string{onTasks: "machines", onMachines: "queue"}[m.focus]
	return "↑/↓ select · tab " + other + " · enter whole log · q quit"
}
