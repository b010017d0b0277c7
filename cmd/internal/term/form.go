package term

import (
	"context"
	"errors"
)

// Form is questions that follow each other.
type Form struct {
	// Title says what the answers are for: "Create a cluster on AWS".
	Title string
	Pages []Page
	// Summary says what the answers so far come to, a line each. It is called after each
	// answer and must not wait. It may be nil.
	Summary func(Answers) []string
	// Lines asks line by line, where something else writes on the screen too.
	Lines bool
}

// Page is one question of a form.
type Page struct {
	// Key names its answer.
	Key string
	// Field returns what is asked after the answers before it, or nil where nothing is to
	// be asked. It may take its time, is called again after a step back, and never twice at
	// a time.
	Field func(ctx context.Context, before Answers) (*Field, error)
}

// Field is one thing that a person is asked.
type Field struct {
	// Label names it: "Region".
	Label string
	// Help is a line that says what it is for.
	Help string
	// Flag answers it without a terminal: "--region".
	Flag string
	// Default is taken for an empty answer; without one there must be an answer.
	Default string
	// Choices are what is known to be good. An answer may be another one, if Check
	// takes it; where Check refuses what is a part of some, those are shown.
	Choices []Choice
	// Check judges an answer when it is given; it may ask others. Its error is
	// shown, and the field asked again.
	Check func(ctx context.Context, answer string) error
}

// Choice is a possible answer, with what helps to choose it.
type Choice struct {
	Value, About string
}

// Answers are what was answered, in the order of the questions.
type Answers []Answer

// Answer is what was answered to one page.
type Answer struct {
	// Key is the page's, Label and Flag the field's.
	Key, Label, Flag string
	Value            string
}

// Get returns the answer to a page, and whether the page was answered.
func (a Answers) Get(key string) (string, bool) {
	for _, one := range a {
		if one.Key == key {
			return one.Value, true
		}
	}
	return "", false
}

// FillForm asks for all pages of a form. On a terminal that can be drawn on, the form is
// drawn, and a person can go back; elsewhere it is lines. Without a terminal it is a usage
// error that names the flag of the first question.
func (s *Streams) FillForm(ctx context.Context, f Form) (Answers, error) {
	if s.canDraw() && !f.Lines {
		return s.drawForm(ctx, f)
	}
	return lineForm{s}.fillLines(ctx, f)
}

// Fill asks for one field.
func (s *Streams) Fill(ctx context.Context, f Field) (string, error) {
	one := Page{Key: f.Label, Field: func(context.Context, Answers) (*Field, error) { return &f, nil }}
	answers, err := s.FillForm(ctx, Form{Pages: []Page{one}})
	answer, _ := answers.Get(f.Label)
	return answer, err
}

var errNoAnswer = errors.New("an answer is needed")
