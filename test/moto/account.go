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

// Region is where tests work unless they say otherwise.
const Region = "us-west-2"

// Images that every account and region has.
const (
	ImageAMD64 = "ami-0000000000000a001"
	ImageARM64 = "ami-0000000000000a002"
)

// Account is one account of the emulated cloud. Nothing of another account is
// seen in it, so that it begins empty but for the default network.
type Account struct {
	// ID is its twelve digits.
	ID string
	// Endpoint is where all services answer.
	Endpoint string
	// AccessKey and SecretKey are its root's, allowed everything.
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

// Env is what a program needs in its environment to work in the account as its
// root, and to find nothing of the user's own.
func (a *Account) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + a.Endpoint, "AWS_REGION=" + Region,
		"AWS_ACCESS_KEY_ID=" + a.AccessKey, "AWS_SECRET_ACCESS_KEY=" + a.SecretKey,
		"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_EC2_METADATA_DISABLED=true",
	}
}

// Config is the same for the SDK's clients.
func (a *Account) Config() aws.Config {
	return a.As(aws.Credentials{AccessKeyID: a.AccessKey, SecretAccessKey: a.SecretKey})
}

// As is the configuration of another caller.
func (a *Account) As(c aws.Credentials) aws.Config {
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(a.Endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken),
		HTTPClient:   a.client,
	}
}

// Settings is how the account's EC2 behaves. A nil field stays as it is; all
// begin at zero, but Forget at an hour and Page at 1,000.
type Settings struct {
	// Pending, Shutdown and Stopping are how long the states of transition last.
	// Interfaces hold their groups and subnets until a machine is terminated.
	Pending, Shutdown, Stopping *time.Duration
	// Forget is how long a terminated machine is described.
	Forget *time.Duration
	// Visible is how long a new machine is not described yet.
	Visible *time.Duration
	// ProfileLag is how long a new instance profile cannot be used yet.
	ProfileLag *time.Duration
	// Page is the most reservations in one answer.
	Page *int
}

// Configure changes how the account behaves from now on.
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

// Capacity limits what RunInstances grants. An empty field stands for any.
type Capacity struct {
	Type string `json:"type"`
	// Market is "spot" or "on-demand".
	Market string `json:"market"`
	Subnet string `json:"subnet"`
	// Left is how many machines there are; below zero lifts the limit.
	Left int `json:"left"`
	// Code and Message are the refusal when nothing is left; without them it is
	// InsufficientInstanceCapacity.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Limit sets or lifts a limit.
func (a *Account) Limit(t testing.TB, c Capacity) {
	t.Helper()
	a.act(t, "capacity", map[string]any{"capacity": c})
}

// Enforce switches access control on or off. While it is on, every caller but
// the root needs keys that this server made, a right signature, and policies
// that allow the action; passing a role needs iam:PassRole. Conditions are not
// evaluated, and resources only where moto knows which one is meant.
func (a *Account) Enforce(t testing.TB, on bool) {
	t.Helper()
	a.act(t, "enforce", map[string]any{"on": on})
}

// Advance moves the account's clock, instead of waiting.
func (a *Account) Advance(t testing.TB, d time.Duration) {
	t.Helper()
	a.act(t, "advance", map[string]any{"seconds": d.Seconds()})
}

// Interrupt gives a spot machine its notice and takes it back after a time.
func (a *Account) Interrupt(t testing.TB, instance string, after time.Duration) {
	t.Helper()
	a.act(t, "interrupt", map[string]any{"instance": instance, "after": after.Seconds()})
}

// Rebalance gives a spot machine a rebalance recommendation.
func (a *Account) Rebalance(t testing.TB, instance string) {
	t.Helper()
	a.act(t, "rebalance", map[string]any{"instance": instance})
}

// End lets EC2 itself end a machine that it has granted, for one of its reasons.
func (a *Account) End(t testing.TB, instance, code, message string) {
	t.Helper()
	a.act(t, "fail", map[string]any{"instance": instance, "code": code, "message": message})
}

// Console sets what a machine wrote while it booted.
func (a *Account) Console(t testing.TB, instance, text string) {
	t.Helper()
	a.act(t, "console", map[string]any{"instance": instance, "text": text})
}

// Machine is what the cloud knows of a machine and its own metadata service has
// to tell it.
type Machine struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	Type      string `json:"type"`
	Lifecycle string `json:"lifecycle"`
	// Notice is the spot interruption notice, Rebalance the recommendation, as
	// the metadata service shows them.
	Notice    json.RawMessage `json:"notice"`
	Rebalance json.RawMessage `json:"rebalance"`
}

// Machines returns every machine that is not yet forgotten.
func (a *Account) Machines(t testing.TB) []Machine {
	t.Helper()
	all, err := a.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Look is Machines for who has no test at hand.
func (a *Account) Look(ctx context.Context) ([]Machine, error) {
	var all []Machine
	err := a.ask(ctx, "state", map[string]any{}, &all)
	return all, err
}

// act asks the server for something that no client of Amazon's can.
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
