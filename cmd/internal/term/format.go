package term

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/util/jsonpath"
)

// Format is an output format, the value of --output.
type Format string

// The output formats. A jsonpath format has an expression after its prefix.
const (
	Text Format = "text"
	// Wide is text with all columns and with dates instead of ages.
	Wide Format = "wide"
	JSON Format = "json"
	// JSONv1 is JSON as it was before version 2 of its schema.
	JSONv1 Format = "json=v1"
	YAML   Format = "yaml"
	// Name is the IDs or names alone, one a line.
	Name Format = "name"
	CSV  Format = "csv"

	jsonPathPrefix = "jsonpath="
)

// Formats is a set of output formats of a command.
type Formats []Format

// Answers are the formats of commands that answer with an object, and Shown those of commands whose answer is
// a table or a description.
func answers() Formats { return Formats{Text, JSON, YAML, jsonPathPrefix + "…"} }
func shown() Formats   { return Formats{Text, Wide, JSON, YAML, Name, CSV, jsonPathPrefix + "…"} }

// IsText reports whether people read the output.
func (f Format) IsText() bool { return f == Text || f == Wide || f == "" }

// IsTable reports whether the format shows the cells of a table.
func (f Format) IsTable() bool { return f.IsText() || f == Name || f == CSV }

// Expression returns the expression of a jsonpath format.
func (f Format) Expression() (string, bool) { return strings.CutPrefix(string(f), jsonPathPrefix) }

// AddFlag declares --output of a command that prints text or JSON.
func (f *Format) AddFlag(fs *pflag.FlagSet) { f.addFlag(fs, Formats{Text, JSON}) }

// AddAnswerFlag declares --output of a command that answers with an object.
func (f *Format) AddAnswerFlag(fs *pflag.FlagSet) { f.addFlag(fs, answers()) }

// AddShownFlag declares --output of a command whose answer is a table or a description.
func (f *Format) AddShownFlag(fs *pflag.FlagSet) { f.addFlag(fs, shown()) }

func (f *Format) addFlag(fs *pflag.FlagSet, of Formats) {
	*f = Text
	fs.VarP(&formatFlag{f, of}, "output", "o", "output format")
}

// formatFlag is the value of --output.
type formatFlag struct {
	format *Format
	of     Formats
}

// String implements pflag.Value.
func (v *formatFlag) String() string {
	if v.format == nil {
		return ""
	}
	return string(*v.format)
}

// Type implements pflag.Value. It returns the name of the value in help texts.
func (v *formatFlag) Type() string {
	words := make([]string, 0, len(v.of))
	for _, f := range v.of {
		words = append(words, string(f))
	}
	return strings.Join(words, "|")
}

// Set implements pflag.Value. It accepts the formats of the command.
func (v *formatFlag) Set(s string) error {
	f := Format(s)
	if text, ok := f.Expression(); ok && slices.Contains(v.of, jsonPathPrefix+"…") {
		if _, err := parsePath(text); err != nil {
			return err
		}
		*v.format = f
		return nil
	}
	if !slices.Contains(v.of, f) && (f != JSONv1 || len(v.of) == 2) || s == jsonPathPrefix+"…" {
		return fmt.Errorf("must be %s", v.alternatives())
	}
	*v.format = f
	return nil
}

func (v *formatFlag) alternatives() string {
	words := strings.Split(v.Type(), "|")
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// parsePath parses a jsonpath expression; the braces around a single path may be left out.
func parsePath(text string) (*jsonpath.JSONPath, error) {
	if text == "" {
		return nil, errors.New("jsonpath= needs an expression, such as jsonpath={.items[*].id}")
	}
	if !strings.Contains(text, "{") {
		text = "{." + strings.TrimPrefix(text, ".") + "}"
	}
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(text); err != nil {
		return nil, fmt.Errorf("the jsonpath expression is not valid: %w", err)
	}
	return path, nil
}

// Printf writes a line to Out; the newline is added. Errors are ignored, so that a closed pipe does not
// stop an operation.
func (s *Streams) Printf(format string, args ...any) {
	fmt.Fprintf(s.Out, format+"\n", args...)
}

// Notef writes a line to Err; the newline is added. Commands of det-deploy in backticks are spelled so that
// they can be typed.
func (s *Streams) Notef(format string, args ...any) {
	if s.live != nil {
		s.live.Clear()
	}
	_, _ = io.WriteString(s.Err, s.spellQuoted(fmt.Sprintf(format, args...))+"\n") // nowhere to report it
}

// Count formats a number of items, such as "1 agent" or "2 agents".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
