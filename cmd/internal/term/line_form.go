package term

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// shownChoices is how many choices fit above the question without scrolling it off
// a small screen.
const shownChoices = 15

// lineForm asks for the fields of a form line by line.
type lineForm struct{ *Streams }

// fillLine asks for a field until an answer is good; back is whether there is a question
// before, to which a person may go.
//
// It writes line by line and asks the terminal nothing: it works over the slowest
// connection, in a screen reader, and leaves what was answered on the screen.
func (s lineForm) fillLine(ctx context.Context, f Field, back bool) (string, error) {
	if s.CanAsk() {
		s.introduce(f)
	}
	all, text := f.Choices, f.Label
	if f.Default != "" {
		text += " [" + f.Default + "]"
	}
	for {
		if !s.CanAsk() {
			text = f.Label
		}
		answer, err := s.askQuestion(ctx, Question{Text: text, Flag: f.Flag}, ": ")
		if err != nil {
			return "", err
		}
		if back && answer == backWord {
			return "", errBack
		}
		if answer = f.pick(answer); answer == "" {
			s.complain(errNoAnswer)
			continue
		}
		if f.Check != nil {
			err = f.Check(ctx, answer)
		}
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err == nil:
			return answer, nil
		}
		s.complain(err)
		if f.Choices = choicesWith(all, answer); len(f.Choices) > 0 {
			s.choices(f.Choices)
		} else {
			f.Choices = all
		}
	}
}

// choicesWith are the choices of which part is a part.
func choicesWith(choices []Choice, part string) []Choice {
	var out []Choice
	for _, c := range choices {
		if strings.Contains(strings.ToLower(c.Value), strings.ToLower(part)) {
			out = append(out, c)
		}
	}
	return out
}

func (s lineForm) introduce(f Field) {
	s.Notef("")
	if f.Help != "" {
		s.Notef("%s", f.Help)
	}
	s.choices(f.Choices)
}

// choices shows what may be chosen by its number.
func (s lineForm) choices(all []Choice) {
	width := 0
	for _, c := range all[:min(len(all), shownChoices)] {
		width = max(width, len(c.Value))
	}
	for i, c := range all {
		if i == shownChoices {
			s.Notef("      and %d more; a part of a name lists those that have it", len(all)-i)
			break
		}
		s.Notef("%s", strings.TrimRight(fmt.Sprintf("  %2d  %-*s  %s", i+1, width, c.Value, c.About), " "))
	}
}

// pick reads an answer: nothing is the default, a number that is shown a choice.
func (f Field) pick(answer string) string {
	if answer == "" {
		return f.Default
	}
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= min(len(f.Choices), shownChoices) {
		return f.Choices[n-1].Value
	}
	return answer
}

func (s lineForm) complain(err error) {
	s.Notef("  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
}

// backWord is the answer that goes back to the question before.
const backWord = "<"

// errBack means that a person wants to see the question before.
var errBack = errors.New("back to the question before")

// fillLines asks for the pages of a form, a line each.
func (s lineForm) fillLines(ctx context.Context, f Form) (Answers, error) {
	var answers Answers
	var asked []int // the pages of answers
	for page := 0; page < len(f.Pages); page++ {
		field, err := f.Pages[page].Field(ctx, answers)
		if err != nil {
			return nil, err
		}
		if field == nil {
			continue
		}
		value, err := s.fillLine(ctx, *field, len(asked) > 0)
		if errors.Is(err, errBack) {
			last := len(asked) - 1
			page, asked, answers = asked[last]-1, asked[:last], answers[:last]
			continue
		}
		if err != nil {
			return nil, err
		}
		asked = append(asked, page)
		answers = append(answers, Answer{f.Pages[page].Key, field.Label, field.Flag, value})
	}
	return answers, nil
}
