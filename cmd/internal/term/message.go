package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// PrintMessage writes an API message to Out as indented JSON, with the names and values of the API and
// byte-for-byte reproducible.
func (s *Streams) PrintMessage(m proto.Message) error {
	tight, err := compactJSON(m)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, tight, "", "  "); err != nil {
		return fmt.Errorf("cannot print JSON: %w", err)
	}
	return s.printLine(out.Bytes())
}

// PrintMessageLine writes an API message as one line of JSON, for streams.
func (s *Streams) PrintMessageLine(m proto.Message) error {
	tight, err := compactJSON(m)
	if err != nil {
		return err
	}
	return s.printLine(tight)
}

// compactJSON encodes a message without spaces, which protojson randomizes.
func compactJSON(m proto.Message) ([]byte, error) {
	raw, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("cannot print JSON: %w", err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return nil, fmt.Errorf("cannot print JSON: %w", err)
	}
	return out.Bytes(), nil
}

func (s *Streams) printLine(text []byte) error {
	if _, err := s.Out.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("cannot print the output: %w", err)
	}
	return nil
}

// PrintError writes an error and its hint to Err.
func (s *Streams) PrintError(what []string, hint string) {
	label, try := "error:", "try:"
	if s.colourErr() {
		label, try = Red.Paint(label), Bold.Paint(try)
	}
	s.Notef("%s %s", label, strings.Join(what, "\n       "))
	if hint != "" {
		s.Notef("  %s %s", try, s.spellHint(hint))
	}
}
