package term

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
)

// entry is the current question: an input line and, below it, the choices that match the input.
type entry struct {
	field Field
	typed string
	input *huh.Input
	// list is nil if there are no choices; shown holds its contents.
	list  *huh.Select[string]
	shown []Choice
	// listed is the selected choice.
	listed string
}

// formLines is the maximum number of lines of a form without its choices.
const formLines = 17

// newEntry returns an entry for a field. prior is the previous answer after a step back.
func newEntry(f Field, prior string) *entry {
	e := &entry{field: f, listed: f.Default}
	if prior != "" {
		e.listed = prior
		if !e.hasChoice(prior) {
			e.typed = prior
		}
	}
	e.input = huh.NewInput().Prompt("> ").Value(&e.typed)
	if f.Default != "" && len(f.Choices) == 0 {
		e.input.Placeholder(f.Default)
	}
	e.input.WithTheme(plainTheme()).WithKeyMap(huh.NewDefaultKeyMap())
	e.narrow()
	return e
}

func (e *entry) hasChoice(value string) bool {
	for _, c := range e.field.Choices {
		if c.Value == value {
			return true
		}
	}
	return false
}

// plainTheme is huh's base theme without borders, in the terminal's own colors.
func plainTheme() huh.Theme {
	return huh.ThemeFunc(func(dark bool) *huh.Styles {
		t := huh.ThemeBase(dark)
		t.Focused.Base = t.Focused.Base.UnsetBorderStyle().UnsetBorderLeft().UnsetPaddingLeft()
		t.Focused.SelectedOption = t.Focused.SelectedOption.Bold(true)
		return t
	})
}

// resizeField adapts the field to the screen size. The choices get the remaining lines; the selection is
// unchanged.
func (e *entry) resizeField(width, height int) {
	e.input.WithWidth(width)
	e.drawList(width, height)
}

// narrow filters the choices by the input and keeps the selection or selects the first choice.
func (e *entry) narrow() {
	e.shown = e.field.Choices
	if e.typed != "" && !e.hasChoice(e.typed) {
		e.shown = choicesWith(e.field.Choices, strings.TrimSpace(e.typed))
	}
	if len(e.shown) > 0 {
		e.point()
	}
}

// drawList creates the list of the matching choices.
func (e *entry) drawList(width, height int) {
	e.list = nil
	if len(e.shown) == 0 {
		return
	}
	e.list = huh.NewSelect[string]().Value(&e.listed).Options(options(e.shown, width)...)
	e.list.WithTheme(plainTheme()).WithKeyMap(huh.NewDefaultKeyMap()).WithWidth(width)
	e.list.Height(min(len(e.shown), max(height-formLines, 3)))
	e.list.Focus()
}

// point selects the choice that equals the input, or else keeps the selection, or else selects the first
// choice.
func (e *entry) point() {
	if e.hasChoice(e.typed) {
		e.listed = e.typed
	}
	for _, c := range e.shown {
		if c.Value == e.listed {
			return
		}
	}
	e.listed = e.shown[0].Value
}

// options converts choices to huh options, one line each.
func options(choices []Choice, width int) []huh.Option[string] {
	longest := 0
	for _, c := range choices {
		longest = max(longest, len(c.Value))
	}
	out := make([]huh.Option[string], len(choices))
	for i, c := range choices {
		line := strings.TrimRight(fmt.Sprintf("%-*s  %s", longest, c.Value, c.About), " ")
		out[i] = huh.NewOption(CutLine(oneLine(line), width-2), c.Value)
	}
	return out
}

// currentAnswer returns the answer that Enter submits: the selected choice, or else the input, or else the
// default.
func (e *entry) currentAnswer() string {
	switch typed := strings.TrimSpace(e.typed); {
	case e.list != nil:
		return e.listed
	case typed != "":
		return typed
	default:
		return e.field.Default
	}
}

// updateField passes a key press or another message to the input or the list.
func (e *entry) updateField(msg tea.Msg, width, height int) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && isListKey(k.String()) {
		if e.list == nil {
			return nil
		}
		_, cmd := e.list.Update(msg)
		return cmd
	}
	before := e.typed
	_, cmd := e.input.Update(msg)
	if e.typed != before {
		e.narrow()
		e.drawList(width, height)
	}
	return cmd
}

// isListKey reports whether a key moves the selection. All other keys are input.
func isListKey(key string) bool { return key == "up" || key == "down" }

func (e *entry) renderView() string {
	if e.list == nil {
		return e.input.View()
	}
	return e.input.View() + "\n" + e.list.View()
}
