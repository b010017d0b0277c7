package gcptest

import (
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// schema is a schema of a discovery document.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        string             `json:"type"`
	Format      string             `json:"format"`
	Pattern     string             `json:"pattern"`
	Enum        []string           `json:"enum"`
	Properties  map[string]*schema `json:"properties"`
	Additional  *schema            `json:"additionalProperties"`
	Items       *schema            `json:"items"`
	Annotations struct {
		Required []string `json:"required"`
	} `json:"annotations"`

	once    sync.Once
	pattern *regexp.Regexp
}

// check validates one value against a service's document.
type check struct {
	service *service
	// required is the method whose required properties are enforced. It is empty for responses.
	required string
	faults   []string
}

func (c *check) fault(at, format string, args ...any) {
	c.faults = append(c.faults, strings.TrimPrefix(at, ".")+": "+fmt.Sprintf(format, args...))
}

// value validates v against a schema.
func (c *check) value(at string, s *schema, v any) {
	if s.Ref != "" {
		s = c.service.Schemas[s.Ref]
	}
	switch v := v.(type) {
	case nil: // unsets a property
	case map[string]any:
		c.object(at, s, v)
	case []any:
		c.array(at, s, v)
	case string:
		c.text(at, s, v)
	case bool:
		if s.Type != "boolean" && s.Type != "any" {
			c.fault(at, "want %s, is %v", s.kind(), v)
		}
	case float64:
		c.number(at, s, v)
	}
}

// kind describes the type of a schema.
func (s *schema) kind() string {
	if s.Format != "" {
		return s.Type + " (" + s.Format + ")"
	}
	return s.Type
}

func (c *check) object(at string, s *schema, v map[string]any) {
	if s.Type == "any" {
		return
	}
	if s.Type != "object" {
		c.fault(at, "want %s, is an object", s.kind())
		return
	}
	for name, item := range v {
		switch p := s.Properties[name]; {
		case p != nil:
			c.value(at+"."+name, p, item)
		case s.Additional != nil:
			c.value(at+"."+name, s.Additional, item)
		default:
			c.fault(at+"."+name, "unknown property")
		}
	}
	if c.required != "" {
		c.missing(at, s, v)
	}
}

func (c *check) missing(at string, s *schema, v map[string]any) {
	for name, p := range s.Properties {
		if _, found := v[name]; !found && slices.Contains(p.Annotations.Required, c.required) {
			c.fault(at+"."+name, "is required")
		}
	}
}

func (c *check) array(at string, s *schema, v []any) {
	if s.Type == "any" {
		return
	}
	if s.Type != "array" {
		c.fault(at, "want %s, is a list", s.kind())
		return
	}
	for i, item := range v {
		c.value(at+"["+strconv.Itoa(i)+"]", s.Items, item)
	}
}

func (c *check) number(at string, s *schema, v float64) {
	switch s.Type {
	case "any", "number":
	case "integer":
		if v != math.Trunc(v) || s.Format == "uint32" && v < 0 || math.Abs(v) > math.MaxUint32 {
			c.fault(at, "want %s, is %v", s.kind(), v)
		}
	default:
		c.fault(at, "want %s, is the number %v", s.kind(), v)
	}
}

func (c *check) text(at string, s *schema, v string) {
	switch {
	case s.Type == "any", s.Type == "number" && slices.Contains([]string{"NaN", "Infinity", "-Infinity"}, v):
		return
	case s.Type != "string":
		c.fault(at, "want %s, is %q", s.kind(), v)
		return
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, v):
		c.fault(at, "%q is none of %s", v, strings.Join(s.Enum, ", "))
	case s.Pattern != "" && !s.matches(v):
		c.fault(at, "%q does not match %s", v, s.Pattern)
	}
	if err := checkFormat(s.Format, v); err != nil {
		c.fault(at, "want %s, is %q", s.kind(), v)
	}
}

// matches reports whether the whole text matches the pattern, anchored or not.
func (s *schema) matches(v string) bool {
	s.once.Do(func() { s.pattern, _ = regexp.Compile("^(?:" + s.Pattern + ")$") }) // a pattern in an unsupported syntax is ignored
	return s.pattern == nil || s.pattern.MatchString(v)
}

var duration = regexp.MustCompile(`^-?\d+(\.\d{1,9})?s$`)

func checkFormat(format, v string) (err error) {
	switch format {
	case "int64":
		_, err = strconv.ParseInt(v, 10, 64)
	case "uint64":
		_, err = strconv.ParseUint(v, 10, 64)
	case "byte":
		if _, err = base64.StdEncoding.DecodeString(v); err != nil {
			_, err = base64.URLEncoding.DecodeString(v)
		}
	case "date-time", "google-datetime":
		_, err = time.Parse(time.RFC3339Nano, v)
	case "date":
		_, err = time.Parse(time.DateOnly, v)
	case "google-duration":
		if !duration.MatchString(v) {
			err = fmt.Errorf("%q is no duration", v)
		}
	}
	return err
}
