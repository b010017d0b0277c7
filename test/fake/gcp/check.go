package gcptest

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
)

// checkQuery validates the query of a request against its method.
func (r *route) checkQuery(q url.Values, foreign bool) []string {
	c := check{service: r.service}
	for name, values := range q {
		p := r.Parameters[name]
		if p == nil {
			p = r.service.Parameters[name]
		}
		switch {
		case p == nil && (foreign || r.upload != "" && name == "upload_id"):
		case p == nil || p.Location != "query":
			c.fault(name, "%s has no such query parameter", r.ID)
		case len(values) > 1 && !p.Repeated:
			c.fault(name, "is given %d times", len(values))
		default:
			c.queryValues(name, p, values)
		}
	}
	for name, p := range r.Parameters {
		if p.Required && p.Location == "query" && !q.Has(name) {
			c.fault(name, "is required")
		}
	}
	slices.Sort(c.faults)
	return c.faults
}

func (c *check) queryValues(name string, p *parameter, values []string) {
	for _, v := range values {
		c.value(name, &p.schema, queryValue(p.Type, v))
	}
}

// queryValue converts a query value to the type of its parameter, or returns it as a string.
func queryValue(kind, v string) any {
	switch kind {
	case "integer", "number":
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			return n
		}
	case "boolean":
		if b, err := strconv.ParseBool(v); err == nil {
			return b
		}
	}
	return v
}

// checkPath validates the path parameters against the method. A method's path may be a single
// variable whose flat path has several; then there is nothing to validate.
func (r *route) checkPath(params map[string]string) []string {
	c := check{service: r.service}
	for name, v := range params {
		if p := r.Parameters[name]; p != nil && p.Pattern != "" && r.FlatPath == r.Path {
			c.text(name, &p.schema, v)
		}
	}
	slices.Sort(c.faults)
	return c.faults
}

// checkBody validates the body of a request against its method. A partial update has no required
// fields.
func (r *route) checkBody(body []byte) []string {
	if len(body) == 0 || r.Request == nil {
		if len(body) > 0 && string(body) != "{}" {
			return []string{r.ID + " takes no body"}
		}
		return nil
	}
	c := check{service: r.service, required: r.ID}
	if r.Verb == "PATCH" {
		c.required = ""
	}
	return c.document(r.Request, body)
}

// checkAnswer validates a response of the fake against the method.
func (m *method) checkAnswer(body []byte) []string {
	if m.Response == nil {
		return nil
	}
	c := check{service: m.service}
	return c.document(m.Response, body)
}

func (c *check) document(s *schema, body []byte) []string {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return []string{"no JSON: " + err.Error()}
	}
	c.value("", s, v)
	slices.Sort(c.faults)
	return c.faults
}
