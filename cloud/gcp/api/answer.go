package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/api/googleapi"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
)

// body is the body of an error response. Older services return errors, newer ones a status and
// details; some return all of them.
type body struct {
	Error struct {
		Message string `json:"message"`
		Status  string `json:"status"`
		Errors  []struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"errors"`
		Details []detail `json:"details"`
	} `json:"error"`
}

type detail struct {
	// Reason and Metadata are the fields of google.rpc.ErrorInfo.
	Reason   string            `json:"reason"`
	Metadata map[string]string `json:"metadata"`
	quotaDetail
}

// quotaDetail identifies the exceeded quota.
type quotaDetail struct {
	MetricName string            `json:"metricName"`
	LimitName  string            `json:"limitName"`
	Limit      float64           `json:"limit"`
	Dimensions map[string]string `json:"dimensions"`
}

// reason is an error code of a response and its message.
type reason struct{ code, message string }

// translateError converts the error of an attempt to a cloud.Error.
func (c *call) translateError(err error) error {
	switch {
	case err == nil:
		return nil
	case !c.Changes && edge.GaveUp(err):
		return fmt.Errorf("%s: %w", c.Op, err)
	}
	a, f := answerOf(c.table.Rules, err)
	return c.refuse(a, f)
}

// refuse converts an error response to a cloud.Error. Placeholders in its fix are replaced by the
// facts of the response.
func (c *call) refuse(a edge.Answer, f facts) *cloud.Error {
	e := c.table.Refuse(c.Op, c.Changes, a)
	f.setUnset("project", c.project)
	service, _, _ := strings.Cut(c.Op, ".")
	f.setUnset("service", service+".googleapis.com")
	e.Fix = f.fillIn(e.Fix)
	if quota := f["quota"]; quota != "" && e.Kind == cloud.Quota {
		e.Fix = quota + ": " + e.Fix
	}
	return e
}

// answerOf converts an error of the SDK to an Answer.
func answerOf(rules edge.Rules, err error) (edge.Answer, facts) {
	f := make(facts)
	e, answered := errors.AsType[*googleapi.Error](err)
	if !answered {
		return edge.Answer{Message: err.Error(), Transport: transportOf(err), Err: err}, f
	}
	a := edge.Answer{Status: e.Code, Err: err}
	var b body
	if json.Unmarshal([]byte(e.Body), &b) != nil || b.Error.Message == "" {
		return a, f // the response is not from a Google service
	}
	var all []reason
	for _, d := range b.Error.Details {
		all = append(all, reason{d.Reason, b.Error.Message})
		f.addMetadata(d.Metadata)
		f.addQuota(d.quotaDetail)
	}
	for _, r := range b.Error.Errors {
		all = append(all, reason{r.Reason, r.Message})
	}
	all = append(all, reason{b.Error.Status, b.Error.Message})
	chosen := chooseReason(rules, all, b.Error.Message)
	a.Code, a.Message = chosen.code, trimMessage(chosen.message)
	return a, f
}

// chooseReason returns the first error code that has a rule, or else the first code.
func chooseReason(rules edge.Rules, all []reason, message string) reason {
	first := reason{message: message}
	for _, r := range all {
		if r.code == "" {
			continue
		}
		if r.message == "" {
			r.message = message
		}
		if _, known := rules.Find(r.code, r.message); known {
			return r
		}
		if first.code == "" {
			first = r
		}
	}
	return first
}

func trimMessage(message string) string {
	return strings.TrimSuffix(strings.TrimSpace(message), ".")
}

func transportOf(err error) edge.Transport {
	if _, ok := errors.AsType[*credentialsError](err); ok {
		return edge.Unauthenticated
	}
	if edge.NeverConnected(err) {
		return edge.Unconnected
	}
	return edge.Lost
}

// facts are the details of an error response by placeholder name: {project}, {service}.
type facts map[string]string

func (f facts) setUnset(name, value string) {
	if f[name] == "" {
		f[name] = value
	}
}

func (f facts) addMetadata(m map[string]string) {
	f.setUnset("service", m["service"])
	f.setUnset("permission", m["permission"])
}

func (f facts) addQuota(q quotaDetail) {
	if q.MetricName == "" && q.LimitName == "" {
		return
	}
	f["quota"] = fmt.Sprintf("the limit of %s is %s", q.name(), strconv.FormatFloat(q.Limit, 'f', -1, 64))
	for _, where := range []string{"zone", "region"} {
		if place := q.Dimensions[where]; place != "" {
			f["quota"] += " in " + place
			return
		}
	}
}

func (q quotaDetail) name() string {
	switch {
	case q.LimitName == "":
		return q.MetricName
	case q.MetricName == "":
		return q.LimitName
	}
	return q.LimitName + " (" + q.MetricName + ")"
}

func (f facts) fillIn(fix string) string {
	for name, value := range f {
		fix = strings.ReplaceAll(fix, "{"+name+"}", value)
	}
	return fix
}
