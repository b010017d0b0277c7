package edge_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
)

var errSDK = errors.New("SDK error")

// table belongs to a platform whose naming differs from both Amazon's and Google's.
var table = edge.Table{
	Calls: edge.Calls{
		edge.Reads("box.list"),
		edge.Writes("box.insert", "box.insert", "disk.use"),
		{Op: "clock.read"},
	},
	Rules: edge.Rules{
		Exact: []edge.Rule{
			{Code: "full", Kind: cloud.NoCapacity, Fix: "try another zone"},
			{Code: "broken", Kind: cloud.Unavailable},
			{Code: "bad", Contains: "not yet known", Kind: cloud.NotFound},
			{Contains: "by the landlord", Kind: cloud.Denied, Fix: "ask the landlord"},
			{Code: "forbidden", Kind: cloud.Denied},
		},
		Families: []edge.Family{{Prefix: "bad", Kind: cloud.Invalid}, {Suffix: "Exceeded", Kind: cloud.Quota, Fix: "ask for more"}},
	},
	FixDenied: "allow {permissions}", FixCredentials: "log in",
}

func TestKindOfAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name            string
		answer          edge.Answer
		reading, change cloud.Kind
	}{
		{"a code", edge.Answer{Code: "full", Status: 500}, cloud.NoCapacity, cloud.NoCapacity},
		{"a code of an operation, without a status", edge.Answer{Code: "full"}, cloud.NoCapacity, cloud.NoCapacity},
		{"a code whose message decides", edge.Answer{Code: "bad", Message: "account not yet known"}, cloud.NotFound, cloud.NotFound},
		{"the same code otherwise", edge.Answer{Code: "bad", Message: "no such field"}, cloud.Invalid, cloud.Invalid},
		{"a family by its end", edge.Answer{Code: "cpuExceeded"}, cloud.Quota, cloud.Quota},
		{"out of order", edge.Answer{Code: "broken", Status: 503}, cloud.Unavailable, cloud.Ambiguous},
		{"an unknown code", edge.Answer{Code: "odd", Status: 409}, cloud.Conflict, cloud.Conflict},
		{"an unknown code without a status", edge.Answer{Code: "odd"}, cloud.Unknown, cloud.Unknown},
		{"a page of a proxy", edge.Answer{Status: 502}, cloud.Unavailable, cloud.Ambiguous},
		{"too many", edge.Answer{Status: 429}, cloud.RateLimited, cloud.RateLimited},
		{"a precondition", edge.Answer{Status: 412}, cloud.Conflict, cloud.Conflict},
		{"not there", edge.Answer{Status: 404}, cloud.NotFound, cloud.NotFound},
		{"not allowed", edge.Answer{Status: 403}, cloud.Denied, cloud.Denied},
		{"a wrong request", edge.Answer{Status: 400}, cloud.Invalid, cloud.Invalid},
		{"no credentials", edge.Answer{Transport: edge.Unauthenticated}, cloud.Denied, cloud.Denied},
		{"never sent", edge.Answer{Transport: edge.Malformed}, cloud.Invalid, cloud.Invalid},
		{"never connected", edge.Answer{Transport: edge.Unconnected}, cloud.Unavailable, cloud.Unavailable},
		{"no answer", edge.Answer{Transport: edge.Lost}, cloud.Unavailable, cloud.Ambiguous},
		{"nothing is known", edge.Answer{}, cloud.Unknown, cloud.Ambiguous},
	} {
		for changing, want := range map[bool]cloud.Kind{false: tc.reading, true: tc.change} {
			if got := table.KindOf(changing, tc.answer); got != want {
				t.Errorf("%s, changing %t: got %q, want %q", tc.name, changing, got, want)
			}
		}
	}
}

func TestErrorNamesCauseAndFix(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		op        string
		answer    edge.Answer
		text, fix string
	}{
		{"box.insert", edge.Answer{Code: "full", Message: "no boxes left", Err: errSDK}, "box.insert: no boxes left (full)", "try another zone"},
		{"box.insert", edge.Answer{Code: "full", Err: errSDK}, "box.insert: full", "try another zone"},
		{"box.insert", edge.Answer{Code: "forbidden", Message: "no", Err: errSDK}, "box.insert: no (forbidden)", "allow box.insert, disk.use"},
		{"box.insert", edge.Answer{Code: "forbidden", Message: "no, by the landlord", Err: errSDK}, "box.insert: no, by the landlord (forbidden)", "ask the landlord"},
		{"box.insert", edge.Answer{Code: "forbidden", Message: "no", Fix: "move", Err: errSDK}, "box.insert: no (forbidden)", "move"},
		{"box.list", edge.Answer{Status: 403, Err: errSDK}, "box.list: HTTP status 403 Forbidden with a response that is not from the API", "allow box.list"},
		{"clock.read", edge.Answer{Status: 401, Err: errSDK}, "clock.read: HTTP status 401 Unauthorized with a response that is not from the API", "allow clock.read"},
		{"box.insert", edge.Answer{Status: 200, Message: "unexpected EOF", Err: errSDK}, "box.insert: HTTP status 200 OK with an unreadable response: unexpected EOF", ""},
		{"box.list", edge.Answer{Message: "no key", Transport: edge.Unauthenticated, Err: errSDK}, "box.list: no key", "log in"},
	} {
		err := table.Refuse(tc.op, true, tc.answer)
		if err.Error() != tc.text || err.Fix != tc.fix {
			t.Errorf("%s: got %q and %q, want %q and %q", tc.op, err, err.Fix, tc.text, tc.fix)
		}
		if !errors.Is(err, errSDK) {
			t.Errorf("%s: got %v without the SDK's error in it", tc.op, err)
		}
	}
}

func TestRefuseItem(t *testing.T) {
	t.Parallel()
	err := table.RefuseItem("box.insert", "box-1", edge.Answer{Code: "odd", Message: "who knows", Status: 500})
	if err.Kind != cloud.Unknown || err.Error() != "box.insert box-1: who knows (odd)" || edge.CodeOf(err) != "odd" {
		t.Errorf("got %q (%s, %s)", err, err.Kind, edge.CodeOf(err))
	}
	if got := edge.CodeOf(&cloud.Error{Kind: cloud.Quota}); got != string(cloud.Quota) {
		t.Errorf("got %q, want the kind", got)
	}
}

func TestNeverConnected(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		&net.DNSError{}:                      true,
		&tls.CertificateVerificationError{}:  true,
		&net.OpError{Op: "dial"}:             true,
		&net.OpError{Op: "read"}:             false,
		fmt.Errorf("x: %w", &net.DNSError{}): true,
	} {
		if got := edge.NeverConnected(err); got != want {
			t.Errorf("%#v: got %t, want %t", err, got, want)
		}
	}
	if !edge.GaveUp(fmt.Errorf("x: %w", context.Canceled)) || edge.GaveUp(errSDK) {
		t.Error("got a caller that gave up where it did not, or the other way round")
	}
}

func TestKindOfUnlistedCall(t *testing.T) {
	t.Parallel()
	if c, ok := table.Calls.Find("box.steal"); ok {
		t.Errorf("got %+v, want none", c)
	}
	if got := table.Calls.Index()["box.insert"]; !got.Changes || len(got.Permissions) != 2 {
		t.Errorf("got %+v, want a change that needs two permissions", got)
	}
}
