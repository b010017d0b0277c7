package spec

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// DecodeError is a configuration that cannot be used, with all its mistakes.
type DecodeError struct {
	Problems document.Errors
}

// Error begins with the words that clients know.
func (e *DecodeError) Error() string {
	return "unable to decode the merged config: " + e.Problems.Error()
}

// Unwrap gives the single mistakes to errors.As.
func (e *DecodeError) Unwrap() error { return e.Problems }

// What is far above what people write; large things come as files. Reading 100,000
// values takes seconds of a core.
const (
	mostBytes  = 1 << 20
	mostValues = 20_000
)

// Decode reads what a client sent. Unknown keys are mistakes; a key that is null is
// as good as left out. The error is a *DecodeError. The result is neither merged
// nor complete.
func Decode(s *structpb.Struct) (Config, error) {
	c := Default()
	if s == nil {
		return c, nil
	}
	if n := proto.Size(s); n > mostBytes {
		return c, &DecodeError{document.Errors{{Text: fmt.Sprintf("has %d bytes; a configuration has at most %d", n, mostBytes)}}}
	}
	if n := countValues(structpb.NewStructValue(s)); n > mostValues {
		return c, &DecodeError{document.Errors{{Text: fmt.Sprintf("has %d values; a configuration has at most %d", n, mostValues)}}}
	}
	data, err := s.MarshalJSON()
	if err != nil {
		return c, &DecodeError{document.Errors{{Text: fmt.Sprintf("is not JSON: %v", err)}}}
	}
	return decodeJSON(data)
}

// countValues counts a value and what is in it. Its depth is bounded by who decoded it.
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
	// The parser counts values, not only bytes, so a hostile body stays bounded.
	d, err := document.ParseJSON(data, "")
	if err != nil {
		return c, &DecodeError{document.Errors{{Text: err.Error()}}}
	}
	if problems := d.Decode(&c); len(problems) > 0 {
		return c, &DecodeError{withoutLines(d.Blame(problems, c.Validate()))}
	}
	return c, nil
}

// withoutLines takes the lines away: the client's file became one line of JSON.
func withoutLines(problems document.Errors) document.Errors {
	for i := range problems {
		problems[i].File, problems[i].Line = "", 0
	}
	return problems
}

// Complete lays defaults under what Decode has read and checks the result. Warnings say
// which settings are accepted and have no effect here.
func Complete(c Config, defaults container.Defaults) (_ Config, warnings []string, err error) {
	if problems := c.Validate(); len(problems) > 0 {
		return c, nil, &DecodeError{problems}
	}
	c = Merge(c, defaults)
	if problems := c.Validate(); len(problems) > 0 {
		return c, nil, &DecodeError{problems}
	}
	return c, c.idleSettings(), nil
}

// idleSettings lists the settings that are understood and do nothing.
func (c Config) idleSettings() []string {
	var out []string
	add := func(set bool, key, why string) {
		if set {
			out = append(out, key+" has no effect: "+why)
		}
	}
	add(c.IdleTimeout != nil, "idle_timeout", "a command ends when its program does")
	add(c.NotebookIdleType != "", "notebook_idle_type", "it is for notebooks")
	add(len(c.TensorboardArgs) > 0, "tensorboard_args", "it is for tensorboards")
	add(c.Debug, "debug", "it is for programs that use the cluster's library")
	add(len(c.Environment.ProxyPorts) > 0, "environment.proxy_ports", "the ports are published, but this version has no proxy to them")
	names := unassignedNames(c.Environment.Variables)
	add(len(names) > 0, "environment.environment_variables "+excerpt.Of(strings.Join(names, ", ")),
		"without = it is what the container has under that name already")
	add(holdsMore(c.PBS), "pbs", "this cluster does not run PBS")
	add(holdsMore(c.Slurm), "slurm", "this cluster does not run Slurm")
	add(c.Resources.Weight != 1, "resources.weight", "the scheduler uses priority")
	return out
}

// holdsMore says whether a raw part is more than an empty mapping.
func holdsMore(r document.Raw) bool { return !r.IsZero() && string(r.JSON()) != "{}" }
