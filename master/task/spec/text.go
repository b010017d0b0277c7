package spec

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/internal/document"
)

// ReadText returns a client's configuration that is YAML in the form of Decode. It returns a *DecodeError.
func ReadText(text string) (*structpb.Struct, error) {
	if n := len(text); n > mostBytes {
		return nil, &DecodeError{document.Errors{{Text: fmt.Sprintf("has %d bytes; the maximum is %d", n, mostBytes)}}}
	}
	d, err := document.Parse([]byte(text), "")
	if err != nil {
		return nil, &DecodeError{document.Errors{{Text: err.Error()}}}
	}
	if n := d.CountValues(); n > mostValues {
		return nil, &DecodeError{document.Errors{{Text: fmt.Sprintf("has %d values; the maximum is %d", n, mostValues)}}}
	}
	c := Default()
	if problems := d.Decode(&c); len(problems) > 0 {
		return nil, &DecodeError{withoutLines(d.Blame(problems, c.Validate()))}
	}
	stored, err := Store(c)
	if err != nil {
		return nil, err
	}
	return Stored(stored)
}

// Stored returns a stored configuration in the form of Decode, including the registry's password.
func Stored(data json.RawMessage) (*structpb.Struct, error) {
	out := &structpb.Struct{}
	if err := out.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return out, nil
}
