package term

import (
	"context"
	"errors"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// runModel runs a bubbletea model until it quits and restores the terminal. Signals are handled by the
// context; Ctrl-C is a key press.
func (s *Streams) runModel(ctx context.Context, out io.Writer, m tea.Model) (tea.Model, error) {
	last, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(s.In), tea.WithOutput(out), tea.WithoutSignalHandler()).Run()
	switch {
	case ctx.Err() != nil:
		return last, ctx.Err()
	case errors.Is(err, tea.ErrInterrupted):
		return last, context.Canceled
	case err != nil:
		return last, fmt.Errorf("cannot draw on the terminal: %w", err)
	}
	return last, nil
}

// DrawScreen runs a full-screen model until it quits and restores the previous screen. It returns a usage
// error that names instead if there is no terminal or it must not be drawn on.
func (s *Streams) DrawScreen(ctx context.Context, m tea.Model, instead string) (tea.Model, error) {
	if err := s.CheckScreen(instead); err != nil {
		return m, err
	}
	return s.runModel(ctx, s.Out, m)
}

// CheckScreen returns a usage error that names instead unless a full-screen model can be drawn.
func (s *Streams) CheckScreen(instead string) error {
	switch {
	case !s.inTerminal || !s.outTerminal:
		return usage.Errorf("a full-screen display requires a terminal: use %s", instead)
	case s.dumb:
		return usage.Errorf("a full-screen display is not supported by the terminal in TERM: use %s", instead)
	case s.isAccessible():
		return usage.Errorf("a full-screen display is disabled by --accessible or %s: use %s", accessibleVariable, instead)
	}
	return nil
}
