package term

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// View renders the form. After the end, the answers remain on the screen.
func (m *formModel) View() tea.View {
	var b strings.Builder
	if m.form.Title != "" {
		b.WriteString(m.cut(Bold.Paint(m.form.Title)) + "\n\n")
	}
	m.writeAnswers(&b)
	if m.ended {
		return tea.NewView(b.String())
	}
	if m.entry == nil {
		b.WriteString("  " + Faint.Paint("loading …") + "\n")
	} else {
		m.writeQuestion(&b)
	}
	m.writeSummary(&b)
	b.WriteString("\n" + m.cut(Faint.Paint(m.keys())))
	return tea.NewView(b.String())
}

func (m *formModel) cut(line string) string { return CutLine(line, m.width) }

// CutLine truncates a line to a width and marks the end with an ellipsis.
func CutLine(line string, width int) string { return ansi.Truncate(line, max(width, 1), "…") }

func (m *formModel) writeAnswers(b *strings.Builder) {
	width := 0
	for _, a := range m.answers {
		width = max(width, utf8.RuneCountInString(a.Label))
	}
	for _, a := range m.answers {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(a.Label))
		b.WriteString(m.cut("  "+a.Label+pad+"  "+oneLine(a.Value)) + "\n")
	}
	if len(m.answers) > 0 {
		b.WriteString("\n")
	}
}

// writeQuestion renders the question with the result of its check, and the input.
func (m *formModel) writeQuestion(b *strings.Builder) {
	f := m.entry.field
	b.WriteString(m.cut(Bold.Paint(f.Label)+"  "+m.judgement()) + "\n")
	m.writeWrapped(b, f.Help, Faint)
	b.WriteString(m.entry.renderView() + "\n")
	if m.checked.err != nil {
		m.writeWrapped(b, "✗ "+m.checked.err.Error(), Red)
	}
}

func (m *formModel) writeWrapped(b *strings.Builder, text string, style Style) {
	for line := range strings.SplitSeq(ansi.Wordwrap(oneLine(text), max(m.width, 20), ""), "\n") {
		if line != "" {
			b.WriteString(style.Paint(line) + "\n")
		}
	}
}

// judgement renders the result of checking the current answer.
func (m *formModel) judgement() string {
	answer := m.entry.currentAnswer()
	switch {
	case m.checked.err != nil:
		return Red.Paint("✗ " + oneLine(answer))
	case answer == "":
		return ""
	case m.checked.known:
		return Green.Paint("✓ " + oneLine(answer))
	default:
		return Faint.Paint("… checking " + oneLine(answer))
	}
}

func (m *formModel) writeSummary(b *strings.Builder) {
	if m.form.Summary == nil {
		return
	}
	lines := m.form.Summary(m.withCurrent())
	if len(lines) == 0 {
		return
	}
	b.WriteString("\n")
	for _, line := range lines {
		b.WriteString(m.cut("  "+oneLine(line)) + "\n")
	}
}

// withCurrent returns the answers including the current one if it is valid.
func (m *formModel) withCurrent() Answers {
	if m.entry == nil || !m.checked.known || m.checked.err != nil {
		return m.answers
	}
	f := m.entry.field
	current := Answer{m.form.Pages[m.page].Key, f.Label, f.Flag, m.checked.answer}
	return append(m.answers[:len(m.answers):len(m.answers)], current)
}

// keys lists the available keys.
func (m *formModel) keys() string {
	keys := []string{"ctrl+c quit"}
	if len(m.asked) > 0 {
		keys = append([]string{"esc back"}, keys...)
	}
	if m.entry != nil {
		keys = append([]string{"enter next"}, keys...)
		if len(m.entry.field.Choices) > 0 {
			keys = append([]string{"↑/↓ choose", "type to filter"}, keys...)
		}
	}
	return strings.Join(keys, " · ")
}
