package attest

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Role is who may prove anything: the role of agents' machines.
type Role struct{ Account, Name string }

// Verifier asks Amazon who signed a proof. It believes the answer because it
// chose whom to ask: of a proof it takes the signature, and neither the address
// nor the question.
//
// What protects a machine's identity, layer by layer:
//
//   - The session name of a machine's credentials is its id. EC2 sets it; the
//     machine cannot choose it.
//   - A principal that may assume the role in another way may choose any name. The
//     role's trust policy decides that: it must name ec2.amazonaws.com and no other
//     principal; the one that det-deploy makes does. Other roles of the account prove
//     nothing.
//   - The cluster's id is under the signature, so a proof that was shown to
//     another master opens nothing here; so are its time and its region.
//   - What a proof opens is its caller's business: the door of a machine that was
//     launched, once. A process with root on that machine is that machine.
type Verifier struct {
	// Regions is where machines are launched.
	Regions []string
	// Endpoint takes the place of Amazon's address; empty otherwise.
	Endpoint string
	// Roles is whose word counts.
	Roles []Role
	Now   func() time.Time
	// Patience is how long Amazon may take to answer; 0 is askLimit.
	Patience time.Duration
	// Transport carries the question; nil is the usual one.
	Transport http.RoundTripper
}

var _ cloud.Attestor = Verifier{}

// askLimit is how long Amazon may take to answer; the machine that waits tries
// again.
const askLimit = 10 * time.Second

// Attest implements cloud.Attestor. Unavailable means that Amazon could not be
// asked.
func (v Verifier) Attest(ctx context.Context, audience string, proof cloud.Proof) (cloud.Attested, error) {
	signed, err := v.check(audience, proof)
	if err != nil {
		return cloud.Attested{}, denied(err)
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(v.Patience, askLimit))
	defer cancel()
	arn, err := v.ask(ctx, signed)
	if err != nil {
		return cloud.Attested{}, err
	}
	id, err := v.machine(arn)
	if err != nil {
		return cloud.Attested{}, denied(err)
	}
	return cloud.Attested{Instance: id, Once: signed.once}, nil
}

func denied(err error) error {
	return &cloud.Error{
		Kind: cloud.Denied, Op: "check a proof of identity", Err: err,
		Fix: "launch agents with the instance profile of provider.iam_instance_profile_arn, and keep the clocks of machines right",
	}
}

// ask sends the question with the machine's signature.
func (v Verifier) ask(ctx context.Context, s signature) (arn string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, URL(s.region, v.Endpoint), strings.NewReader(Body))
	if err != nil {
		return "", denied(err)
	}
	for name, value := range s.header {
		req.Header.Set(name, value)
	}
	client := http.Client{
		Transport: v.Transport,
		// Who is asked is decided here, not by an answer.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(req)
	if err != nil {
		return "", &cloud.Error{Kind: cloud.Unavailable, Op: "sts:GetCallerIdentity", Err: err}
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	switch {
	case err != nil, answer.StatusCode >= http.StatusInternalServerError, answer.StatusCode == http.StatusTooManyRequests:
		return "", &cloud.Error{Kind: cloud.Unavailable, Op: "sts:GetCallerIdentity", Err: fmt.Errorf("the answer is %s", answer.Status)}
	case answer.StatusCode != http.StatusOK:
		return "", denied(fmt.Errorf("Amazon does not know the signature: %s %s", answer.Status, code(text))) //nolint:staticcheck // a name begins it
	}
	var told struct {
		XMLName xml.Name `xml:"GetCallerIdentityResponse"`
		ARN     string   `xml:"GetCallerIdentityResult>Arn"`
	}
	if err := xml.Unmarshal(text, &told); err != nil || told.ARN == "" {
		return "", denied(errors.New("the answer names no caller"))
	}
	return told.ARN, nil
}

// code is that of a refusal, without what it may repeat of the question.
func code(body []byte) string {
	var told struct {
		Code string `xml:"Error>Code"`
	}
	if xml.Unmarshal(body, &told) != nil {
		return ""
	}
	return told.Code
}

// session is a role's session as Amazon names it.
var session = regexp.MustCompile(`^arn:aws[a-z-]*:sts::(\d{12}):assumed-role/([\w+=,.@-]+)/([\w+=,.@-]+)$`)

// instance is the form of a machine's id.
var instance = regexp.MustCompile(`^i-[0-9a-f]{8,17}$`)

// machine reads a machine's id off a session of one of the roles.
func (v Verifier) machine(arn string) (cloud.InstanceID, error) {
	m := session.FindStringSubmatch(arn)
	if m == nil {
		return "", fmt.Errorf("%s is no session of a role", arn)
	}
	if !slices.Contains(v.Roles, Role{Account: m[1], Name: m[2]}) {
		return "", fmt.Errorf("%s is not of the role that agents' machines have", arn)
	}
	if !instance.MatchString(m[3]) {
		return "", fmt.Errorf("%s is not the session of a machine", arn)
	}
	return cloud.InstanceID(m[3]), nil
}
