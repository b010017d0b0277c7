package term

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Field is one thing that a person is asked.
type Field struct {
	// Label names it: "Region".
	Label string
	// Help is a line that says what it is for.
	Help string
	// Flag answers it where nobody can be asked: "--region".
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

// shownChoices is how many choices fit above the question without scrolling it off
// a small screen.
const shownChoices = 15

// Fill asks for a field until an answer is good. Without a terminal it is a usage
// error that names the flag.
//
// It writes line by line and asks the terminal nothing: it works over the slowest
// connection, in a screen reader, and leaves what was answered on the screen.
func (s *Streams) Fill(ctx context.Context, f Field) (string, error) {
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
		answer, err := s.ask(ctx, Question{Text: text, Flag: f.Flag}, ": ")
		if err != nil {
			return "", err
		}
		if answer = f.pick(answer); answer == "" {
			s.complain(fmt.Errorf("an answer is needed"))
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
		if f.Choices = having(all, answer); len(f.Choices) > 0 {
			s.choices(f.Choices)
		} else {
			f.Choices = all
		}
	}
}

// having are the choices of which part is a part.
func having(choices []Choice, part string) []Choice {
	var out []Choice
	for _, c := range choices {
		if strings.Contains(strings.ToLower(c.Value), strings.ToLower(part)) {
			out = append(out, c)
		}
	}
	return out
}

func (s *Streams) introduce(f Field) {
	s.Notef("")
	if f.Help != "" {
		s.Notef("%s", f.Help)
	}
	s.choices(f.Choices)
}

// choices shows what may be chosen by its number.
func (s *Streams) choices(all []Choice) {
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

func (s *Streams) complain(err error) {
	s.Notef("  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
}
