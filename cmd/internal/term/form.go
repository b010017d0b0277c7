package term

import (
	"context"
	"errors"
)

// Form is a sequence of questions.
type Form struct {
	// Title describes the purpose, such as "Create a cluster on AWS".
	Title string
	Pages []Page
	// Summary summarizes the answers so far, one item per line. It is called after each answer and must
	// not block. It may be nil.
	Summary func(Answers) []string
	// Lines asks line by line because other output goes to the same terminal.
	Lines bool
}

// Page is a question of a form.
type Page struct {
	// Key identifies its answer.
	Key string
	// Field returns the question for the preceding answers, or nil to skip the page. It may block, is
	// called again after a step back, and is never called concurrently.
	Field func(ctx context.Context, before Answers) (*Field, error)
}

// Field is a question.
type Field struct {
	// Label is its name, such as "Region".
	Label string
	// Help is a one-line description.
	Help string
	// Flag is the flag that answers it without a terminal, such as "--region".
	Flag string
	// Default is used for an empty answer. Without a default, an answer is required.
	Default string
	// Choices are suggested answers. Other answers are allowed if Check accepts them. If Check rejects an
	// answer that is part of some choices, those are shown.
	Choices []Choice
	// Check validates an answer. It may make API calls. Its error is shown and the question repeated.
	Check func(ctx context.Context, answer string) error
}

// Choice is a suggested answer with a description.
type Choice struct {
	Value, About string
	// Words are further words by which the user finds the choice.
	Words string
}

// Answers holds the answers in the order of the questions.
type Answers []Answer

// Answer is the answer to a page.
type Answer struct {
	// Key is the key of the page. Label and Flag are those of the field.
	Key, Label, Flag string
	Value            string
}

// Get returns the answer to a page and whether the page was answered.
func (a Answers) Get(key string) (string, bool) {
	for _, one := range a {
		if one.Key == key {
			return one.Value, true
		}
	}
	return "", false
}

// FillForm asks the questions of a form. On a capable terminal it draws the form, and the user can go
// back; otherwise it asks line by line. Without a terminal it returns a usage error that names the flag of
// the first question.
func (s *Streams) FillForm(ctx context.Context, f Form) (Answers, error) {
	if s.canDraw() && !f.Lines {
		return s.drawForm(ctx, f)
	}
	return lineForm{s}.fillLines(ctx, f)
}

// Fill asks a single question.
func (s *Streams) Fill(ctx context.Context, f Field) (string, error) {
	one := Page{Key: f.Label, Field: func(context.Context, Answers) (*Field, error) { return &f, nil }}
	answers, err := s.FillForm(ctx, Form{Pages: []Page{one}})
	answer, _ := answers.Get(f.Label)
	return answer, err
}

var errNoAnswer = errors.New("an answer is required")
