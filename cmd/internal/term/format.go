package term

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"
)

// Format is the form of an answer: --output text or json. JSON may gain fields;
// none is renamed or removed.
type Format string

// The formats of answers.
const (
	Text Format = "text"
	JSON Format = "json"
)

// String is the flag's value.
func (f *Format) String() string { return string(*f) }

// Set accepts text and json.
func (f *Format) Set(s string) error {
	switch Format(s) {
	case Text, JSON:
		*f = Format(s)
		return nil
	default:
		return fmt.Errorf("must be text or json")
	}
}

// Type names the flag's value in help texts.
func (f *Format) Type() string { return "text|json" }

// AddFlag defines --output, with the same words for every command.
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
		return fmt.Errorf("print the answer as JSON: %w", err)
	}
	return nil
}

// Printf writes a line of the answer; the newline is added. What a reader that
// went away misses does not stop the work.
func (s *Streams) Printf(format string, args ...any) {
	fmt.Fprintf(s.Out, format+"\n", args...)
}

// Notef writes a line of the conversation; the newline is added.
func (s *Streams) Notef(format string, args ...any) {
	fmt.Fprintf(s.Err, format+"\n", args...)
}
