package top

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// model is the displayed state of a cluster. It changes only by messages:
//
//	        ┌──────────── dueMsg, after a while ◀── lookedMsg ◀─┐
//	        ▼                                                   │
//	polling the master ─────────────────────────────────────────┘
//
//	        ┌── enter ──▶ the log fills the screen ──┐
//	tasks ──┤                                        ├──▶ tasks
//	  ▲     └── tab ──▶ machines ── tab ─────────────┘
//	  └─ q quits and ctrl+c interrupts in every state
type model struct {
	ways
	snapshot snapshot
	// away is the error of the last poll; the snapshot is then outdated.
	away error

	width, height int
	focus         focus
	// machine and task are the IDs of the selected rows. They remain selected if rows move.
	machine, task string
	// wholeLog shows only the log.
	wholeLog bool
	log      []string
	logErr   error
}

// focus is the table that the arrow keys scroll.
type focus string

const (
	onTasks    focus = "tasks"
	onMachines focus = "machines"
)

// ways are the commands by which the model gets data. Each of them results in a message.
type ways struct {
	url     string
	look    tea.Cmd
	wait    func() tea.Cmd
	readLog func(task string) tea.Cmd
}

// lookedMsg is the result of a poll.
type lookedMsg struct {
	snapshot snapshot
	err      error
}

// dueMsg triggers the next poll.
type dueMsg struct{}

// logMsg contains the last lines of a task's log.
type logMsg struct {
	task  string
	lines []string
	err   error
}

func newModel(first snapshot, w ways) *model {
	m := &model{ways: w, width: 80, height: 24, focus: onTasks}
	m.showSnapshot(first)
	return m
}

// Init reads the first log and schedules the next poll.
func (m *model) Init() tea.Cmd { return tea.Batch(m.wait(), m.readSelected()) }

// Update returns the model changed by a message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case dueMsg:
		return m, m.look
	case lookedMsg:
		m.away = msg.err
		if msg.err == nil {
			m.showSnapshot(msg.snapshot)
		}
		return m, tea.Batch(m.wait(), m.readSelected())
	case logMsg:
		if msg.task == m.task {
			m.log, m.logErr = msg.lines, msg.err
		}
	case tea.KeyPressMsg:
		return m, m.pressKey(msg.String())
	}
	return m, nil
}

// showSnapshot replaces the snapshot. The selection is kept if the selected rows still exist.
func (m *model) showSnapshot(s snapshot) {
	m.snapshot = s
	if ids := m.rowIDs(onMachines); !slices.Contains(ids, m.machine) {
		m.machine = first(ids)
	}
	if ids := m.rowIDs(onTasks); !slices.Contains(ids, m.task) {
		m.selectTask(first(ids))
	}
}

func (m *model) pressKey(key string) tea.Cmd {
	switch key {
	case "q":
		return tea.Quit
	case "ctrl+c":
		return tea.Interrupt
	case "tab":
		m.focus = map[focus]focus{onTasks: onMachines, onMachines: onTasks}[m.focus]
	case "enter":
		m.wholeLog = m.task != "" && !m.wholeLog
	case "esc":
		m.wholeLog = false
	case "up", "k":
		return m.moveSelection(-1)
	case "down", "j":
		return m.moveSelection(1)
	}
	return nil
}

// moveSelection moves the selection in the focused table.
func (m *model) moveSelection(by int) tea.Cmd {
	ids := m.rowIDs(m.focus)
	if len(ids) == 0 {
		return nil
	}
	if m.focus == onMachines && !m.wholeLog {
		m.machine = ids[clamp(slices.Index(ids, m.machine)+by, len(ids))]
		return nil
	}
	ids = m.rowIDs(onTasks)
	if len(ids) == 0 {
		return nil
	}
	next := ids[clamp(slices.Index(ids, m.task)+by, len(ids))]
	if next == m.task {
		return nil
	}
	m.selectTask(next)
	return m.readSelected()
}

func (m *model) selectTask(id string) { m.task, m.log, m.logErr = id, nil, nil }

func (m *model) readSelected() tea.Cmd {
	if m.task == "" {
		return nil
	}
	return m.readLog(m.task)
}

// rowIDs returns the IDs of a table's rows.
func (m *model) rowIDs(of focus) []string {
	var out []string
	if of == onMachines {
		for _, one := range m.snapshot.machines {
			out = append(out, one.id)
		}
		return out
	}
	for _, one := range m.snapshot.tasks {
		out = append(out, one.id)
	}
	return out
}

func first(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

func clamp(i, n int) int { return max(0, min(i, n-1)) }
