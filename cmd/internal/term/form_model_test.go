package term

import (
	"context"
	"errors"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// asked returns a form with the questions name and place.
func asked() *formModel {
	m := &formModel{width: 80, height: 24, form: Form{Pages: []Page{{Key: "name"}, {Key: "place"}}}}
	m.load = func(turn, page int, _ Answers) tea.Cmd {
		return func() tea.Msg {
			return fieldMsg{turn: turn, field: &Field{Label: m.form.Pages[page].Key, Check: refuseBad}}
		}
	}
	m.check = func(turn int, f Field, answer string, _ time.Duration) tea.Cmd {
		return func() tea.Msg { return checkedMsg{turn, answer, f.Check(context.Background(), answer)} } //nolint:forbidigo // it waits for nothing
	}
	m.first = &Field{Label: "name", Check: refuseBad}
	m.Init()
	return m
}

var errBad = errors.New("is bad")

func refuseBad(_ context.Context, answer string) error {
	if answer == "bad" {
		return errBad
	}
	return nil
}

// enter types an answer and runs the resulting check and load.
func enter(m *formModel, answer string) {
	for _, r := range answer {
		m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	for cmd := m.submit(); cmd != nil; {
		msg := cmd()
		if _, ended := msg.(tea.QuitMsg); ended {
			return
		}
		_, cmd = m.Update(msg)
		if _, next := msg.(fieldMsg); next {
			return
		}
	}
}

func TestFormKeepsAnswersAndGoesBack(t *testing.T) {
	t.Parallel()
	m := asked()
	enter(m, "bad")
	if !errors.Is(m.checked.err, errBad) || len(m.answers) != 0 {
		t.Fatalf("got %v and %v, want the refusal and no answer", m.checked.err, m.answers)
	}
	enter(m, "ly") // completes the valid answer "badly"
	if got, _ := m.answers.Get("name"); got != "badly" || m.entry.field.Label != "place" {
		t.Fatalf("got %v, want the answer and the next question", m.answers)
	}
	m.Update(m.goBack()())
	if len(m.answers) != 0 || m.entry.currentAnswer() != "badly" {
		t.Errorf("got %v and %q, want the first question with its old answer", m.answers, m.entry.currentAnswer())
	}
	m.Update(checkedMsg{turn: m.turn - 1, answer: "badly", err: errBad})
	if m.checked.err != nil {
		t.Error("got the result for another question")
	}
	enter(m, "")
	enter(m, "here")
	if got, _ := m.answers.Get("place"); got != "here" || !m.ended || m.err != nil {
		t.Errorf("got %v, ended %t, %v; want both answers and the end", m.answers, m.ended, m.err)
	}
}

func TestCtrlCInterruptsForm(t *testing.T) {
	t.Parallel()
	m := asked()
	m.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	if !m.ended || !errors.Is(m.err, context.Canceled) {
		t.Errorf("got %v, want %v", m.err, context.Canceled)
	}
}

func TestResizedFormKeepsChoice(t *testing.T) {
	t.Parallel()
	m := asked()
	m.takeField(fieldMsg{turn: m.turn, field: &Field{Label: "name", Check: refuseBad, Choices: []Choice{{Value: "bad"}, {Value: "good"}}}})
	for _, r := range "bad" {
		m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	if m.entry.currentAnswer() != "bad" {
		t.Fatalf("got %q, want the typed text", m.entry.currentAnswer())
	}
	m.Update(tea.KeyPressMsg{Code: tea.KeyDown})
	m.Update(m.check(m.turn, m.entry.field, "good", 0)())
	m.Update(tea.WindowSizeMsg{Width: 40, Height: 12})
	if m.entry.currentAnswer() != "good" || !m.checked.known || m.checked.answer != "good" {
		t.Fatalf("got %q, checked %+v, want the choice and its result", m.entry.currentAnswer(), m.checked)
	}
	m.submit()
	if got, _ := m.answers.Get("name"); got != "good" {
		t.Errorf("got %q, want the shown one", got)
	}
}
