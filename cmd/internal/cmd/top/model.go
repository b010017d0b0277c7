package top

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// model is what is shown of a cluster. It changes by messages only:
//
//	        ┌──────────── dueMsg, after a while ◀── lookedMsg ◀─┐
//	        ▼                                                   │
//	looking at the master ──────────────────────────────────────┘
//
//	        ┌── enter ──▶ the log fills the screen ──┐
//	tasks ──┤                                        ├──▶ tasks
//	  ▲     └── tab ──▶ machines ── tab ─────────────┘
//	  └─ q, ctrl+c: it ends, from everywhere
type model struct {
	ways
	snapshot snapshot
	// away is why the last look failed; the snapshot is older then.
	away error

	width, height int
	focus         focus
	// machine and task are the ids of what is selected, which stays when rows move.
	machine, task string
	// wholeLog shows the log alone.
	wholeLog bool
	log      []string
	logErr   error
}

// focus is the table in which the arrows move.
type focus string

const (
	onTasks    focus = "tasks"
	onMachines focus = "machines"
)

// ways are how the model comes to know more; each is a command that ends in a message.
type ways struct {
	url     string
	look    tea.Cmd
	wait    func() tea.Cmd
	readLog func(task string) tea.Cmd
}

// lookedMsg is what the master said.
type lookedMsg struct {
	snapshot snapshot
	err      error
}

// dueMsg means that it is time to look again.
type dueMsg struct{}

// logMsg is the end of a task's log.
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

// Init reads the first log and looks again after a while.
func (m *model) Init() tea.Cmd { return tea.Batch(m.wait(), m.readSelected()) }

// Update is the model after a message.
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

// showSnapshot shows another snapshot; what was selected stays so while it is there.
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
	case "q", "ctrl+c":
		return tea.Quit
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

// moveSelection selects the row before or after in the table that has the focus.
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

// rowIDs are the rows of a table.
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
