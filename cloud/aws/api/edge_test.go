package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// server starts a server that handles every request with f and counts requests.
func server(t *testing.T, f http.HandlerFunc) (cfg aws.Config, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // the content of the request is irrelevant
		f(w, r)
	}))
	t.Cleanup(s.Close)
	return config(s.URL), requests
}

// config returns a configuration with static credentials and retries without delay.
func config(url string) aws.Config {
	return aws.Config{
		Region: "us-west-2", BaseEndpoint: &url,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			})
		},
	}
}

// refuse returns a handler that responds with an EC2 error.
func refuse(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>r</RequestID></Response>", code, message)
	}
}

func page(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		fmt.Fprint(w, "<!doctype html><title>Oops</title><h1>Internal Server Error<p>sorry")
	}
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = c.Close() // inject the fault
	}
}

func TestRefusalsAreTranslated(t *testing.T) {
	t.Parallel()
	create := func(ctx context.Context, c api.Clients) error {
		_, err := c.EC2.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
		return err
	}
	list := func(ctx context.Context, c api.Clients) error {
		_, err := c.EC2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
		return err
	}
	for _, tc := range []struct {
		name     string
		answer   http.HandlerFunc
		call     func(context.Context, api.Clients) error
		kind     cloud.Kind
		requests int32
		text     string
	}{
		{"a quota", refuse(400, "VpcLimitExceeded", "The maximum number of VPCs has been reached."), create, cloud.Quota, 1, "ec2:CreateVpc: The maximum number of VPCs has been reached (VpcLimitExceeded)"},
		{"a change that came too soon is repeated", refuse(503, "RequestLimitExceeded", "Request limit exceeded."), create, cloud.RateLimited, 3, "ec2:CreateVpc: Request limit exceeded (RequestLimitExceeded)"},
		{"a look that came too soon is repeated", refuse(503, "RequestLimitExceeded", "Request limit exceeded."), list, cloud.RateLimited, 3, "ec2:DescribeVpcs: Request limit exceeded (RequestLimitExceeded)"},
		{"a change that broke is not", refuse(500, "InternalError", "An internal error has occurred"), create, cloud.Ambiguous, 1, "ec2:CreateVpc: An internal error has occurred (InternalError)"},
		{"a look that broke is", refuse(500, "InternalError", "An internal error has occurred"), list, cloud.Unavailable, 3, ""},
		{"no capacity is an answer, though its status is 500", refuse(500, "InsufficientInstanceCapacity", "none left"), create, cloud.NoCapacity, 1, ""},
		{"a page instead of an answer, to a change", page(500), create, cloud.Ambiguous, 1, "ec2:CreateVpc: HTTP status 500 Internal Server Error with a response that is not from the API"},
		{"a page instead of an answer, to a look", page(500), list, cloud.Unavailable, 3, "ec2:DescribeVpcs: HTTP status 500 Internal Server Error with a response that is not from the API"},
		{"an unknown code", refuse(400, "Strange", "who knows"), create, cloud.Invalid, 1, ""},
		{"hung up on a change", hangUp, create, cloud.Ambiguous, 1, ""},
		{"hung up on a look", hangUp, list, cloud.Unavailable, 3, ""},
		{"the blob that only Amazon can read is left out", refuse(403, "UnauthorizedOperation", "You are not authorized to perform this operation. Encoded authorization failure message: 4f5e"), create, cloud.Denied, 1, "ec2:CreateVpc: You are not authorized to perform this operation (UnauthorizedOperation)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg, requests := server(t, tc.answer)
			err := tc.call(t.Context(), api.New(cfg, api.Options{}))
			if got := cloud.KindOf(err); got != tc.kind {
				t.Errorf("got kind %q of %v, want %q", got, err, tc.kind)
			}
			if got := requests.Load(); got != tc.requests {
				t.Errorf("got %d requests, want %d", got, tc.requests)
			}
			if tc.text != "" && err.Error() != tc.text {
				t.Errorf("got  %q\nwant %q", err, tc.text)
			}
		})
	}
}

func TestDeniedErrorNamesMissingActions(t *testing.T) {
	t.Parallel()
	cfg, _ := server(t, refuse(403, "UnauthorizedOperation", "no"))
	_, err := api.New(cfg, api.Options{}).EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	e, ok := errors.AsType[*cloud.Error](err)
	want := "allow ec2:CreateVpc, ec2:CreateTags; `det-deploy aws policy` prints the required policies"
	if !ok || e.Hint() != want {
		t.Errorf("got %v, want the hint %q", err, want)
	}
}

func TestHeadErrorsHaveNoBody(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]cloud.Kind{404: cloud.NotFound, 403: cloud.Denied, 301: cloud.Invalid} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			cfg, _ := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			_, err := api.New(cfg, api.Options{}).S3.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: aws.String("b")})
			if got := cloud.KindOf(err); got != want {
				t.Errorf("got %q of %v, want %q", got, err, want)
			}
		})
	}
}

func TestUnsentCallIsNotAmbiguous(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = api.New(config(url), api.Options{}).EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{})
	if got := cloud.KindOf(err); got != cloud.Unavailable {
		t.Errorf("no listener: got %q of %v, want %q", got, err, cloud.Unavailable)
	}
	broke := config(url)
	broke.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("the session has ended")
	})
	_, err = api.New(broke, api.Options{}).EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{})
	if got, want := fmt.Sprint(cloud.KindOf(err), " ", err), "denied ec2:CreateVpc: no credentials: the session has ended"; got != want {
		t.Errorf("no credentials: got %q, want %q", got, want)
	}
	broke.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		denied := &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusForbidden}}}
		return aws.Credentials{}, fmt.Errorf("no EC2 IMDS role found, %w", &smithy.OperationError{ServiceID: "ec2imds", OperationName: "GetMetadata", Err: denied})
	})
	_, err = api.New(broke, api.Options{}).EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{})
	want := "denied ec2:CreateVpc: no credentials: none found in the environment, the AWS configuration files or the instance metadata"
	if got := fmt.Sprint(cloud.KindOf(err), " ", err); got != want {
		t.Errorf("no source has credentials: got %q, want %q", got, want)
	}
	_, err = api.New(config(url), api.Options{}).EC2.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{})
	if got := cloud.KindOf(err); got != cloud.Invalid {
		t.Errorf("a request without a required field: got %q of %v, want %q", got, err, cloud.Invalid)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = api.New(config(url), api.Options{}).EC2.CreateVpc(ctx, &ec2.CreateVpcInput{})
	if got := cloud.KindOf(err); got == cloud.Ambiguous || !errors.Is(err, context.Canceled) {
		t.Errorf("given up before: got %q of %v, want that it was cancelled", got, err)
	}
}

func TestCanceledDuringWait(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cfg, _ := server(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := api.New(cfg, api.Options{}).EC2.CreateVpc(ctx, &ec2.CreateVpcInput{})
	if got := cloud.KindOf(err); got != cloud.Ambiguous || !errors.Is(err, context.Canceled) {
		t.Errorf("got %q of %v, want ambiguous and cancelled", got, err)
	}
}

func TestTheGate(t *testing.T) {
	t.Parallel()
	cfg, requests := server(t, refuse(412, "DryRunOperation", "Request would have succeeded, but DryRun flag is set."))
	gate := new(resource.Gate)
	c := api.New(cfg, api.Options{Gate: gate}).EC2
	_, err := c.CreateVpc(t.Context(), &ec2.CreateVpcInput{})
	if !errors.Is(err, resource.ErrReadOnly) || requests.Load() != 0 {
		t.Errorf("shut: got %v and %d requests, want %v and none", err, requests.Load(), resource.ErrReadOnly)
	}
	if want := "ec2:CreateVpc: " + resource.ErrReadOnly.Error(); err.Error() != want {
		t.Errorf("shut: got %q, want %q", err, want)
	}
	_, err = c.CreateVpc(t.Context(), &ec2.CreateVpcInput{DryRun: aws.Bool(true)})
	if err == nil || api.Allowed(err) != nil {
		t.Errorf("a question passes a shut gate: got %v, want that it would have been allowed", err)
	}
	errLost := errors.New("lease lost")
	gate.Open(func(context.Context) error { return errLost })
	_, err = c.CreateVpc(t.Context(), &ec2.CreateVpcInput{})
	if !errors.Is(err, errLost) || requests.Load() != 1 {
		t.Errorf("lease lost: got %v and %d requests, want %v and 1", err, requests.Load(), errLost)
	}
}

func TestGateIsCheckedAtEachAttempt(t *testing.T) {
	t.Parallel()
	cfg, requests := server(t, refuse(503, "RequestLimitExceeded", "slow down"))
	gate := new(resource.Gate)
	errLost := errors.New("lease lost")
	asked := 0
	gate.Open(func(context.Context) error {
		if asked++; asked > 1 {
			return errLost
		}
		return nil
	})
	_, err := api.New(cfg, api.Options{Gate: gate}).EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{})
	if !errors.Is(err, errLost) || requests.Load() != 1 {
		t.Errorf("got %v after %d requests, want %v after 1", err, requests.Load(), errLost)
	}
}

func TestAllowedReturnsOtherErrors(t *testing.T) {
	t.Parallel()
	cfg, _ := server(t, refuse(403, "UnauthorizedOperation", "no"))
	_, err := api.New(cfg, api.Options{}).EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{DryRun: aws.Bool(true)})
	if got := cloud.KindOf(api.Allowed(err)); got != cloud.Denied {
		t.Errorf("got %q, want %q", got, cloud.Denied)
	}
}

func TestOneLogLinePerCall(t *testing.T) {
	t.Parallel()
	cfg, _ := server(t, refuse(503, "RequestLimitExceeded", "slow down"))
	var b bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	_, err := api.New(cfg, api.Options{Log: log}).EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{})
	if err == nil {
		t.Fatal("got no error, want an error")
	}
	var line struct {
		Call, Refusal string
		Attempts      int
		Took          *int64
	}
	if err := json.Unmarshal(b.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line.Call != "ec2:CreateVpc" || line.Refusal != "RequestLimitExceeded" || line.Attempts != 3 || line.Took == nil {
		t.Errorf("got %s, want one line with call, refusal, three attempts and how long it took", b.String())
	}
	if strings.Contains(b.String(), "SECRET") {
		t.Errorf("got a secret in the log: %s", b.String())
	}
}

// Not parallel, because it sets environment variables.
func TestOpen(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
	if _, err := api.Open(t.Context(), api.Options{}); cloud.KindOf(err) != cloud.Invalid {
		t.Errorf("without a region: got %v, want an error of the user's", err)
	}
	if _, err := api.Open(t.Context(), api.Options{Region: "us-west-2", Profile: "nobody"}); cloud.KindOf(err) != cloud.Invalid {
		t.Errorf("a profile that does not exist: got %v, want an error of the user's", err)
	}
	cfg, requests := server(t, refuse(400, "VpcLimitExceeded", "full"))
	t.Setenv("AWS_ENDPOINT_URL", *cfg.BaseEndpoint)
	c, err := api.Open(t.Context(), api.Options{Region: "eu-west-1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{})
	if c.Region != "eu-west-1" || requests.Load() != 1 || cloud.KindOf(err) != cloud.Quota {
		t.Errorf("got region %q, %d requests, %v; want the address of the environment to be asked", c.Region, requests.Load(), err)
	}
}

// After the user has interrupted a change, its current step is completed without any retry.
func TestNoRetriesAfterInterrupt(t *testing.T) {
	t.Parallel()
	cfg, requests := server(t, refuse(503, "RequestLimitExceeded", "Request limit exceeded."))
	c := api.New(cfg, api.Options{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	step := wait.Outlive(ctx)
	_, changed := c.EC2.CreateVpc(step, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	_, looked := c.EC2.DescribeVpcs(step, &ec2.DescribeVpcsInput{})
	for _, err := range []error{changed, looked} {
		if cloud.KindOf(err) != cloud.RateLimited || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v (%s), want the refusal, and that it was stopped", err, cloud.KindOf(err))
		}
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("got %d requests, want one a call", n)
	}
}

// A write that may be repeated is, unless it has a condition that fails after the first.
func TestIdempotentWritesAreRepeated(t *testing.T) {
	t.Parallel()
	put := s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k")}
	once := put
	once.IfMatch = aws.String("\"v\"")
	for _, tc := range []struct {
		name     string
		in       s3.PutObjectInput
		requests int32
		kind     cloud.Kind
	}{
		{"unconditional", put, 3, ""},
		{"conditional", once, 1, cloud.Ambiguous},
	} {
		var requests atomic.Int32
		cfg, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) < 3 {
				hangUp(w, r)
			}
		})
		_, err := api.New(cfg, api.Options{}).S3.PutObject(t.Context(), &tc.in)
		if got := cloud.KindOf(err); got != tc.kind || requests.Load() != tc.requests {
			t.Errorf("%s: got %d requests and %v, want %d and %q", tc.name, requests.Load(), err, tc.requests, tc.kind)
		}
	}
}

// Not parallel, because it sets environment variables.
func TestThrottledCallsAreRepeatedLonger(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
	t.Setenv("AWS_MAX_ATTEMPTS", "")
	var requests atomic.Int32
	cfg, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) <= 3 {
			refuse(503, "RequestLimitExceeded", "Request limit exceeded.")(w, r)
			return
		}
		fmt.Fprint(w, "<CreateVpcResponse/>")
	})
	c, err := api.Open(t.Context(), api.Options{Region: "us-west-2", Endpoint: *cfg.BaseEndpoint})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{}); err != nil {
		t.Errorf("got %v after %d requests, want that the fourth succeeds", err, requests.Load())
	}
}
