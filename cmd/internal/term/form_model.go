package term

import (
	"context"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// formModel draws a form. Its state changes only by messages:
//
//	loading ──fieldMsg──▶ asking ──enter──▶ asking, submitted ──checkedMsg: ok──▶ loading the next page ──…──▶ ended
//	   ▲                    │                       │                                    │ loading fails
//	   └──────── esc ───────┘ ◀───── error ─────────┘                                    └──▶ ended
//
// Ctrl-C ends it in every state. The blocking calls, load and check, are commands.
type formModel struct {
	form Form
	load func(turn, page int, before Answers) tea.Cmd
	// check validates an answer after a delay in which the user may continue typing.
	check func(turn int, f Field, answer string, after time.Duration) tea.Cmd

	width, height int
	// turn numbers the questions, so that late results for other questions are dropped.
	turn int
	page int
	// first is the first question.
	first *Field
	// entry is the current question, or nil while it is loading.
	entry   *entry
	answers Answers
	asked   []int // the page of each answer
	// prior is the answer removed by a step back.
	prior string

	checked   verdict
	submitted bool
	ended     bool
	err       error
}

// verdict is the result of checking an answer.
type verdict struct {
	answer string
	known  bool
	err    error
}

// fieldMsg is the question of a page; field is nil if the page is skipped.
type fieldMsg struct {
	turn  int
	field *Field
	err   error
}

// checkedMsg is the result of a check.
type checkedMsg struct {
	turn   int
	answer string
	err    error
}

// typingPause is the delay after the last key press before an answer is checked, because a check may call
// a cloud API.
const typingPause = 300 * time.Millisecond

// drawForm asks the questions of a form on the screen.
func (s *Streams) drawForm(ctx context.Context, f Form) (Answers, error) {
	first, field, err := firstField(ctx, f)
	if err != nil || field == nil {
		return nil, err
	}
	m := &formModel{form: f, page: first, first: field, width: 80, height: 24, load: loadField(ctx, f), check: checkAnswer(ctx)}
	if _, err := s.runModel(ctx, s.Err, m); err != nil {
		if ctx.Err() == nil {
			return nil, err
		}
		_ = m.interrupt() // the program has quit
	}
	return m.answers, m.err
}

// firstField returns the first question. A form without questions is not drawn.
func firstField(ctx context.Context, f Form) (int, *Field, error) {
	for i, p := range f.Pages {
		if field, err := p.Field(ctx, nil); field != nil || err != nil {
			return i, field, err
		}
	}
	return 0, nil, nil
}

func loadField(ctx context.Context, f Form) func(turn, page int, before Answers) tea.Cmd {
	var mu sync.Mutex // serializes calls of Field; one made before a step back may still be running
	return func(turn, page int, before Answers) tea.Cmd {
		return func() tea.Msg {
			mu.Lock()
			defer mu.Unlock()
			field, err := f.Pages[page].Field(ctx, before)
			return fieldMsg{turn, field, err}
		}
	}
}

func checkAnswer(ctx context.Context) func(int, Field, string, time.Duration) tea.Cmd {
	return func(turn int, f Field, answer string, after time.Duration) tea.Cmd {
		return tea.Tick(after, func(time.Time) tea.Msg {
			return dueMsg{turn, answer, func() tea.Msg {
				return checkedMsg{turn, answer, f.Check(ctx, answer)}
			}}
		})
	}
}

// dueMsg starts a check after its delay.
type dueMsg struct {
	turn   int
	answer string
	check  tea.Cmd
}

// Init shows the first question.
func (m *formModel) Init() tea.Cmd { return m.takeField(fieldMsg{turn: m.turn, field: m.first}) }

// loadPage loads the question of the current page, or quits after the last page.
func (m *formModel) loadPage() tea.Cmd {
	m.entry, m.checked, m.submitted = nil, verdict{}, false
	m.turn++
	if m.page >= len(m.form.Pages) {
		m.ended = true
		return tea.Quit
	}
	return m.load(m.turn, m.page, slices.Clone(m.answers))
}

// Update returns the form changed by a message.
func (m *formModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		if m.entry != nil {
			m.entry.resizeField(m.width, m.height)
		}
		return m, nil
	case fieldMsg:
		return m, m.takeField(msg)
	case dueMsg:
		if msg.turn == m.turn && m.entry != nil && msg.answer == m.entry.currentAnswer() {
			return m, msg.check
		}
		return m, nil
	case checkedMsg:
		return m, m.takeVerdict(msg)
	case tea.KeyPressMsg:
		switch msg.String() {
		case "ctrl+c":
			return m, m.interrupt()
		case "esc", "shift+tab":
			return m, m.goBack()
		case "enter", "tab":
			return m, m.submit()
		}
	}
	return m, m.updateEntry(msg)
}

// takeField shows the loaded question, or continues with the next page if there is none.
func (m *formModel) takeField(msg fieldMsg) tea.Cmd {
	switch {
	case msg.turn != m.turn:
		return nil
	case msg.err != nil:
		m.err, m.ended = msg.err, true
		return tea.Quit
	case msg.field == nil:
		m.page++
		return m.loadPage()
	}
	m.entry = newEntry(*msg.field, m.prior)
	m.prior = ""
	m.entry.resizeField(m.width, m.height)
	return tea.Batch(m.entry.input.Focus(), m.checkLater(0))
}

// updateEntry passes a message to the question and checks the changed answer.
func (m *formModel) updateEntry(msg tea.Msg) tea.Cmd {
	if m.entry == nil {
		return nil
	}
	before := m.entry.currentAnswer()
	cmd := m.entry.updateField(msg, m.width, m.height)
	if m.entry.currentAnswer() == before {
		return cmd
	}
	m.checked, m.submitted = verdict{}, false
	return tea.Batch(cmd, m.checkLater(typingPause))
}

// checkLater checks the answer after a delay. It skips empty answers and fields without a check.
func (m *formModel) checkLater(after time.Duration) tea.Cmd {
	answer := m.entry.currentAnswer()
	if answer == "" {
		return nil
	}
	if m.entry.field.Check == nil {
		m.checked = verdict{answer: answer, known: true}
		return nil
	}
	return m.check(m.turn, m.entry.field, answer, after)
}

func (m *formModel) takeVerdict(msg checkedMsg) tea.Cmd {
	if msg.turn != m.turn || m.entry == nil || msg.answer != m.entry.currentAnswer() {
		return nil
	}
	m.checked = verdict{msg.answer, true, msg.err}
	if !m.submitted {
		return nil
	}
	m.submitted = false
	return m.accept()
}

// submit accepts the answer if it is valid, or as soon as the check succeeds.
func (m *formModel) submit() tea.Cmd {
	if m.entry == nil {
		return nil
	}
	if answer := m.entry.currentAnswer(); answer == "" {
		m.checked = verdict{known: true, err: errNoAnswer}
		return nil
	}
	if m.checked.known {
		return m.accept()
	}
	m.submitted = true
	return m.checkLater(0)
}

// accept stores the valid answer and continues.
func (m *formModel) accept() tea.Cmd {
	if m.checked.err != nil {
		return nil
	}
	f := m.entry.field
	m.answers = append(m.answers, Answer{m.form.Pages[m.page].Key, f.Label, f.Flag, m.checked.answer})
	m.asked = append(m.asked, m.page)
	m.page++
	return m.loadPage()
}

// goBack removes the last answer and asks the question again.
func (m *formModel) goBack() tea.Cmd {
	last := len(m.asked) - 1
	if last < 0 {
		return nil
	}
	m.page, m.prior = m.asked[last], m.answers[last].Value
	m.asked, m.answers = m.asked[:last], m.answers[:last]
	return m.loadPage()
}

func (m *formModel) interrupt() tea.Cmd {
	m.ended, m.err = true, context.Canceled
	if m.entry != nil {
		m.err = &answerError{m.entry.field.Label, context.Canceled}
	}
	return tea.Quit
}
