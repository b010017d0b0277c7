package motest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Region is the default region of tests.
const Region = "us-west-2"

// The images of every account and region.
const (
	ImageAMD64 = "ami-0000000000000a001"
	ImageARM64 = "ami-0000000000000a002"
)

// Account is an account of the emulated cloud. It is isolated from other accounts and initially
// empty except for the default VPC.
type Account struct {
	// ID is the account ID, twelve digits.
	ID string
	// Endpoint is the endpoint URL of all services.
	Endpoint string
	// AccessKey and SecretKey belong to the root user, who has all permissions.
	AccessKey, SecretKey string

	client *http.Client
}

// Account returns a new account.
func (s *Server) Account(t testing.TB) *Account {
	t.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(900_000_000_000))
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprint(100_000_000_000 + n.Int64())
	return &Account{ID: id, Endpoint: s.URL, AccessKey: "AKIAMOTO" + id, SecretKey: "not-a-secret", client: s.client}
}

// Env returns the environment variables with which a program uses the account as its root user, and
// ignores the user's own AWS configuration.
func (a *Account) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + a.Endpoint, "AWS_REGION=" + Region,
		"AWS_ACCESS_KEY_ID=" + a.AccessKey, "AWS_SECRET_ACCESS_KEY=" + a.SecretKey,
		"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_EC2_METADATA_DISABLED=true",
	}
}

// Config returns the same configuration for the SDK.
func (a *Account) Config() aws.Config {
	return a.As(aws.Credentials{AccessKeyID: a.AccessKey, SecretAccessKey: a.SecretKey})
}

// As returns the configuration of another caller.
func (a *Account) As(c aws.Credentials) aws.Config {
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(a.Endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken),
		HTTPClient:   a.client,
	}
}

// Settings configures the account's EC2. A nil field keeps its value. All are initially zero,
// except Forget, an hour, and Page, 1,000.
type Settings struct {
	// Pending, Shutdown and Stopping are the durations of transitional states. Interfaces use their
	// groups and subnets until an instance is terminated.
	Pending, Shutdown, Stopping *time.Duration
	// Forget is the time for which a terminated instance remains described.
	Forget *time.Duration
	// Visible is the delay until a new instance is described.
	Visible *time.Duration
	// ProfileLag is the delay until a new instance profile can be used.
	ProfileLag *time.Duration
	// Page is the maximum number of reservations per page.
	Page *int
}

// Configure changes the settings of the account.
func (a *Account) Configure(t testing.TB, s Settings) {
	t.Helper()
	values := map[string]float64{}
	for name, d := range map[string]*time.Duration{
		"pending": s.Pending, "shutdown": s.Shutdown, "stopping": s.Stopping,
		"forget": s.Forget, "visible": s.Visible, "profile_lag": s.ProfileLag,
	} {
		if d != nil {
			values[name] = d.Seconds()
		}
	}
	if s.Page != nil {
		values["page"] = float64(*s.Page)
	}
	a.act(t, "configure", map[string]any{"settings": values})
}

// Capacity limits the capacity for RunInstances. Empty fields match anything.
type Capacity struct {
	Type string `json:"type"`
	// Market is "spot" or "on-demand".
	Market string `json:"market"`
	Subnet string `json:"subnet"`
	// Left is the number of available instances. A negative value removes the limit.
	Left int `json:"left"`
	// Code and Message are the error if there is no capacity. The default is
	// InsufficientInstanceCapacity.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Limit sets or removes a limit.
func (a *Account) Limit(t testing.TB, c Capacity) {
	t.Helper()
	a.act(t, "capacity", map[string]any{"capacity": c})
}

// Enforce enables or disables access control. If it is enabled, every caller but the root user
// needs access keys created by this server, a valid signature, and policies that allow the action;
// passing a role requires iam:PassRole. Conditions are not evaluated, and resources only as far as
// moto supports them.
func (a *Account) Enforce(t testing.TB, on bool) {
	t.Helper()
	a.act(t, "enforce", map[string]any{"on": on})
}

// Advance moves the account's clock.
func (a *Account) Advance(t testing.TB, d time.Duration) {
	t.Helper()
	a.act(t, "advance", map[string]any{"seconds": d.Seconds()})
}

// Interrupt sends a spot instance its interruption notice and terminates it after a time.
func (a *Account) Interrupt(t testing.TB, instance string, after time.Duration) {
	t.Helper()
	a.act(t, "interrupt", map[string]any{"instance": instance, "after": after.Seconds()})
}

// Rebalance sends a spot instance a rebalance recommendation.
func (a *Account) Rebalance(t testing.TB, instance string) {
	t.Helper()
	a.act(t, "rebalance", map[string]any{"instance": instance})
}

// End terminates a launched instance as EC2, with a state reason.
func (a *Account) End(t testing.TB, instance, code, message string) {
	t.Helper()
	a.act(t, "fail", map[string]any{"instance": instance, "code": code, "message": message})
}

// Console sets the console output of an instance.
func (a *Account) Console(t testing.TB, instance, text string) {
	t.Helper()
	a.act(t, "console", map[string]any{"instance": instance, "text": text})
}

// Machine is an instance with the notices for its metadata service.
type Machine struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	Type      string `json:"type"`
	Lifecycle string `json:"lifecycle"`
	// Notice is the spot interruption notice, Rebalance the rebalance recommendation, in the form
	// of the metadata service.
	Notice    json.RawMessage `json:"notice"`
	Rebalance json.RawMessage `json:"rebalance"`
}

// Machines returns all instances that EC2 still lists.
func (a *Account) Machines(t testing.TB) []Machine {
	t.Helper()
	all, err := a.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Look is like Machines for callers without a test.
func (a *Account) Look(ctx context.Context) ([]Machine, error) {
	var all []Machine
	err := a.ask(ctx, "state", map[string]any{}, &all)
	return all, err
}

// act sends a command to the server that is not part of the AWS API.
func (a *Account) act(t testing.TB, what string, body map[string]any) {
	t.Helper()
	if err := a.ask(t.Context(), what, body, nil); err != nil {
		t.Fatal(err)
	}
}

func (a *Account) ask(ctx context.Context, what string, body map[string]any, out any) error {
	body["account"] = a.ID
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Endpoint+"/world/"+what, bytes.NewReader(data))
	if err != nil {
		return err
	}
	answer, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("ask moto to %s: %w", what, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("ask moto to %s: %s %s", what, answer.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}
