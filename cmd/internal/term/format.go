package term

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"
)

// Format is an output format, the value of --output. The JSON format may gain fields; none is renamed or
// removed.
type Format string

// The output formats.
const (
	Text Format = "text"
	JSON Format = "json"
)

// String implements pflag.Value.
func (f *Format) String() string { return string(*f) }

// Set implements pflag.Value. It accepts text and json.
func (f *Format) Set(s string) error {
	switch Format(s) {
	case Text, JSON:
		*f = Format(s)
		return nil
	default:
		return fmt.Errorf("must be text or json")
	}
}

// Type implements pflag.Value. It returns the name of the value in help texts.
func (f *Format) Type() string { return "text|json" }

// AddFlag declares --output.
func (f *Format) AddFlag(fs *pflag.FlagSet) {
	*f = Text
	fs.VarP(f, "output", "o", "output format")
}

// PrintJSON writes v to Out as indented JSON with a final newline.
func (s *Streams) PrintJSON(v any) error {
	enc := json.NewEncoder(s.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("cannot print JSON: %w", err)
	}
	return nil
}

// Printf writes a line to Out; the newline is added. Errors are ignored, so that a closed pipe does not
// stop an operation.
func (s *Streams) Printf(format string, args ...any) {
	fmt.Fprintf(s.Out, format+"\n", args...)
}

// Notef writes a line to Err; the newline is added.
func (s *Streams) Notef(format string, args ...any) {
	fmt.Fprintf(s.Err, format+"\n", args...)
}

// Count formats a number of items, such as "1 agent" or "2 agents".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
