package term

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// shownChoices is the maximum number of choices that fit on a small screen together with the question.
const shownChoices = 15

// lineForm asks the questions of a form line by line.
type lineForm struct{ *Streams }

// fillLine asks for a field until an answer is valid. back reports whether the user can return to a
// previous question.
//
// It uses plain lines without terminal sequences, so that it works over slow connections and in screen
// readers and leaves the answers on the screen.
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

// choicesWith returns the choices with part in their value or in what is known about them.
func choicesWith(choices []Choice, part string) []Choice {
	var out []Choice
	for _, c := range choices {
		if strings.Contains(strings.ToLower(c.Value+"\n"+c.About+"\n"+c.Words), strings.ToLower(part)) {
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

// choices prints the numbered choices.
func (s lineForm) choices(all []Choice) {
	width := 0
	for _, c := range all[:min(len(all), shownChoices)] {
		width = max(width, len(c.Value))
	}
	for i, c := range all {
		if i == shownChoices {
			s.Notef("      and %d more; type a part of a name to filter", len(all)-i)
			break
		}
		s.Notef("%s", strings.TrimRight(fmt.Sprintf("  %2d  %-*s  %s", i+1, width, c.Value, c.About), " "))
	}
}

// pick resolves an answer: empty to the default, and the number of a shown choice to its value.
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

// backWord is the answer that returns to the previous question.
const backWord = "<"

// errBack reports that the user wants to return to the previous question.
var errBack = errors.New("back to the previous question")

// fillLines asks the questions of a form line by line.
func (s lineForm) fillLines(ctx context.Context, f Form) (Answers, error) {
	var answers Answers
	var asked []int // the page of each answer
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
