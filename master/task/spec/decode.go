package spec

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// DecodeError reports all errors of a configuration that cannot be used.
type DecodeError struct {
	Problems document.Errors
}

// Error begins with the words that clients search for.
func (e *DecodeError) Error() string {
	return "unable to decode the merged config: " + e.Problems.Error()
}

// Unwrap returns the individual errors for errors.As.
func (e *DecodeError) Unwrap() error { return e.Problems }

// The limits are far above what people write; large data is sent as files. Decoding 100,000 values takes
// seconds of a core.
const (
	mostBytes  = 1 << 20
	mostValues = 20_000
)

// Decode decodes a client's configuration. Unknown keys are errors; a null value is treated as omitted.
// It returns a *DecodeError. The result is neither merged nor complete.
func Decode(s *structpb.Struct) (Config, error) {
	c := Default()
	if s == nil {
		return c, nil
	}
	if n := proto.Size(s); n > mostBytes {
		return c, &DecodeError{document.Errors{{Text: fmt.Sprintf("has %d bytes; the maximum is %d", n, mostBytes)}}}
	}
	if n := countValues(structpb.NewStructValue(s)); n > mostValues {
		return c, &DecodeError{document.Errors{{Text: fmt.Sprintf("has %d values; the maximum is %d", n, mostValues)}}}
	}
	data, err := s.MarshalJSON()
	if err != nil {
		return c, &DecodeError{document.Errors{{Text: fmt.Sprintf("is not JSON: %v", err)}}}
	}
	return decodeJSON(data)
}

// countValues returns the number of values including nested ones. The decoder has bounded the depth.
func countValues(v *structpb.Value) int {
	n := 1
	for _, field := range v.GetStructValue().GetFields() {
		n += countValues(field)
	}
	for _, item := range v.GetListValue().GetValues() {
		n += countValues(item)
	}
	return n
}

func decodeJSON(data []byte) (Config, error) {
	c := Default()
	// The parser counts values in addition to bytes, so that a hostile body stays bounded.
	d, err := document.ParseJSON(data, "")
	if err != nil {
		return c, &DecodeError{document.Errors{{Text: err.Error()}}}
	}
	if problems := d.Decode(&c); len(problems) > 0 {
		return c, &DecodeError{withoutLines(d.Blame(problems, c.Validate()))}
	}
	return c, nil
}

// withoutLines removes the line numbers: the client's file was converted to one line of JSON.
func withoutLines(problems document.Errors) document.Errors {
	for i := range problems {
		problems[i].File, problems[i].Line = "", 0
	}
	return problems
}

// Complete merges the result of Decode over defaults and validates it. The warnings name accepted
// settings that have no effect here; settings are those that have one on this kind of task, but not on
// all. It returns a *DecodeError.
func Complete(c Config, defaults container.Defaults, settings ...string) (_ Config, warnings []string, err error) {
	if problems := c.Validate(); len(problems) > 0 {
		return c, nil, &DecodeError{problems}
	}
	c = Merge(c, defaults)
	if problems := c.Validate(); len(problems) > 0 {
		return c, nil, &DecodeError{problems}
	}
	return c, append(c.idleSettings(settings), c.Environment.openPorts()...), nil
}

// idleSettings returns a warning for each accepted setting without an effect.
func (c Config) idleSettings(effective []string) []string {
	var out []string
	add := func(set bool, key, why string) {
		if set && !slices.Contains(effective, key) {
			out = append(out, key+" has no effect: "+why)
		}
	}
	add(c.IdleTimeout != nil, "idle_timeout", "it applies to notebooks and TensorBoards only")
	add(c.NotebookIdleType != "", "notebook_idle_type", "it applies to notebooks only")
	add(len(c.TensorboardArgs) > 0, "tensorboard_args", "it applies to TensorBoards only")
	add(c.Debug, "debug", "it applies to programs that use the cluster's library")
	names := UnassignedNames(c.Environment.Variables)
	add(len(names) > 0, "environment.environment_variables "+excerpt.Of(strings.Join(names, ", ")),
		"a name without = keeps the value that it has in the container")
	add(holdsMore(c.PBS), "pbs", "this cluster does not run PBS")
	add(holdsMore(c.Slurm), "slurm", "this cluster does not run Slurm")
	add(c.Resources.Weight != 1, "resources.weight", "the scheduler uses priority")
	return out
}

// openPorts returns a warning for each port that needs no authentication.
func (n Environment) openPorts() []string {
	var out []string
	for _, p := range n.ProxyPorts {
		if p.Unauthenticated {
			out = append(out, fmt.Sprintf("environment.proxy_ports: port %d is open without login to everyone who reaches the master", p.Port))
		}
	}
	return out
}

// holdsMore reports whether a raw part is more than an empty mapping.
func holdsMore(r document.Raw) bool { return !r.IsZero() && string(r.JSON()) != "{}" }
