package term

import (
	"context"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// runModel runs a model of bubbletea until it ends, and leaves the terminal as it was. It takes
// no signals: the context ends it, and Ctrl-C is a key.
func (s *Streams) runModel(ctx context.Context, out io.Writer, m tea.Model) (tea.Model, error) {
	last, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(s.In), tea.WithOutput(out), tea.WithoutSignalHandler()).Run()
	switch {
	case ctx.Err() != nil:
		return last, ctx.Err()
	case err != nil:
		return last, fmt.Errorf("draw on the terminal: %w", err)
	}
	return last, nil
}

// DrawScreen runs a model that fills the screen until it ends, and shows what was there
// before. It is a usage error where there is no screen, or none that may be drawn on;
// instead is what to use then.
func (s *Streams) DrawScreen(ctx context.Context, m tea.Model, instead string) (tea.Model, error) {
	if err := s.CheckScreen(instead); err != nil {
		return m, err
	}
	return s.runModel(ctx, s.Out, m)
}

// CheckScreen is nil where a screen can be drawn on.
func (s *Streams) CheckScreen(instead string) error {
	switch {
	case !s.inTerminal || !s.outTerminal:
		return usage.Errorf("this draws a screen and there is no terminal: use %s", instead)
	case s.dumb:
		return usage.Errorf("this draws a screen and TERM says that the terminal has none: use %s", instead)
	case s.isAccessible():
		return usage.Errorf("this draws a screen and --accessible or %s asks for plain lines: use %s", accessibleVariable, instead)
	}
	return nil
}
