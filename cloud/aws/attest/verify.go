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

// Role is a role that is accepted in proofs, the role of the agents' instances.
type Role struct{ Account, Name string }

// Verifier sends a proof to Amazon to find out who signed it. The response can be trusted because
// the verifier chooses the endpoint: it takes only the signature from the proof, neither the URL nor
// the body.
//
// The identity of an instance is protected by several layers:
//
//   - The session name of an instance's credentials is its instance ID. EC2 sets it; the
//     instance cannot choose it.
//   - A principal that can assume the role by other means can choose any session name. The
//     role's trust policy must therefore allow ec2.amazonaws.com and no other principal, as
//     the policy created by det-deploy does. Other roles of the account are not accepted.
//   - The cluster ID, the time and the region are signed, so a proof sent to another master
//     is invalid here.
//   - The permissions granted for a proof are the caller's decision: an instance that it
//     launched may register, once. A root process on that instance can act as the instance.
type Verifier struct {
	// Regions are the regions in which instances are launched.
	Regions []string
	// Endpoint overrides Amazon's endpoint URL if it is not empty.
	Endpoint string
	// Roles are the accepted roles.
	Roles []Role
	Now   func() time.Time
	// Patience is the timeout for Amazon's response. 0 means askLimit.
	Patience time.Duration
	// Transport sends the request. Nil uses the default transport.
	Transport http.RoundTripper
}

var _ cloud.Attestor = Verifier{}

// askLimit is the default timeout for Amazon's response. The waiting instance retries.
const askLimit = 10 * time.Second

// Attest implements cloud.Attestor. It returns an Unavailable error if Amazon cannot be reached.
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
		Kind: cloud.Denied, Op: "verify a proof of identity", Err: err,
		Fix: "launch agents with the instance profile in provider.iam_instance_profile_arn, and synchronize the machines' clocks",
	}
}

// ask sends the request with the instance's signature.
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
		// Never follow a redirect to a host that the verifier did not choose.
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
		return "", &cloud.Error{Kind: cloud.Unavailable, Op: "sts:GetCallerIdentity", Err: fmt.Errorf("STS returned %s", answer.Status)}
	case answer.StatusCode != http.StatusOK:
		return "", denied(fmt.Errorf("STS rejected the signature: %s %s", answer.Status, code(text)))
	}
	var told struct {
		XMLName xml.Name `xml:"GetCallerIdentityResponse"`
		ARN     string   `xml:"GetCallerIdentityResult>Arn"`
	}
	if err := xml.Unmarshal(text, &told); err != nil || told.ARN == "" {
		return "", denied(errors.New("the response contains no caller"))
	}
	return told.ARN, nil
}

// code returns the error code of a response. It omits the message, which may repeat parts of the
// request.
func code(body []byte) string {
	var told struct {
		Code string `xml:"Error>Code"`
	}
	if xml.Unmarshal(body, &told) != nil {
		return ""
	}
	return told.Code
}

// session matches the ARN of an assumed-role session.
var session = regexp.MustCompile(`^arn:aws[a-z-]*:sts::(\d{12}):assumed-role/([\w+=,.@-]+)/([\w+=,.@-]+)$`)

// instance matches an instance ID.
var instance = regexp.MustCompile(`^i-[0-9a-f]{8,17}$`)

// machine returns the instance ID in a session ARN of one of the roles.
func (v Verifier) machine(arn string) (cloud.InstanceID, error) {
	m := session.FindStringSubmatch(arn)
	if m == nil {
		return "", fmt.Errorf("%s is not a role session", arn)
	}
	if !slices.Contains(v.Roles, Role{Account: m[1], Name: m[2]}) {
		return "", fmt.Errorf("%s is not a session of the agents' role", arn)
	}
	if !instance.MatchString(m[3]) {
		return "", fmt.Errorf("%s is not a session of an instance", arn)
	}
	return cloud.InstanceID(m[3]), nil
}
