package faultproxy_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go"

	"github.com/det-deploy/det-deploy/test/faultproxy"
)

// upstream returns an empty response to every call and counts the calls.
type upstream struct {
	*httptest.Server

	mu    sync.Mutex // guards hosts
	hosts []string
}

// calls returns the host of each call.
func (u *upstream) calls() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.hosts)
}

func start(t *testing.T) (*faultproxy.Proxy, *upstream) {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		u.hosts = append(u.hosts, r.Host)
		u.mu.Unlock()
		_, _ = fmt.Fprint(w, "<DescribeVpcsResponse/>")
	}))
	t.Cleanup(u.Close)
	return faultproxy.Start(t, u.URL, 7), u
}

func config(p *faultproxy.Proxy) aws.Config {
	return aws.Config{
		Region: "us-west-2", BaseEndpoint: aws.String(p.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKIAEXAMPLE", "x", ""),
		HTTPClient:  &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second},
	}
}

func describe(t *testing.T, p *faultproxy.Proxy) error {
	t.Helper()
	_, err := ec2.NewFromConfig(config(p)).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{"vpc-1"}})
	return err
}

func TestErrorsHaveServiceFormat(t *testing.T) {
	t.Parallel()
	p, u := start(t)
	c := config(p)
	for name, tc := range map[string]struct {
		call      func() error
		throttled string
	}{
		"ec2:DescribeVpcs": {func() error { return describe(t, p) }, "RequestLimitExceeded"},
		"iam:ListRoles": {func() error {
			_, err := iam.NewFromConfig(c).ListRoles(t.Context(), &iam.ListRolesInput{})
			return err
		}, "Throttling"},
		"secretsmanager:GetSecretValue": {func() error {
			_, err := secretsmanager.NewFromConfig(c).GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: aws.String("a")})
			return err
		}, "ThrottlingException"},
		"monitoring:PutMetricData": {func() error {
			_, err := cloudwatch.NewFromConfig(c).PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{Namespace: aws.String("Determined")})
			return err
		}, ""},
		"s3:GetObject": {func() error {
			_, err := s3.NewFromConfig(c).GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("b"), Key: aws.String("k")})
			return err
		}, "SlowDown"},
	} {
		service, action, _ := strings.Cut(name, ":")
		remove := p.Add(faultproxy.Rule{Service: service, Action: regexp.MustCompile("^" + action + "$"), Effect: faultproxy.Refuse(403, "NotToday", "because")})
		e, ok := errors.AsType[smithy.APIError](tc.call())
		if !ok || e.ErrorCode() != "NotToday" || e.ErrorMessage() != "because" {
			t.Errorf("%s: got %v", name, e)
		}
		remove()
		remove = p.Add(faultproxy.Rule{Service: service, Effect: faultproxy.Throttle()})
		if e, ok := errors.AsType[smithy.APIError](tc.call()); !ok || (tc.throttled != "" && e.ErrorCode() != tc.throttled) {
			t.Errorf("%s throttled: got %v, want %s", name, e, tc.throttled)
		}
		remove()
		if got := p.Actions()[name]; got != 2 {
			t.Errorf("%s: written down %d times, want 2: %v", name, got, p.Actions())
		}
	}
	if len(u.calls()) != 0 {
		t.Errorf("got %d calls through", len(u.calls()))
	}
}

func TestRulesSkipCountAndMatchTheBody(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	p.Add(faultproxy.Rule{Body: regexp.MustCompile(`VpcId.1=vpc-1`), Skip: 1, Count: 2, Effect: faultproxy.Refuse(0, "Once", "")})
	p.Add(faultproxy.Rule{Body: regexp.MustCompile(`vpc-2`), Effect: faultproxy.Refuse(0, "Never", "")})
	var got []bool
	for range 4 {
		got = append(got, describe(t, p) == nil)
	}
	if fmt.Sprint(got) != "[true false false true]" {
		t.Errorf("got %v", got)
	}
}

func TestSeedIsDeterministic(t *testing.T) {
	t.Parallel()
	draw := func() string {
		p, _ := start(t)
		p.Add(faultproxy.Rule{Probability: 0.5, Effect: faultproxy.Refuse(0, "Some", "")})
		out := ""
		for range 12 {
			out += fmt.Sprint(describe(t, p) == nil, " ")
		}
		return out
	}
	one, two := draw(), draw()
	if one != two || !strings.Contains(one, "true") || !strings.Contains(one, "false") {
		t.Errorf("got %s, then %s", one, two)
	}
}

func TestLostRequestsAndResponses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		effect  faultproxy.Effect
		carried int
		timeout bool
	}{
		"a request is dropped":          {effect: faultproxy.Drop()},
		"a reply is lost":               {effect: faultproxy.Lose(), carried: 1},
		"no response":                   {effect: faultproxy.Hang(), timeout: true},
		"the answer comes late":         {effect: faultproxy.Delay(20 * time.Millisecond), carried: 1},
		"the answer comes far too late": {effect: faultproxy.Delay(time.Hour), timeout: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, u := start(t)
			p.Add(faultproxy.Rule{Effect: tc.effect})
			err := describe(t, p)
			if late := tc.effect.Delay > 0 && !tc.timeout; (err == nil) != late {
				t.Errorf("got error %v", err)
			}
			e, isNet := errors.AsType[net.Error](err)
			if tc.timeout != (isNet && e.Timeout()) {
				t.Errorf("got %v, timeout wanted %v", err, tc.timeout)
			}
			if len(u.calls()) != tc.carried {
				t.Errorf("got %d calls carried out, want %d", len(u.calls()), tc.carried)
			}
		})
	}
}

func TestSignedHostIsForwarded(t *testing.T) {
	t.Parallel()
	p, u := start(t)
	if err := describe(t, p); err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimPrefix(p.URL, "http://"); u.calls()[0] != want {
		t.Errorf("got %s, want %s", u.calls()[0], want)
	}
	if c := p.Calls()[0]; c.Caller != "AKIAEXAMPLE" || c.Status != 200 || c.Fault != "" {
		t.Errorf("got %+v", c)
	}
}
